"""Scores of bot versions over any studies, from the labels of their conversations or contexts.

Scores and intervals equal those of a report over the same labels, because they use the same functions. Each
study contributes the labels of its primary analysis. SQL returns the labels of a conversation as one row and
stops after a timeout. Systems other than bots (people, a file, a bot with changed N and T) are scored by
name. Judgments of pairs are left out, because they give no score of a single bot.
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
from turnwise.judging.queries import counts_in_primary_analysis, items_of, judgments_by_study
from turnwise.studies.models import Study

Cell: TypeAlias = dict[str, Any]
SystemKey: TypeAlias = int | str
"""Id of a bot or version; name of any other system."""

TIMEOUT_SECONDS = 20
MAX_CONVERSATIONS = 200_000


class TooMuchError(Exception):
    """Raised if there are more conversations than a page may read; the message says what to do."""


@dataclass(frozen=True, slots=True)
class LabelSelection:
    """Selection of labels: a question set, asked about replies or about whole conversations.

    Attributes:
        questions: the question set.
        whole: whether to count labels of whole conversations instead of single replies.
    """

    questions: QuestionSet
    whole: bool = False

    def columns(self) -> tuple[str, list[Any]]:
        """SQL columns with the values of each score, for labels_label AS l, and their parameters."""
        expressions = [_expression(self.questions, score) for score in self.questions.scores]
        sql = "".join(f", array_agg(({expression})::float8)" for expression, _ in expressions)
        return sql, [each for _, values in expressions for each in values]


def _expression(questions: QuestionSet, score: Score) -> tuple[str, list[Any]]:
    """SQL expression of a label's score; NULL without an answer."""
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
    """A finished conversation of a version, or its responses to a context, with their labels.

    Attributes:
        bot: the bot, or another system.
        version: the version that replied, or another system.
        study: id of the study.
        dialogue: id of the conversation; negated id of a context.
        ended: time when it was finished or last judged, in seconds since 1970.
        raters: id of each label's rater.
        values: value of each label, for each score; None without an answer.
    """

    bot: SystemKey
    version: SystemKey
    study: int
    dialogue: int
    ended: float
    raters: Sequence[int]
    values: Sequence[Sequence[float | None]]


@dataclass(frozen=True, slots=True)
class Scored:
    """Scores in the unit shown, with intervals over conversations or contexts, and their basis."""

    cells: Mapping[str, Cell]
    conversations: int
    labels: int
    first_ended: datetime
    last_ended: datetime
    newest_dialogues: Sequence[int]


CACHE_SHAPE = [field.name for field in fields(Scored)]
"""Part of the cache key of scores, so that other versions of the code do not read these entries."""


def result_versions(studies: Iterable[Study]) -> list[tuple[int, int, int]]:
    """State of the studies' results, for a cache key. Counts judgments, which leave results_version alone."""
    judged = judgments_by_study()
    return sorted((study.pk, study.results_version, judged.get(study.pk, 0)) for study in studies)


# OFFSET 0 makes PostgreSQL go conversation by conversation; else it reads the turns of all studies.
_REPLY_LABELS = f"""
SELECT v.bot_id, v.id, NULL, d.study_id, d.id, extract(epoch FROM d.ended_at),
       array_agg(l.rater_id){{values}}
  FROM (SELECT id, study_id, ended_at FROM dialogues_dialogue
         WHERE study_id = ANY(%s) AND ending = 'complete' OFFSET 0) AS d
 CROSS JOIN LATERAL (SELECT said.id, said.bot_version_id FROM dialogues_turn AS said
                      WHERE said.dialogue_id = d.id AND said.bot_version_id IS NOT NULL OFFSET 0) AS t
  JOIN labels_label AS l ON l.turn_id = t.id
  JOIN bots_botversion AS v ON v.id = t.bot_version_id
 WHERE l.question_set = %s AND (%s IS NULL OR v.bot_id = %s)
   AND l.party <> 'reader' AND {counts_in_primary_analysis("d.study_id")}
 GROUP BY v.bot_id, v.id, d.study_id, d.id, d.ended_at
 LIMIT %s
"""
# A label of a whole conversation belongs to the version that spoke last.
_DIALOGUE_LABELS = f"""
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
   AND l.party <> 'reader' AND {counts_in_primary_analysis("d.study_id")}
 GROUP BY v.bot_id, v.id, d.study_id, d.id, d.ended_at
 LIMIT %s
"""
# Without items that were drawn for people with unequal probabilities: their plain means would be biased.
_JUDGMENTS = f"""
SELECT v.bot_id, v.id, i.system, s.study_id, i.cluster, extract(epoch FROM max(l.changed_at)),
       array_agg(l.rater_id){{values}}
  FROM ({items_of("ANY(%s)")}) AS i
  JOIN judging_slot AS s ON s.item_id = i.id
  JOIN labels_label AS l ON l.id = s.label_id
  LEFT JOIN bots_botversion AS v ON v.id = i.bot_version_id AND i.sweep_id IS NULL
 WHERE i.first_system IS NULL AND {{subject}}
   AND NOT EXISTS (SELECT FROM judging_itemdraw AS d WHERE d.ask_id = i.ask_id)
   AND l.question_set = %s AND (%s IS NULL OR v.bot_id = %s) AND {counts_in_primary_analysis("s.study_id")}
 GROUP BY v.bot_id, v.id, i.system, s.study_id, i.cluster
 LIMIT %s
"""


