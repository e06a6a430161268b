"""Contexts of a judging study, ranked, and the responses to one context with their votes.

The database does the counting; the functions return a page of contexts or the responses to one.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from django.db import connection

from evaluation.report.figures import coded_questions
from evaluation.report.label_columns import Analysis
from evaluation.report.studies.contexts import LEAST_JUDGMENTS, JudgedResponse, scores_of
from turnwise.labels.queries import score_column
from turnwise.questions.question_sets import question_set
from turnwise.studies.models import Ask, Study

MOST_RESPONSES = 100
"""Limit of responses to one context; further ones are counted only."""


class Order(StrEnum):
    """Orders of the list of contexts."""

    HARDEST = "hardest"
    """Lowest main score over all systems first; contexts with few judgments last."""
    DISPUTED = "disputed"
    """Largest share of raters who answer differently from most first."""


@dataclass(frozen=True, slots=True)
class Narrowed:
    """Filters of the list of contexts; empty ones filter nothing.

    Attributes:
        find: key of a context, or text of its turns, case-insensitive.
        category: category in its set.
        turns: number of turns.
        consistency: "yes": the context tests consistency; "no": it does not.
    """

    find: str = ""
    category: str = ""
    turns: int = 0
    consistency: str = ""


class Ranked(NamedTuple):
    """A context with its rank.

    Attributes:
        pk, key, category, consistency, turns: fields of the context.
        score: mean of the main score over all judgments; None if there are none.
        judgments: number of judgments behind the score.
        disagreement: percentage of raters who do not answer like most, over questions and responses; None if
        no
            response has two raters.
        number, of: rank from 1, and number of contexts.
        back, on: keys of the contexts before and after it; None at the ends.
    """

    pk: int
    key: str
    category: str
    consistency: bool
    turns: list[str]
    score: float | None
    judgments: int
    disagreement: float | None
    number: int
    of: int
    back: int | None
    on: int | None


_ITEMS = """
  FROM judging_item AS i
  JOIN responses_response AS r ON r.id = i.response_id
 WHERE i.ask_id = %s AND i.right_answers IS NULL AND i.anchor_id IS NULL
"""
_RANKED = """
WITH given AS (
    SELECT r.context_id, i.id AS item, l.answers, {score} AS score
      FROM judging_item AS i
      JOIN responses_response AS r ON r.id = i.response_id
      JOIN judging_slot AS s ON s.item_id = i.id AND s.occasion = 1
      JOIN labels_label AS l ON l.id = s.label_id
     WHERE i.ask_id = %s AND i.right_answers IS NULL AND i.anchor_id IS NULL
       AND l.rater_id <> ALL (%s::bigint[])
), scored AS (
    SELECT context_id, avg(score) AS score, count(score) AS judgments FROM given GROUP BY context_id
), answered AS (
    SELECT context_id, item, question, count(*) AS raters
      FROM given CROSS JOIN unnest(%s::text[]) AS asked (question)
     WHERE answers ? question
     GROUP BY context_id, item, question, answers->question
), split AS (
    SELECT context_id, 1 - max(raters) / sum(raters) AS disagreement
      FROM answered GROUP BY context_id, item, question HAVING sum(raters) > 1
), disputed AS (
    SELECT context_id, avg(disagreement) AS disagreement FROM split GROUP BY context_id
), ranked AS (
    SELECT c.id, c.key, c.category, c.consistency, c.turns, scored.score,
           coalesce(scored.judgments, 0) AS judgments, 100 * disputed.disagreement::float8 AS disagreement,
           row_number() OVER w AS number, count(*) OVER () AS of_all, lag(c.id) OVER w AS back,
           lead(c.id) OVER w AS further
      FROM contexts_context AS c
      LEFT JOIN scored ON scored.context_id = c.id
      LEFT JOIN disputed ON disputed.context_id = c.id
     WHERE c.id IN (SELECT r.context_id {items})
       AND (%s = '' OR c.key = %s OR strpos(upper(array_to_string(c.turns, E'\n')), upper(%s)) > 0)
       AND (%s = '' OR c.category = %s)
       AND (%s = 0 OR cardinality(c.turns) = %s)
       AND (%s = '' OR c.consistency = (%s = 'yes'))
    WINDOW w AS (ORDER BY {order}, c.key COLLATE "C", c.id)
)
SELECT * FROM ranked WHERE {which}
"""
_ORDERS = {
    # Like the hardest contexts of the report: means that differ only in their last digits are ties.
    Order.HARDEST: f"(scored.judgments >= {LEAST_JUDGMENTS}) IS TRUE DESC, round(scored.score::numeric, 10)",
    Order.DISPUTED: "disputed.disagreement DESC NULLS LAST",
}
_RESPONSES = """
SELECT i.id, r.id, i.key, run.system, r.repetition, r.text
  FROM judging_item AS i
  JOIN responses_response AS r ON r.id = i.response_id
  JOIN responses_responserun AS run ON run.id = r.run_id
 WHERE i.ask_id = %s AND i.right_answers IS NULL AND i.anchor_id IS NULL AND r.context_id = %s
 ORDER BY run.system COLLATE "C", run.id, r.repetition
 LIMIT %s
