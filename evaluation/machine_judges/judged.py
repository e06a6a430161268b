"""Labels of people and of a machine judge about the same items, as columns."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evaluation.questions import Kind, Level, Question, QuestionSet, Score, score_values
from evaluation.statistics.labels import AnyArray, BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class PartyLabels:
    """Labels of one party, one row each.

    Attributes:
        item: (n,) number of the labelled item.
        answers: by question key, (n,) answers as `coded_answers` gives them; NaN for no answer.
        rater: (n,) code from 0 up of the rater, or number of the draw.
        swapped: (n,) of pairs, true where the system whose name comes first was shown second; answers about
            sides are in the order of the names all the same. None for other items.
    """

    item: IntArray
    answers: Mapping[str, FloatArray]
    rater: IntArray
    swapped: BoolArray | None = None


@dataclass(frozen=True, eq=False)
class JudgedItems:
    """Items with the labels of people and of a judge.

    Attributes:
        questions: what both answered.
        system: (N,) name of each item's system.
        cluster: (N,) code from 0 up of its conversation or context.
        people: labels of people.
        judge: labels of the judge, one row per draw; of pairs, what it said in both orders
            (`orders.settled`).
        in_orders: of pairs, its labels in each order, one row per draw and order; None for other items.
    """

    questions: QuestionSet
    system: AnyArray
    cluster: IntArray
    people: PartyLabels
    judge: PartyLabels
    in_orders: PartyLabels | None = None

    def __len__(self) -> int:
        return len(self.system)

    @cached_property
    def systems(self) -> list[str]:
        """Names of all systems, in order."""
        return sorted({str(name) for name in self.system})

    def scores_of(self, score: Score, given: PartyLabels) -> FloatArray:
        """(n,) score of each label, in [0, 1] for shares; NaN where an answer is missing."""
        return score_values(self.questions, score, given.answers)


def means(values: FloatArray, item: IntArray, items: int) -> FloatArray:
    """(items,) mean of the labels of each item; NaN for items without labels."""
    is_defined = ~np.isnan(values)
    counts = np.bincount(item[is_defined], minlength=items)
    sums = np.bincount(item[is_defined], values[is_defined], items)
    found: FloatArray = np.divide(sums, counts, out=np.full(items, np.nan), where=counts > 0)
    return found


def answer_of_items(question: Question, given: PartyLabels, items: int) -> FloatArray:
    """One answer for each item: the mean of numbers, else the answer of more than half of the labels.

    Returns:
        (items,) answers as codes; NaN for items without labels, and without a majority.
    """
    values = given.answers[question.key]
    if is_number(question):
        return means(values, given.item, items)
    answers = np.full(items, np.nan)
    counts = np.bincount(given.item[~np.isnan(values)], minlength=items)
    for code in np.unique(values[~np.isnan(values)]):
        votes = np.bincount(given.item[values == code], minlength=items)
        answers[2 * votes > counts] = code
    return answers


def is_number(question: Question) -> bool:
    """True if the mean of answers is meaningful."""
    return question.kind is not Kind.SEVERAL and question.level in (Level.ORDINAL, Level.INTERVAL)