def conversations(
    studies: Collection[int],
    selection: LabelSelection,
    *,
    bot: int | None = None,
    most: int = MAX_CONVERSATIONS,
    seconds: int = TIMEOUT_SECONDS,
) -> list[Conversation]:
    """Finished conversations and judged contexts of these studies, of one bot or of all, sorted by id.

    Raises:
        TooMuchError: there are more than `most`, or reading takes longer than `seconds`.
    """
    values_of, column_parameters = selection.columns()
    statements = (_DIALOGUE_LABELS, _JUDGMENTS) if selection.whole else (_REPLY_LABELS, _JUDGMENTS)
    subject = (
        "l.dialogue_id IS NOT NULL" if selection.whole else "l.dialogue_id IS NULL AND l.context_id IS NULL"
    )
    parameters = [*column_parameters, list(studies), selection.questions.key, bot, bot, most + 1]
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
            f"Reading the labels took longer than {seconds} seconds and was stopped. Choose fewer studies."
        ) from error
    if len(rows) > most:
        raise TooMuchError(
            f"These studies have more than {most:,} finished conversations or contexts. Choose fewer studies."
        )
    grouped = (
        Conversation(each or system, version or system, study, dialogue, float(ended), raters, values)
        for each, version, system, study, dialogue, ended, raters, *values in rows
    )
    return sorted(grouped, key=lambda conversation: conversation.dialogue)


def scores_by_key(
    key: Callable[[Conversation], Hashable],
    talks: Iterable[Conversation],
    selection: LabelSelection,
    level: Callable[[Any], float] = lambda _: LEVEL,
) -> dict[Any, Scored]:
    """Scores of the conversations grouped by `key`; `level` gives the confidence level of each group."""
    groups: dict[Hashable, list[Conversation]] = {}
    for conversation in talks:
        groups.setdefault(key(conversation), []).append(conversation)
    return {value: score_conversations(group, selection, level(value)) for value, group in groups.items()}


def score_conversations(
    talks: Sequence[Conversation], selection: LabelSelection, level: float = LEVEL
) -> Scored:
    """Scores over these conversations; every label counts once.

    Args:
        talks: at least one conversation. Rows of the same conversation, whose bot changed its version
            meanwhile, count as one.
        selection: the selection of labels.
        level: confidence level of the intervals.
    """
    rater = np.concatenate([conversation.raters for conversation in talks])
    cluster = np.repeat([each.dialogue for each in talks], [len(each.raters) for each in talks])
    ended = [conversation.ended for conversation in talks]
    dialogues = sorted({conversation.dialogue for conversation in talks})
    nouns = JUDGED if dialogues[-1] < 0 else NOUNS
    cells = {}
    for nth, score in enumerate(selection.questions.scores):
        values = np.concatenate([np.asarray(each.values[nth], dtype=np.float64) for each in talks])
        of = samples(np.full(len(values), "these"), values, cluster, rater)
        of_one = {str(name): sample for name, sample in of.items()}
        cell = report.cells(selection.questions, score, of_one, Terms(level, nouns))
        cells[score.key] = cell.get("these", {"value": None})
    return Scored(
        cells=cells,
        conversations=len(dialogues),
        labels=len(rater),
        first_ended=datetime.fromtimestamp(min(ended), UTC),
        last_ended=datetime.fromtimestamp(max(ended), UTC),
        newest_dialogues=[dialogue for dialogue in dialogues[:-4:-1] if dialogue > 0],
    )