"""
_ANSWERS = """
SELECT s.item_id, l.answers
  FROM judging_slot AS s JOIN labels_label AS l ON l.id = s.label_id
 WHERE s.item_id = ANY (%s) AND s.occasion = 1 AND l.rater_id <> ALL (%s::bigint[])
 ORDER BY s.item_id, l.id
"""
_KINDS = f"""
SELECT array_agg(DISTINCT c.category) FILTER (WHERE c.category <> ''),
       array_agg(DISTINCT cardinality(c.turns)), array_agg(DISTINCT c.consistency)
  FROM contexts_context AS c WHERE c.id IN (SELECT r.context_id {_ITEMS})
"""


class Kinds(NamedTuple):
    """Kinds of contexts that a study has, for the filters."""

    categories: list[str]
    turns: list[int]
    consistency: bool
    """True if some contexts test consistency and others do not."""


def kinds(ask: Ask) -> Kinds | None:
    """Kinds of the contexts whose responses are judged by an ask; None if no response is."""
    with connection.cursor() as cursor:
        cursor.execute(_KINDS, [ask.pk])
        row = cursor.fetchone()
    if row is None or row[1] is None:
        return None
    categories, turns, consistency = row
    return Kinds(categories or [], turns, len(consistency) > 1)


def ranked(ask: Ask, order: Order, narrowed: Narrowed, *, limit: int, offset: int) -> list[Ranked]:
    """A page of the filtered contexts, ranked by the answers to an ask."""
    return _ranked(ask, order, narrowed, "number > %s ORDER BY number LIMIT %s", [offset, limit])


def numbered(ask: Ask, order: Order, narrowed: Narrowed, context: int) -> Ranked | None:
    """One context with its rank and neighbours; None if the filters exclude it."""
    found = _ranked(ask, order, narrowed, "id = %s", [context])
    return found[0] if found else None


def _ranked(ask: Ask, order: Order, by: Narrowed, which: str, values: Sequence[object]) -> list[Ranked]:
    questions = question_set(ask.question_set)
    score = questions.main_score
    column, parameters = score_column(score) if score else ("NULL::float8", [])
    statement = _RANKED.format(score=column, items=_ITEMS, order=_ORDERS[order], which=which)
    keys = [question.key for question in coded_questions(questions)]
    narrowing = [
        *[by.find] * 3, *[by.category] * 2, *[by.turns] * 2, *[by.consistency] * 2,
    ]  # fmt: skip
    with connection.cursor() as cursor:
        parameters = [*parameters, ask.pk, excluded_raters(ask.study), keys, ask.pk, *narrowing, *values]
        cursor.execute(statement, parameters)
        return [Ranked(*row) for row in cursor.fetchall()]


def responses(ask: Ask, context: int) -> list[JudgedResponse]:
    """Responses to one context with the answers to an ask, system by system; the first 100."""
    with connection.cursor() as cursor:
        cursor.execute(_RESPONSES, [ask.pk, context, MOST_RESPONSES])
        rows = cursor.fetchall()
        answers_by_item: dict[int, list[Any]] = {item: [] for item, *_rest in rows}
        cursor.execute(_ANSWERS, [list(answers_by_item), excluded_raters(ask.study)])
        for item, answers in cursor.fetchall():
            answers_by_item[item].append(json.loads(answers))
    questions = question_set(ask.question_set)
    return [
        JudgedResponse(
            response,
            key,
            system,
            repetition,
            text,
            answers_by_item[item],
            scores_of(questions, answers_by_item[item]),
        )
        for item, response, key, system, repetition, text in rows
    ]


def excluded_raters(study: Study) -> list[int]:
    """Workers whose judgments do not count in the study's primary analysis."""
    if study.primary_analysis == Analysis.ALL:
        return []
    return list(study.participations.filter(excluded_at__isnull=False).values_list("worker", flat=True))
