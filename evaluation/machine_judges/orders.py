"""A machine judge of pairs in both orders: one label from both, and the influence of the order.

Each pair is judged as A|B and as B|A. Judges of pairs are known to prefer a place (Wang et al. 2023, "Large
language models are not fair evaluators", arXiv:2305.17926; Zheng et al. 2023, arXiv:2306.05685).
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from evaluation.machine_judges.judged import JudgedItems, PartyLabels
from evaluation.machine_judges.template import judgeable_questions
from evaluation.questions import FIRST, SECOND, TIED, Question, QuestionSet, coded_answer, side_outcomes
from evaluation.statistics.inference import NOUNS, Estimate, Nouns, Sample, mean
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class OrderBias:
    """Influence of the order of the sides on a judge's answers to one question.

    Attributes:
        question: its key.
        pairs: number of pairs with an answer in both orders.
        flips: share of pairs, in [0, 1], whose verdict is another one in the other order, with an interval
            over contexts or conversations; each draw of a pair counts alike.
        for_first_shown: mean of 1 for the side shown first, 1/2 for a tie and 0 for the other, over both
            orders of each pair. A judge without preference for a place has 1/2, whatever it thinks of the
            systems.
    """

    question: str
    pairs: int
    flips: Estimate | Undefined
    for_first_shown: Estimate | Undefined

    @property
    def prefers(self) -> str:
        """The place that the judge prefers beyond chance: "first", "second", or empty."""
        found = self.for_first_shown
        if isinstance(found, Undefined) or isinstance(found.interval, Undefined):
            return ""
        if found.interval.low > 0.5:
            return FIRST
        return SECOND if found.interval.high < 0.5 else ""


def settled(questions: QuestionSet, given: PartyLabels) -> PartyLabels:
    """One label of each pair and draw from its labels in both orders.

    The label is what both orders say. If they contradict each other, it is a tie where the question has one,
    else no answer. A draw with a label in one order only has no label.

    Args:
        questions: the question set.
        given: labels of both orders.

    Raises:
        ValueError: labels without their order.
    """
    first, second = _both_orders(given)
    answers = {}
    for question in judgeable_questions(questions):
        one, other = given.answers[question.key][first], given.answers[question.key][second]
        answers[question.key] = np.where(one == other, one, _undecided(question))
        answers[question.key][np.isnan(one) | np.isnan(other)] = np.nan
    return PartyLabels(given.item[first], answers, given.rater[first])


def in_order_of_names(questions: QuestionSet, given: PartyLabels, is_reverse: BoolArray) -> PartyLabels:
    """Turn labels of pairs to the order of the systems' names.

    Args:
        questions: the question set.
        given: labels whose answers about sides, and `swapped`, are as the sides were stored and shown.
        is_reverse: (N,) true for pairs whose stored first side is the system whose name comes second.

    Raises:
        ValueError: labels without their order.
    """
    if given.swapped is None:
        raise ValueError("These labels do not say in which order the sides were shown.")
    swapped = given.swapped != is_reverse[given.item]
    answers = {
        question.key: turned(question, given.answers[question.key], swapped)
        if question.is_sided
        else given.answers[question.key]
        for question in judgeable_questions(questions)
    }
    # Probabilities are of the sides as they were shown; of pairs, only the answers are compared.
    return replace(given, answers={**given.answers, **answers}, swapped=swapped, chances={})


def turned(question: Question, codes: FloatArray, swapped: BoolArray) -> FloatArray:
    """Turn answers about sides where the sides were shown in the other order.

    Args:
        question: one that compares the sides.
        codes: (n,) answers as `coded_answers` gives them.
        swapped: (n,) true where "first" is to become "second".

    Returns:
        (n,) answers; ties and missing ones as they were.
    """
    first, second = (coded_answer(question, side) for side in (FIRST, SECOND))
    exchanged = np.where(codes == first, second, np.where(codes == second, first, codes))
    return np.where(swapped, exchanged, codes).astype(np.float64)


def _undecided(question: Question) -> float:
    """Code of the answer where the orders contradict each other; NaN if there is no tie."""
    has_tie = question.is_sided and question.index_of(TIED) is not None
    return coded_answer(question, TIED) if has_tie else math.nan


def _both_orders(given: PartyLabels) -> tuple[IntArray, IntArray]:
    """Rows of the labels in the order of the names, and in the other, of draws with both."""
    if given.swapped is None:
        raise ValueError("These labels do not say in which order the sides were shown.")
    key = given.item.astype(np.int64) * (int(given.rater.max(initial=0)) + 1) + given.rater
    straight, swapped = np.flatnonzero(~given.swapped), np.flatnonzero(given.swapped)
    _both, at, other = np.intersect1d(key[straight], key[swapped], return_indices=True)
    return straight[at], swapped[other]


def outcome_shares(question: Question, given: PartyLabels, items: int) -> FloatArray:
    """Shares of a judge's answers for the first side, for the second, and for neither, over both orders.

    Both orders count alike, so a preference for a place has no part in them.

    Args:
        question: one that compares the sides.
        given: labels of both orders, in the order of the names.
        items: number N of pairs.

    Returns:
        (N, 3) shares; NaN for pairs without a draw that has an answer in both orders.

    Raises:
        ValueError: labels without their order.
    """
    codes = given.answers[question.key]
    both = _both_orders(given)
    answered = ~np.isnan(codes[both[0]]) & ~np.isnan(codes[both[1]])
    counts = np.zeros((items, 3))
    for rows in both:
        np.add.at(counts, (given.item[rows[answered]], side_outcomes(question, codes[rows[answered]])), 1.0)
    total = counts.sum(axis=1, keepdims=True)
    found: FloatArray = np.divide(counts, total, out=np.full_like(counts, np.nan), where=total > 0)
    return found


def order_biases(judged: JudgedItems, *, nouns: Nouns = NOUNS) -> list[OrderBias]:
    """Count the influence of the order, question by question.

    Args:
        judged: pairs; empty result for other items.
        nouns: words for the reasons.
    """
    given = judged.in_orders
    if given is None:
        return []
    rows = _both_orders(given)
    sided = [question for question in judgeable_questions(judged.questions) if question.is_sided]
    return [_bias(question, judged, given, rows, nouns) for question in sided]


def _bias(
    question: Question, judged: JudgedItems, given: PartyLabels, rows: tuple[IntArray, IntArray], nouns: Nouns
) -> OrderBias:
    codes = given.answers[question.key]
    one, other = codes[rows[0]], codes[rows[1]]
    has_both: BoolArray = ~np.isnan(one) & ~np.isnan(other)
    item = given.item[rows[0]][has_both]
    flips = (one != other)[has_both].astype(np.float64)
    # In the second order, the side shown first is the system whose name comes second.
    for_shown_first = (_share_of(question, one, FIRST) + _share_of(question, other, SECOND))[has_both] / 2
    return OrderBias(
        question.key,
        len(np.unique(item)),
        _mean_of_pairs(flips, item, judged.cluster, nouns),
        _mean_of_pairs(for_shown_first, item, judged.cluster, nouns),
    )


def _share_of(question: Question, codes: FloatArray, side: str) -> FloatArray:
    """(n,) 1 where this side is preferred, 0 where the other is, 1/2 for ties."""
    sides = {side: 1.0, ({FIRST, SECOND} - {side}).pop(): 0.0}
    found = np.full(len(codes), 0.5)
    for each, value in sides.items():
        found[codes == coded_answer(question, each)] = value
    return found


def _mean_of_pairs(
    values: FloatArray, item: IntArray, cluster: IntArray, nouns: Nouns
) -> Estimate | Undefined:
    draws = np.bincount(item)[item] if item.size else np.zeros(0)
    return mean(Sample(values, cluster[item], None, 1.0 / draws), low=0.0, high=1.0, nouns=nouns)
