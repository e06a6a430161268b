"""Preferences between responses in the conversational form of DPO training: prompt, chosen, rejected."""

import json
from collections import Counter
from collections.abc import Generator, Iterator, Sequence
from typing import Any

from evaluation.questions.parts import BOTH_BAD, FIRST, SECOND, TIED
from evaluation.texts.personal_data import Redactor
from turnwise.exports.rows import grouped_rows
from turnwise.exports.turn_files import JUDGED
from turnwise.privacy.personal_data import redactor_for
from turnwise.studies.models import Study

# One row for each judgment, the sides as the pair has them, whatever their order was for the rater.
_JUDGMENTS = f"""
SELECT pair.id, c.key, c.turns, r1.text, r2.text, i.first_system, i.second_system,
       slot.is_swapped, l.answers::text
  FROM {JUDGED}
  JOIN labels_label AS l ON l.id = slot.label_id
  JOIN labels_pair AS pair ON pair.id = l.pair_id
  JOIN studies_study AS s ON s.id = slot.study_id
  JOIN responses_response AS r1 ON r1.id = pair.first_response_id
  JOIN responses_response AS r2 ON r2.id = pair.second_response_id
  JOIN contexts_context AS c ON c.id = r1.context_id
  LEFT JOIN crowd_participation AS p
    ON p.worker_id = l.rater_id AND p.study_id = slot.study_id AND p.number = 1
 WHERE s.primary_analysis = 'all' OR p.excluded_at IS NULL
 ORDER BY pair.id, l.id
"""


def lines(study: Study) -> Generator[str]:
    """Yield a JSON object for each pair of responses that most raters decided in one way.

    Ties and “both are bad” do not count as votes; a pair with as many votes for either side is left out. The
    first question of a set decides, “better” or “quality”. Judgments outside the primary analysis and gold
    items do not count.
    """
    redactor = redactor_for(study)
    for rows in grouped_rows("preferences", _JUDGMENTS, {"study": study.pk}):
        yield from _pair(rows, redactor)


def _pair(rows: Sequence[tuple[Any, ...]], redactor: Redactor) -> Iterator[str]:
    _, key, turns, first, second, first_system, second_system, *_ = rows[0]
    votes = Counter(_choice(json.loads(answers), is_swapped=swapped) for *_, swapped, answers in rows)
    if votes[FIRST] == votes[SECOND]:
        return
    sides = [(first, first_system, votes[FIRST]), (second, second_system, votes[SECOND])]
    chosen, rejected = sorted(sides, key=lambda side: -side[2])
    value = {
        "context": key,
        "prompt": _messages([redactor(turn) for turn in turns]),
        "chosen": [{"role": "assistant", "content": redactor(chosen[0])}],
        "rejected": [{"role": "assistant", "content": redactor(rejected[0])}],
        "chosen_model": chosen[1],
        "rejected_model": rejected[1],
        "votes": {"chosen": chosen[2], "rejected": rejected[2], "tied": votes[TIED]}
        | ({"both_bad": votes[BOTH_BAD]} if votes[BOTH_BAD] else {}),
    }
    yield json.dumps(value, ensure_ascii=False) + "\n"


def _messages(turns: Sequence[str]) -> list[dict[str, str]]:
    """Turns of a context as messages; the last one is the user's."""
    return [
        {"role": "user" if (len(turns) - number) % 2 else "assistant", "content": text}
        for number, text in enumerate(turns)
    ]


def _choice(answers: dict[str, Any], *, is_swapped: bool) -> str:
    """The side of the pair that a rater chose, in the pair's own order."""
    choice = str(answers.get("better", answers.get("quality", "")))
    return {FIRST: SECOND, SECOND: FIRST}.get(choice, choice) if is_swapped else choice
