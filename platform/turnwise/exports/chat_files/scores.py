"""Scores of conversations and responses: raters' answers to each question, joined to one value."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection

from evaluation.questions import Answer, Kind
from turnwise.judging.queries import counts_in_primary_analysis
from turnwise.questions.question_sets import question_set
from turnwise.studies.models import Study

# Labels `l` that count: of the primary analysis, and no gold items or anchors.
COUNTS = f"""
 l.study_id = %(study)s AND {counts_in_primary_analysis("%(study)s")}
   AND NOT EXISTS (SELECT FROM judging_slot AS slot JOIN judging_item AS item ON item.id = slot.item_id
                    WHERE slot.label_id = l.id
                      AND (item.right_answers IS NOT NULL OR item.anchor_id IS NOT NULL))
"""
RATED = "l.question_set, l.answers::text, crowd_pseudonym(l.rater_id, l.study_id)"
"""Columns of a label `l` from which a `Rating` is made, after the position of its turn."""

_OF_DIALOGUES = f"""
SELECT l.dialogue, l.position, {RATED}
  FROM (SELECT given.*, t.dialogue_id AS dialogue, t.position
          FROM dialogues_turn AS t JOIN labels_label AS given ON given.turn_id = t.id
         WHERE t.dialogue_id = ANY (%(dialogues)s)
         UNION ALL
        SELECT whole.*, whole.dialogue_id, NULL
          FROM labels_label AS whole WHERE whole.dialogue_id = ANY (%(dialogues)s)) AS l
 WHERE {COUNTS}
 ORDER BY l.dialogue, l.position, l.id
"""


@dataclass(frozen=True, slots=True)
class Rating:
    """A rater's answers.

    Attributes:
        turn: position of the turn that they are about; None for the whole.
        question_set: key of the questions.
        answers: by key of the question.
        rater: pseudonym in the study.
    """

    turn: int | None
    question_set: str
    answers: Mapping[str, Answer]
    rater: str


def rating(turn: int | None, key: str, answers: str, rater: str) -> Rating:
    """Build a rating from a row with the columns of `RATED`."""
    return Rating(turn, key, json.loads(answers), rater)


def of_dialogues(study: Study, dialogues: Sequence[int]) -> dict[int, list[Rating]]:
    """Ratings of conversations and their turns in a study, by the conversation's primary key."""
    with connection.cursor() as cursor:
        cursor.execute(_OF_DIALOGUES, {"study": study.pk, "dialogues": list(dialogues)})
        found = dict[int, list[Rating]]()
        for dialogue, *row in cursor:
            found.setdefault(dialogue, []).append(rating(*row))
    return found


def scores(ratings: Iterable[Rating]) -> dict[str, dict[str, Any]]:
    """Score of each question by “SET.QUESTION”, in the form of inspect_ai's Score.

    The value is the mean of numbers and of yes and no (1 and 0), else the most frequent choice; of several
    choices the share of answers with each. Free texts have no score.
    """
    given = dict[str, list[tuple[Rating, Answer]]]()
    for each in ratings:
        for question in question_set(each.question_set).questions:
            answer = each.answers.get(question.key)
            if answer is not None and question.kind is not Kind.TEXT:
                given.setdefault(f"{each.question_set}.{question.key}", []).append((each, answer))
    return {name: _score(answers) for name, answers in given.items()}


def _score(answers: Sequence[tuple[Rating, Answer]]) -> dict[str, Any]:
    value, how = _joined([answer for _, answer in answers])
    raters = len({each.rater for each, _ in answers})
    return {
        "value": value,
        "explanation": f"{how}. Answers: {len(answers)}, raters: {raters}.",
        "metadata": {"answers": list(_each(answers))},
    }


def _each(answers: Sequence[tuple[Rating, Answer]]) -> Iterator[dict[str, Any]]:
    for each, answer in answers:
        yield {"rater": each.rater, "answer": answer} | ({} if each.turn is None else {"turn": each.turn})


def _joined(answers: Sequence[Answer]) -> tuple[float | str | dict[str, float], str]:
    """Value of all answers, and how it was made."""
    if isinstance(answers[0], list):
        chosen = Counter(str(choice) for answer in answers if isinstance(answer, list) for choice in answer)
        return {choice: n / len(answers) for choice, n in chosen.items()}, "Shares"
    numbers = [float(answer) for answer in answers if isinstance(answer, bool | int | float)]
    if len(numbers) == len(answers):
        return sum(numbers) / len(numbers), "Mean"
    return Counter(map(str, answers)).most_common(1)[0][0], "Most frequent"
