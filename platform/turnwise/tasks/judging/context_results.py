"""What the systems of a judging study said in one context, with the votes; an order of contexts to read in.

The database counts; what comes back is a page of contexts, or the responses to one of them.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple

from django.db import connection

from evaluation.report.figures import coded_questions
from evaluation.report.label_columns import Analysis
from evaluation.report.studies.contexts import LEAST_JUDGMENTS, Said, scores_of
from turnwise.labels.queries import score_column
from turnwise.questions.question_sets import question_set
from turnwise.studies.models import Ask, Study

MOST_RESPONSES = 100
"""Responses to one context that are read; those of more systems and repetitions are counted only."""


class Order(StrEnum):
    """Which contexts come first."""

    HARDEST = "hardest"
    """The lowest main score over all systems; those with few judgments after the others."""
    DISPUTED = "disputed"
    """The largest share of raters who answer differently from most."""


@dataclass(frozen=True, slots=True)
class Narrowed:
    """What the contexts are narrowed to; what is empty narrows nothing.

    Attributes:
        find: their key, or part of what is said in them, in capitals or not.
        category: as their set names it.
        turns: how many they have.
        consistency: "yes": they test it; "no": they do not.
    """

    find: str = ""
    category: str = ""
    turns: int = 0
    consistency: str = ""


class Ranked(NamedTuple):
    """A context in its order.

    Attributes:
        pk, key, category, consistency, turns: of the context.
        score: mean of the main score over all judgments, as it is shown; None where nobody has judged.
        judgments: that it rests on.
        disagreement: percent of raters who do not answer as most do, over questions and responses; None
            where no response has two raters.
        number, of: which in the order, from 1; of how many.
        back, on: the contexts before and after it; None at the ends.
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
 WHERE i.ask_id = %s AND i.right_answers IS NULL
"""
_RANKED = """
WITH given AS (
    SELECT r.context_id, i.id AS item, l.answers, {score} AS score
      FROM judging_item AS i
      JOIN responses_response AS r ON r.id = i.response_id
      JOIN judging_slot AS s ON s.item_id = i.id AND s.occasion = 1
      JOIN labels_label AS l ON l.id = s.label_id
     WHERE i.ask_id = %s AND i.right_answers IS NULL AND l.rater_id <> ALL (%s::bigint[])
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
    # As the report has its hardest contexts: ties of means are ties, whatever their last digits.
    Order.HARDEST: f"(scored.judgments >= {LEAST_JUDGMENTS}) IS TRUE DESC, round(scored.score::numeric, 10)",
    Order.DISPUTED: "disputed.disagreement DESC NULLS LAST",
}
_SAID = """
SELECT i.id, r.id, i.key, run.system, r.repetition, r.text
  FROM judging_item AS i
  JOIN responses_response AS r ON r.id = i.response_id
  JOIN responses_responserun AS run ON run.id = r.run_id
 WHERE i.ask_id = %s AND i.right_answers IS NULL AND r.context_id = %s
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
    """Which kinds of contexts a study has, for narrowing to them."""

    categories: list[str]
    turns: list[int]
    consistency: bool
    """Whether some of them test consistency and others do not."""


def kinds(ask: Ask) -> Kinds | None:
    """The kinds of the contexts whose responses are judged by an ask; None where no response is."""
    with connection.cursor() as cursor:
        cursor.execute(_KINDS, [ask.pk])
        row = cursor.fetchone()
    if row is None or row[1] is None:
        return None
    categories, turns, consistency = row
    return Kinds(categories or [], turns, len(consistency) > 1)


def ranked(ask: Ask, order: Order, narrowed: Narrowed, *, limit: int, offset: int) -> list[Ranked]:
    """A page of the contexts that are wanted, in their order by what an ask asks."""
    return _ranked(ask, order, narrowed, "number > %s ORDER BY number LIMIT %s", [offset, limit])


def numbered(ask: Ask, order: Order, narrowed: Narrowed, context: int) -> Ranked | None:
    """One context with its neighbours; None if it is not among those that are wanted."""
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
        given = [*parameters, ask.pk, left_out(ask.study), keys, ask.pk, *narrowing, *values]
        cursor.execute(statement, given)
        return [Ranked(*row) for row in cursor.fetchall()]


def responses(ask: Ask, context: int) -> list[Said]:
    """What was said in one context, system by system, as an ask judges it; the first 100 responses."""
    with connection.cursor() as cursor:
        cursor.execute(_SAID, [ask.pk, context, MOST_RESPONSES])
        said = cursor.fetchall()
        given: dict[int, list[Any]] = {item: [] for item, *_rest in said}
        cursor.execute(_ANSWERS, [list(given), left_out(ask.study)])
        for item, answers in cursor.fetchall():
            given[item].append(json.loads(answers))
    questions = question_set(ask.question_set)
    return [
        Said(response, key, system, repetition, text, given[item], scores_of(questions, given[item]))
        for item, response, key, system, repetition, text in said
    ]


def left_out(study: Study) -> list[int]:
    """The workers whose judgments do not count in the study's primary analysis."""
    if study.primary_analysis == Analysis.ALL:
        return []
    return list(study.participations.filter(excluded_at__isnull=False).values_list("worker", flat=True))
