"""Scores of bot versions over any studies, from the labels of their conversations or contexts.

Scores and intervals are those of a report over the same labels, by the same functions; in each study those
labels count that its primary analysis counts. The labels of a conversation come as one row; a statement that
takes too long is given up with a word on what to do. What other systems said, such as people, a file or a bot
with another N and T than its own, is scored by their name. Pairs have no score of one bot.
"""

import json
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any, TypeAlias

import numpy as np
from django.db import OperationalError, connection, transaction

from evaluation.questions import Combine, Kind, Question, QuestionSet, Score, Term
from evaluation.report import intervals as report
from evaluation.report.intervals import Terms
from evaluation.report.studies.judging import NOUNS as JUDGED
from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.inference import NOUNS, samples
from turnwise.judging.queries import counted_in, items_of, judgments_given
from turnwise.studies.models import Study

Cell: TypeAlias = dict[str, Any]
Who: TypeAlias = int | str
"""The id of a bot or of a version; of a system that is none, its name."""

LONGEST_SECONDS = 20
MOST_CONVERSATIONS = 200_000


class TooMuchError(Exception):
    """The conversations are more than a page may read; the message says what to do."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question set as its labels are read.

    Attributes:
        questions: the set.
        whole: whether those about whole conversations count, not those about single replies.
    """

    questions: QuestionSet
    whole: bool = False

    def columns(self) -> tuple[str, list[Any]]:
        """For a SELECT from labels_label AS l: of each score its values, and their parameters."""
        found = [_expression(self.questions, score) for score in self.questions.scores]
        sql = "".join(f", array_agg(({expression})::float8)" for expression, _ in found)
        return sql, [each for _, values in found for each in values]


def _expression(questions: QuestionSet, score: Score) -> tuple[str, list[Any]]:
    """The score of a label; NULL where it has not answered."""
    terms = [_term(questions.question(term.question), term) for term in score.terms]
    total = " + ".join(sql for sql, _ in terms)
    divisor = f" / {len(terms)}.0" if score.combine is Combine.MEAN else ""
    return f"({total}){divisor}", [each for _, values in terms for each in values]


def _term(question: Question, term: Term) -> tuple[str, list[Any]]:
    if term.choice is None:
        return "(l.answers->>%s)::float8", [term.question]
    choice = json.dumps(term.choice)
    if question.kind is Kind.SEVERAL:
        return "(l.answers->%s @> jsonb_build_array(%s::jsonb))::int", [term.question, choice]
    return "(l.answers->%s = %s::jsonb)::int", [term.question, choice]


@dataclass(frozen=True, slots=True)
class Conversation:
    """A finished conversation of a version, or its responses to a context, with the labels.

    Attributes:
        bot: the bot, or another system.
        version: the version that replied, or another system.
        study: id of the study.
        dialogue: id of the conversation; of a context the negative one.
        ended: when it was finished, or last judged, in seconds since 1970.
        raters: of each label the id of who gave it.
        values: for each score, of each label what it counts; None where it was not asked.
    """

    bot: Who
    version: Who
    study: int
    dialogue: int
    ended: float
    raters: Sequence[int]
    values: Sequence[Sequence[float | None]]


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores as shown, with intervals over conversations or contexts, and what they rest on."""

    cells: Mapping[str, Cell]
    conversations: int
    labels: int
    first_ended: datetime
    last_ended: datetime
    newest_dialogues: Sequence[int]


SHAPE = [field.name for field in fields(Scored)]
"""Part of the key under which scores are remembered: other code does not read what it does not know."""


def seen(studies: Iterable[Study]) -> list[tuple[int, int, int]]:
    """What of these studies scores rest on, for the key: a judgment counts before its rater is done."""
    judged = judgments_given()
    return sorted((study.pk, study.results_version, judged.get(study.pk, 0)) for study in studies)


# Conversation by conversation: else the turns of all studies are read for those of a few.
_SAID = f"""
SELECT v.bot_id, v.id, NULL, d.study_id, d.id, extract(epoch FROM d.ended_at),
       array_agg(l.rater_id){{values}}
  FROM (SELECT id, study_id, ended_at FROM dialogues_dialogue
         WHERE study_id = ANY(%s) AND ending = 'complete' OFFSET 0) AS d
 CROSS JOIN LATERAL (SELECT said.id, said.bot_version_id FROM dialogues_turn AS said
                      WHERE said.dialogue_id = d.id AND said.bot_version_id IS NOT NULL OFFSET 0) AS t
  JOIN labels_label AS l ON l.turn_id = t.id
  JOIN bots_botversion AS v ON v.id = t.bot_version_id
 WHERE l.question_set = %s AND (%s IS NULL OR v.bot_id = %s)
   AND l.party <> 'reader' AND {counted_in("d.study_id")}
 GROUP BY v.bot_id, v.id, d.study_id, d.id, d.ended_at
 LIMIT %s
