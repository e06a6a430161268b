"""First-party labels (of who chatted) beside third-party labels (of readers) of the same turns."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection

from evaluation.interval import Interval, Undefined
from evaluation.kappa import Kappa
from evaluation.labels import Labels
from evaluation.questions import Question, question_set
from evaluation.raters import Parties, compare_parties
from labels.item_queries import Vote
from studies.models import Study

# Bounds what a page may cost; a study of the paper's size has some 8,000 such labels of a bot.
MOST_LABELS = 100_000
RESAMPLES = 2_000
SEED = 20_010_997

_LABELS = """
SELECT coalesce(b.title, 'unknown'), d.id, d.public_id, t.id, t.position, t.text,
       coalesce((SELECT p.text FROM dialogues_turn AS p
                  WHERE p.dialogue_id = d.id AND p.position = t.position - 1), ''),
       l.rater_id, s.id IS NULL, l.answers
  FROM dialogues_dialogue AS d
  JOIN dialogues_turn AS t ON t.dialogue_id = d.id
  JOIN labels_label AS l ON l.turn_id = t.id AND l.question_set = d.question_set
  LEFT JOIN labels_slot AS s ON s.label_id = l.id
  LEFT JOIN studies_study AS judging ON judging.id = s.study_id
  LEFT JOIN dialogues_participant AS p ON p.dialogue_id = d.id AND p.seat = t.position %% 2
  LEFT JOIN bots_bot AS b ON b.id = p.bot_id
 WHERE d.study_id = %s AND judging.rehearsal_of_id IS NULL
   AND EXISTS (SELECT FROM labels_slot AS i
                 JOIN labels_label AS o ON o.id = i.label_id
                 JOIN studies_study AS q ON q.id = i.study_id AND q.rehearsal_of_id IS NULL
                WHERE o.turn_id = t.id AND o.question_set = d.question_set)
   AND EXISTS (SELECT FROM labels_label AS o
                WHERE o.turn_id = t.id AND o.question_set = d.question_set
                  AND NOT EXISTS (SELECT FROM labels_slot AS i WHERE i.label_id = o.id))
 ORDER BY d.id, t.position, l.id
 LIMIT %s
"""


@dataclass(slots=True)
class TurnOfBoth:
    """A turn with the answers of both parties.

    Attributes:
        bot: who said it.
        dialogue_id: of the conversation.
        dialogue: its public name.
        position: of the turn.
        text: of the turn.
        before: what was said before it.
        chatter: the answers of who chatted.
        readers: the answers of each reader.
        raters: keys of all who answered, the chatter first.
    """

    bot: str
    dialogue_id: int
    dialogue: UUID
    position: int
    text: str
    before: str
    chatter: dict[str, Any] = field(default_factory=dict)
    readers: list[dict[str, Any]] = field(default_factory=list)
    raters: list[int] = field(default_factory=list)

    def against(self, key: str) -> float:
        """Share of the readers whose answer to the question is not the chatter's."""
        answers = [answer[key] for answer in self.readers if key in answer]
        against = sum(1 for answer in answers if answer != self.chatter.get(key))
        return against / max(len(answers), 1)

    def verdicts(self, questions: Sequence[Question]) -> list[dict[str, Any]]:
        """For each question the chatter's answer and the readers' votes, in words."""
        return [
            {
                "chatter": q.label_of(self.chatter[q.key]) if q.key in self.chatter else "not asked",
                "readers": votes_on(q, self.readers),
            }
            for q in questions
        ]


def votes_on(question: Question, answers: Sequence[Mapping[str, Any]]) -> list[Vote]:
    """How many of these raters gave which answer, the most frequent first; who was not asked is left out."""
    given = Counter(question.label_of(each[question.key]) for each in answers if question.key in each)
    return sorted(
        (Vote(answer, raters) for answer, raters in given.items()), key=lambda v: (-v.raters, v.answer)
    )


def turns_of_both(study: Study) -> list[TurnOfBoth]:
    """The turns that their chatter and at least one reader judged, those they see most differently first."""
    with connection.cursor() as cursor:
        cursor.execute(_LABELS, [study.pk, MOST_LABELS])
        rows = cursor.fetchall()
    turns: dict[int, TurnOfBoth] = {}
    for bot, dialogue_id, dialogue, turn_id, position, text, before, rater, is_first, answers in rows:
        turn = turns.setdefault(turn_id, TurnOfBoth(bot, dialogue_id, dialogue, position, text, before))
        given = json.loads(answers)
        if is_first:
            turn.chatter = given
            turn.raters.insert(0, rater)
        else:
            turn.readers.append(given)
            turn.raters.append(rater)
    first = question_set(study.question_set).questions[0].key
    whole = [turn for turn in turns.values() if turn.chatter and turn.readers]  # the bound may cut the last
    return sorted(whole, key=lambda turn: -turn.against(first))


def parties(turns: Sequence[TurnOfBoth]) -> list[dict[str, Any]]:
    """By bot, the SSA of both parties, their difference, and how far they agree."""
    rows = [
        (turn.bot, turn.dialogue_id, turn.position, rater, answers["sensible"], answers["specific"])
        for turn in turns
        for rater, answers in zip(turn.raters, [turn.chatter, *turn.readers], strict=True)
    ]
    if not rows:
        return []
    is_first = np.array([n == 0 for turn in turns for n in range(len(turn.raters))])
    found = compare_parties(
        Labels.from_rows(rows), is_first, np.random.default_rng(SEED), resamples=RESAMPLES
    )
    return [_shown(str(bot), both) for bot, both in found.items() if not isinstance(both, Undefined)]


def _shown(bot: str, both: Parties) -> dict[str, Any]:
    difference = replace(both.difference, first="First-party SSA", second="third-party SSA")
    return {
        "bot": bot,
        "turns": both.turns,
        "first": [100 * value for value in both.first_party],
        "third": [100 * value for value in both.third_party],
        "words": difference.in_words(),
        "kappas": [
            _kappa(both.kappa_sensible, both.kappa_intervals[0]),
            _kappa(both.kappa_specific, both.kappa_intervals[1]),
        ],
    }


def _kappa(found: Kappa | Undefined, interval: Interval | Undefined) -> dict[str, Any]:
    if isinstance(found, Undefined):
        return {"undefined": found.reason}
    ends = {} if isinstance(interval, Undefined) else {"low": interval.low, "high": interval.high}
    return {"value": found.value, "agree": 100 * found.observed} | ends


def tally(questions: str, answers: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[Vote]]]:
    """For each question of a set, how many readers gave which answer."""
    return [(each.wording, votes_on(each, answers)) for each in question_set(questions).questions]
