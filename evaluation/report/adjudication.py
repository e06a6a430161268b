"""Adjudication: items on which raters differ, the adjudicator's decisions, and scores before and after. Pure.

Raters differ about a question if they gave different answers. On a scale, they differ if the lowest and the
highest answer are at least a declared number of steps apart.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.questions import Answer, Question, QuestionSet, coded_answers, score_values
from evaluation.report.figures import coded_questions
from evaluation.report.intervals import Terms, cells, of_bots, score_cells
from evaluation.report.label_columns import Judged
from evaluation.statistics.labels import BoolArray, FloatArray, IntArray

DEFAULT_STEPS = 2
"""Steps of a scale by which raters differ if a study declares no other number: more than one."""


@dataclass(frozen=True, eq=False)
class Decisions:
    """Decisions in force about the items of n judgments, with one row per judgment.

    Attributes:
        steps: number of steps of a scale by which answers must be apart to differ, at least 1.
        covered: by question key, (n,) true if the item has a decision about the question.
        answers: by question key, (n,) the decided answer as a number of `coded_answer`; NaN if there is no
            decision, or if it follows from the decision that the question is not asked.
    """

    steps: int
    covered: Mapping[str, BoolArray]
    answers: Mapping[str, FloatArray]

    @classmethod
    def of(
        cls, questions: QuestionSet, steps: int, given: Sequence[Mapping[str, Answer | None] | None]
    ) -> "Decisions":
        """Build the decisions of n judgments.

        Args:
            questions: the question set.
            steps: number of steps.
            given: for each judgment, the decided answers about its item by key of the question, None for a
                question that is not asked then; None: there is no decision in force.

        Raises:
            ValueError: an answer that a question does not take; names it.
        """
        rows = [each or {} for each in given]
        asked = coded_questions(questions)
        return cls(
            steps,
            {each.key: np.array([each.key in row for row in rows], dtype=np.bool_) for each in asked},
            {each.key: coded_answers(each, [row.get(each.key) for row in rows]) for each in asked},
        )

    def where(self, keep: BoolArray | IntArray) -> "Decisions":
        """Select judgments by a mask (n,) or by indices."""
        return Decisions(
            self.steps,
            {key: values[keep] for key, values in self.covered.items()},
            {key: values[keep] for key, values in self.answers.items()},
        )


def disputed(question: Question, codes: FloatArray, item: IntArray, items: int, steps: int) -> BoolArray:
    """Find the items on which raters differ about a question.

    Args:
        question: any question but free text.
        codes: (n,) answers as numbers of `coded_answer`; NaN for no answer, which differs from nothing.
        item: (n,) item of each answer, from 0.
        items: number of items.
        steps: steps of a scale by which answers must be apart, at least 1; on a scale with fewer steps, the
            two ends differ. Other answers differ if they are not the same.

    Returns:
        (items,) true if the raters differ.
    """
    answered = ~np.isnan(codes)
    ranks, apart = codes[answered], 1.0
    if question.has_mean:
        points = np.sort(np.array([float(choice.value) for choice in question.choices]))
        ranks = np.searchsorted(points, ranks).astype(np.float64)
        apart = min(steps, len(points) - 1)
    low, high = np.full(items, np.inf), np.full(items, -np.inf)
    np.minimum.at(low, item[answered], ranks)
    np.maximum.at(high, item[answered], ranks)
    differ: BoolArray = high - low >= apart
    return differ


def open_questions(questions: QuestionSet, keys: Collection[str]) -> list[str]:
    """Keys of the questions that an adjudicator decides, in their order.

    Args:
        questions: the question set.
        keys: keys of the questions about which raters differ.

    Returns:
        These questions, and those that are asked only after certain answers to one of them.
    """
    found: list[str] = []
    for question in coded_questions(questions):
        condition = question.asked_if
        if question.key in keys or (condition is not None and condition.question in found):
            found.append(question.key)
    return found


@dataclass(frozen=True, eq=False)
class _Settled:
    """Items of n judgments with their state.

    Attributes:
        item: (n,) item of each judgment, from 0.
        first: (items,) index of the first judgment of each item.
        alone: (items,) true if an item has one judgment only.
        differ: by question key, (items,) true if the raters differ.
        is_open: by question key, (items,) true if the question is for the adjudicator.
        decided: (items,) true if all open questions of the item are decided.
    """

    item: IntArray
    first: IntArray
    alone: BoolArray
    differ: Mapping[str, BoolArray]
    is_open: Mapping[str, BoolArray]
    decided: BoolArray


def _settled(questions: QuestionSet, judged: Judged, decisions: Decisions) -> _Settled:
    _, first, item, counts = np.unique(
        judged.reply_code, return_index=True, return_inverse=True, return_counts=True
    )
    items = len(first)
    differ = {
        question.key: disputed(question, judged.answers[question.key], item, items, decisions.steps)
        for question in coded_questions(questions)
    }
    is_open = {key: np.zeros(items, dtype=np.bool_) for key in differ}
    for key, of_items in differ.items():
        for each in open_questions(questions, {key}):
            is_open[each] |= of_items
    decided = np.ones(items, dtype=np.bool_)
    for key, of_items in is_open.items():
        decided &= ~of_items | decisions.covered[key][first]
    return _Settled(item, first, counts < 2, differ, is_open, decided)


def _answers_after(judged: Judged, decisions: Decisions, found: _Settled) -> dict[str, FloatArray]:
    """By question key, (n,) answers after adjudication: decided where raters differ, else the rater's own.

    NaN for judgments of items with one rater, and for open questions without a decision.
    """
    after = {}
    for key, codes in judged.answers.items():
        values = codes
        if key in found.is_open:
            is_open = found.is_open[key][found.item]
            values = np.where(is_open, decisions.answers[key], codes)
            values = np.where(is_open & ~found.decided[found.item], np.nan, values)
        after[key] = np.where(found.alone[found.item], np.nan, values)
    return after


def adjudication_figures(
    questions: QuestionSet, judged: Judged, decisions: Decisions | None, terms: Terms
) -> dict[str, Any]:
    """Compute the figures of adjudication under `adjudication`; empty without adjudication.

    Args:
        questions: the question set.
        judged: the judgments that count, each rater once per item, in order.
        decisions: decisions about the items of these judgments; None: the study has no adjudication.
        terms: level of the intervals, and nouns.

    Returns:
        `steps`; numbers of items: `items` with two raters or more, `alone` with one, `agreed`, `disputed`,
        `adjudicated`, `unresolved`, and `share` of adjudicated items in percent (None without items);
        `questions` with the number of items on which raters differ; and `bots` with the cells `before` (mean
        over judgments, as in the rest of the report) and `after` (mean over items, each with one value).
    """
    if decisions is None:
        return {}
    found = _settled(questions, judged, decisions)
    any_differ = np.zeros(len(found.first), dtype=np.bool_)
    for of_items in found.differ.values():
        any_differ |= of_items
    items, adjudicated = int((~found.alone).sum()), int((any_differ & found.decided).sum())
    return {
        "adjudication": {
            "steps": decisions.steps,
            "items": items,
            "alone": int(found.alone.sum()),
            "agreed": items - int(any_differ.sum()),
            "disputed": int(any_differ.sum()),
            "adjudicated": adjudicated,
            "unresolved": int(any_differ.sum()) - adjudicated,
            "share": 100 * adjudicated / items if items else None,
            "questions": [
                {
                    "key": each.key,
                    "question": each.wording,
                    "differ": int(found.differ[each.key].sum()),
                }
                for each in coded_questions(questions)
            ],
            "bots": _scores(questions, judged, decisions, found, terms),
        }
    }


def _scores(
    questions: QuestionSet, judged: Judged, decisions: Decisions, found: _Settled, terms: Terms
) -> list[dict[str, Any]]:
    after = _answers_after(judged, decisions, found)
    items = judged.where(found.first)
    before_cells, after_cells = [], []
    for score in questions.scores:
        before_cells.append(score_cells(questions, score, judged, terms))
        values = _means(score_values(questions, score, after), found.item, len(found.first))
        of_systems = of_bots(items, values, single_raters=False)
        after_cells.append(cells(questions, score, of_systems, terms))
    return [
        {
            "bot": bot,
            "before": [of_bots.get(bot, {"value": None}) for of_bots in before_cells],
            "after": [of_bots.get(bot, {"value": None}) for of_bots in after_cells],
        }
        for bot in judged.bots
    ]


def _means(values: FloatArray, item: IntArray, items: int) -> FloatArray:
    """(items,) mean of the values of each item; NaN without values."""
    there = ~np.isnan(values)
    counts = np.bincount(item[there], minlength=items)
    sums = np.bincount(item[there], values[there], items)
    means: FloatArray = np.divide(sums, counts, out=np.full(items, np.nan), where=counts > 0)
    return means
