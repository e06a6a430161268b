"""First-party labels (of who chatted) beside third-party labels (of readers) of the same turns."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection

from evaluation.questions import Question, QuestionSet
from evaluation.report.parties import Both, compared_parties
from labels.votes import votes_on
from questions.resolving import question_set
from studies.models import Study

# Bounds what a comparison may cost; a study of the paper's size has some 8,000 such labels of a bot.
MOST_LABELS = 100_000
RESAMPLES = 2_000
SEED = 20_010_997

# What readers judged comes first, from its own index: it is little beside what those who talked did. Each
# turn of both parties is looked up once, not for each of its labels.
_TURNS = """
WITH both_judged AS MATERIALIZED (
    SELECT t.id, t.position, t.text, t.dialogue_id, d.public_id
      FROM (SELECT DISTINCT turn_id FROM labels_label
             WHERE party = 'reader' AND turn_id IS NOT NULL AND question_set = %(questions)s
               AND study_id NOT IN (SELECT id FROM studies_study WHERE rehearsal_of_id IS NOT NULL)
               AND id NOT IN (SELECT label_id FROM judging_slot WHERE is_gold AND label_id IS NOT NULL)
           ) AS judged
      JOIN dialogues_turn AS t ON t.id = judged.turn_id
      JOIN dialogues_dialogue AS d ON d.id = t.dialogue_id AND d.study_id = %(study)s
     WHERE EXISTS (SELECT FROM labels_label AS o
                    WHERE o.turn_id = t.id AND o.question_set = %(questions)s AND o.party <> 'reader')
)
"""
_OF_BOTH = """
  FROM both_judged AS t
  JOIN labels_label AS l ON l.turn_id = t.id AND l.question_set = %(questions)s
 WHERE l.id NOT IN (SELECT label_id FROM judging_slot WHERE is_gold AND label_id IS NOT NULL)
   AND (l.study_id = %(study)s
        OR l.study_id NOT IN (SELECT id FROM studies_study WHERE rehearsal_of_id IS NOT NULL))
"""
# Whatever is added, changed or taken away changes one of these.
_COVERED = _TURNS + "SELECT count(*), coalesce(extract(epoch FROM max(l.changed_at)), 0)::text" + _OF_BOTH
_LABELS = (
    _TURNS
    + """
SELECT coalesce((SELECT b.title FROM dialogues_seat AS p JOIN bots_bot AS b ON b.id = p.bot_id
                  WHERE p.dialogue_id = t.dialogue_id AND p.number = t.position %% 2), 'unknown'),
       t.dialogue_id, t.public_id, t.id, t.position, t.text,
       coalesce((SELECT p.text FROM dialogues_turn AS p
                  WHERE p.dialogue_id = t.dialogue_id AND p.position = t.position - 1), ''),
       l.party <> 'reader', l.answers
"""
    + _OF_BOTH
    + """
   AND (%(only)s::bigint[] IS NULL OR t.id = ANY(%(only)s))
 ORDER BY t.dialogue_id, t.position, l.id
 LIMIT %(most)s
"""
)


@dataclass(slots=True)
class TurnOfBoth:
    """A turn with the answers of both parties.

    Attributes:
        pk: of the turn.
        bot: who said it.
        dialogue_id: of the conversation.
        dialogue: its public name.
        position: of the turn.
        text: of the turn.
        before: what was said before it.
        chatter: the answers of who chatted.
        readers: the answers of each reader.
    """

    pk: int
    bot: str
    dialogue_id: int
    dialogue: UUID
    position: int
    text: str
    before: str
    chatter: dict[str, Any] = field(default_factory=dict)
    readers: list[dict[str, Any]] = field(default_factory=list)

    def against(self, key: str) -> float:
        """Share of the readers whose answer to the question is not the chatter's."""
        answers = [answer[key] for answer in self.readers if key in answer]
        against = sum(1 for answer in answers if answer != self.chatter.get(key))
        return against / max(len(answers), 1)

    def verdicts(self, questions: Sequence[Question]) -> list[dict[str, Any]]:
        """For each question the chatter's answer and the readers' votes, in words."""
        return [
            {
                "chatter": q.caption_of(self.chatter[q.key]) if q.key in self.chatter else "not asked",
                "readers": votes_on(q, self.readers),
            }
            for q in questions
        ]


def labels_of_both(study: Study) -> str:
    """A word for the labels that a comparison would read now; empty if there are none of both parties."""
    with connection.cursor() as cursor:
        cursor.execute(_COVERED, {"study": study.pk, "questions": study.question_set})
        count, newest = cursor.fetchone()
    return f"{count} {newest}" if count else ""


def turns_of_both(study: Study, only: list[int] | None = None) -> list[TurnOfBoth]:
    """The turns, or only these, that their chatter and at least one reader judged.

    Those that they see most differently come first.
    """
    values: dict[str, Any] = {
        "study": study.pk,
        "questions": study.question_set,
        "only": only,
        "most": MOST_LABELS,
    }
    with connection.cursor() as cursor:
        cursor.execute(_LABELS, values)
        rows = cursor.fetchall()
    turns: dict[int, TurnOfBoth] = {}
    for bot, dialogue_id, dialogue, pk, position, text, before, is_first, answers in rows:
        turn = turns.setdefault(pk, TurnOfBoth(pk, bot, dialogue_id, dialogue, position, text, before))
        given = json.loads(answers)
        if is_first:
            turn.chatter = given
        else:
            turn.readers.append(given)
    first = question_set(study.question_set).questions[0].key
    whole = [turn for turn in turns.values() if turn.chatter and turn.readers]  # the bound may cut the last
    return sorted(whole, key=lambda turn: -turn.against(first))


def parties(questions: QuestionSet, turns: Sequence[TurnOfBoth]) -> Iterator[dict[str, Any]]:
    """By bot, each score of both parties, their difference, and how far they agree."""
    rng = np.random.default_rng(SEED)
    of_bots: dict[str, list[Both]] = {}
    for turn in turns:
        of_bots.setdefault(turn.bot, []).append(Both(turn.dialogue_id, turn.chatter, turn.readers))
    for bot in sorted(of_bots):
        yield {
            "bot": bot,
            "turns": len(of_bots[bot]),
            "scores": compared_parties(questions, of_bots[bot], rng, resamples=RESAMPLES),
        }