"""
# What they said of the whole is of the version that spoke last.
_WHOLE = f"""
SELECT v.bot_id, v.id, NULL, d.study_id, d.id, extract(epoch FROM d.ended_at),
       array_agg(l.rater_id){{values}}
  FROM (SELECT id, study_id, ended_at FROM dialogues_dialogue
         WHERE study_id = ANY(%s) AND ending = 'complete' OFFSET 0) AS d
  JOIN labels_label AS l ON l.dialogue_id = d.id
 CROSS JOIN LATERAL (SELECT said.bot_version_id FROM dialogues_turn AS said
                      WHERE said.dialogue_id = d.id AND said.bot_version_id IS NOT NULL
                      ORDER BY said.position DESC LIMIT 1) AS t
  JOIN bots_botversion AS v ON v.id = t.bot_version_id
 WHERE l.question_set = %s AND (%s IS NULL OR v.bot_id = %s)
   AND l.party <> 'reader' AND {counted_in("d.study_id")}
 GROUP BY v.bot_id, v.id, d.study_id, d.id, d.ended_at
 LIMIT %s
"""
_JUDGED = f"""
SELECT v.bot_id, v.id, i.system, s.study_id, i.cluster, extract(epoch FROM max(l.changed_at)),
       array_agg(l.rater_id){{values}}
  FROM ({items_of("ANY(%s)")}) AS i
  JOIN judging_slot AS s ON s.item_id = i.id
  JOIN labels_label AS l ON l.id = s.label_id
  LEFT JOIN bots_botversion AS v ON v.id = i.bot_version_id AND i.sweep_id IS NULL
 WHERE i.first_system IS NULL AND {{subject}}
   AND l.question_set = %s AND (%s IS NULL OR v.bot_id = %s) AND {counted_in("s.study_id")}
 GROUP BY v.bot_id, v.id, i.system, s.study_id, i.cluster
 LIMIT %s
"""


def conversations(
    studies: Collection[int],
    asked: Asked,
    *,
    bot: int | None = None,
    most: int = MOST_CONVERSATIONS,
    seconds: int = LONGEST_SECONDS,
) -> list[Conversation]:
    """The finished conversations and judged contexts of these studies, of one bot or of all, by their ids.

    Raises:
        TooMuchError: there are more than `most`, or reading them takes more than `seconds`.
    """
    values_of, known = asked.columns()
    statements = (_WHOLE, _JUDGED) if asked.whole else (_SAID, _JUDGED)
    subject = "l.dialogue_id IS NOT NULL" if asked.whole else "l.dialogue_id IS NULL AND l.context_id IS NULL"
    parameters = [*known, list(studies), asked.questions.key, bot, bot, most + 1]
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute("SELECT set_config('statement_timeout', %s, true)", [f"{seconds}s"])
            rows: list[Any] = []
            for statement in statements:
                cursor.execute(statement.format(values=values_of, subject=subject), parameters)
                rows += cursor.fetchall()
    except OperationalError as error:
        if "statement timeout" not in str(error):
            raise
        raise TooMuchError(
            f"Reading the labels took more than {seconds} seconds and was given up. Choose fewer studies."
        ) from error
    if len(rows) > most:
        raise TooMuchError(
            f"These studies have more than {most:,} finished conversations or contexts. Choose fewer studies."
        )
    found = (
        Conversation(each or system, version or system, study, dialogue, float(ended), raters, values)
        for each, version, system, study, dialogue, ended, raters, *values in rows
    )
    return sorted(found, key=lambda conversation: conversation.dialogue)


def scored_by(
    key: Callable[[Conversation], Hashable],
    found: Iterable[Conversation],
    asked: Asked,
    level: Callable[[Any], float] = lambda _: LEVEL,
) -> dict[Any, Scored]:
    """By the value of `key`, the scores of the conversations that share it, with intervals of its `level`."""
    groups: dict[Hashable, list[Conversation]] = {}
    for conversation in found:
        groups.setdefault(key(conversation), []).append(conversation)
    return {value: scored(group, asked, level(value)) for value, group in groups.items()}


def scored(found: Sequence[Conversation], asked: Asked, level: float = LEVEL) -> Scored:
    """The scores over these conversations, every label counting once.

    Args:
        found: at least one conversation; several rows may be of the same one if the bot's version changed
            while it ran, and count as one then.
        asked: what was asked in them.
        level: of the intervals.
    """
    rater = np.concatenate([conversation.raters for conversation in found])
    cluster = np.repeat([each.dialogue for each in found], [len(each.raters) for each in found])
    ended = [conversation.ended for conversation in found]
    dialogues = sorted({conversation.dialogue for conversation in found})
    nouns = JUDGED if dialogues[-1] < 0 else NOUNS
    cells = {}
    for nth, score in enumerate(asked.questions.scores):
        values = np.concatenate([np.asarray(each.values[nth], dtype=np.float64) for each in found])
        of = samples(np.full(len(values), "these"), values, cluster, rater)
        of_one = {str(name): sample for name, sample in of.items()}
        known = report.cells(asked.questions, score, of_one, Terms(level, nouns))
        cells[score.key] = known.get("these", {"value": None})
    return Scored(
        cells=cells,
        conversations=len(dialogues),
        labels=len(rater),
        first_ended=datetime.fromtimestamp(min(ended), UTC),
        last_ended=datetime.fromtimestamp(max(ended), UTC),
        newest_dialogues=[dialogue for dialogue in dialogues[:-4:-1] if dialogue > 0],
    )
