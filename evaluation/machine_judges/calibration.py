"""Calibration of a judge: how often it agrees with people, by the probability that it gave its answer.

Reliability bins and expected calibration error as in Guo et al. 2017, "On calibration of modern neural
networks", arXiv:1706.04599; Brier 1950, "Verification of forecasts expressed in terms of probability".
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from evaluation.machine_judges.judged import JudgedItems, PartyLabels, answer_of_items, is_number, means
from evaluation.machine_judges.template import judgeable_questions
from evaluation.questions import Kind, Question, coded_answer
from evaluation.statistics.bootstrap import cluster_interval
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import BoolArray, FloatArray, IntArray

BINS = 10
"""Bins of equal width from 0 to 1."""

FEWEST = 20
"""Items below which no calibration is computed."""

SEED = 20_261_129


@dataclass(frozen=True, slots=True)
class Bin:
    """Answers of similar probability.

    Attributes:
        items: their number.
        probability: mean of the probabilities that the judge gave, in [0, 1].
        agreed: share on which most people gave the same answer, in [0, 1].
    """

    items: int
    probability: float
    agreed: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Calibration about one question.

    Attributes:
        question: its key.
        items: number of items with an answer of both and a probability.
        from_draws: true if the probability is the share of the judge's answers, without probabilities of its
            own.
        bins: those with items, the least probable first.
        brier: mean squared difference between the probability and 1 for agreement, 0 otherwise; 0 is best.
        error: expected calibration error in [0, 1]: mean distance between probability and agreement over the
            bins, by their items. It is above 0 by chance alone, the more so the fewer items there are.
        brier_interval, error_interval: over conversations or contexts.
    """

    question: str
    items: int
    from_draws: bool
    bins: tuple[Bin, ...]
    brier: float
    error: float
    brier_interval: Interval | Undefined
    error_interval: Interval | Undefined


def calibrations(judged: JudgedItems) -> list[Calibration]:
    """Compute the calibration about each question with choices that are no numbers.

    An answer's probability is the judge's own, or the share of its several answers about the item. Questions
    with fewer than `FEWEST` items are left out, and those of a judge that gives neither.
    """
    found = []
    for question in judgeable_questions(judged.questions):
        if question.kind is Kind.SEVERAL or is_number(question):
            continue
        own = question.key in judged.judge.chances
        probability = _probabilities(question, judged.judge, len(judged))
        people, judge = (
            answer_of_items(question, given, len(judged)) for given in (judged.people, judged.judge)
        )
        rows: BoolArray = ~(np.isnan(people) | np.isnan(judge) | np.isnan(probability))
        if rows.sum() >= FEWEST:
            agreed = (people == judge)[rows].astype(np.float64)
            found.append(
                calibration(question.key, probability[rows], agreed, judged.cluster[rows], from_draws=not own)
            )
    return found


def calibration(
    question: str, probability: FloatArray, agreed: FloatArray, cluster: IntArray, *, from_draws: bool = False
) -> Calibration:
    """Compute the calibration of single answers.

    Args:
        question: key of the question.
        probability: (n,) probabilities in [0, 1].
        agreed: (n,) 1 where people agree, else 0.
        cluster: (n,) codes of conversations or contexts.
        from_draws: as in `Calibration`.
    """
    number = np.minimum((probability * BINS).astype(np.int64), BINS - 1)
    sums = _sums(number, probability, agreed, cluster)
    rng = np.random.default_rng(SEED)
    return Calibration(
        question,
        len(probability),
        from_draws,
        tuple(
            Bin(int(of_bin.sum()), float(probability[of_bin].mean()), float(agreed[of_bin].mean()))
            for of_bin in (number == each for each in np.unique(number))
        ),
        float(_brier(sums.sum(axis=0, keepdims=True))[0]),
        float(_error(sums.sum(axis=0, keepdims=True))[0]),
        _interval(sums, rng, of_error=False),
        _interval(sums, rng, of_error=True),
    )


def _probabilities(question: Question, given: PartyLabels, items: int) -> FloatArray:
    """(items,) mean probability of each item's answer; NaN where it is unknown."""
    answers = answer_of_items(question, given, items)
    codes = np.array([coded_answer(question, choice.value) for choice in question.choices])
    if question.key in given.chances:
        is_answer = codes == answers[given.item][:, None]
        of_label = np.where(is_answer, given.chances[question.key], 0.0).sum(axis=1)
        of_label[~is_answer.any(axis=1)] = np.nan
        return means(of_label, given.item, items)
    values = given.answers[question.key]
    is_alike = np.where(np.isnan(values), np.nan, values == answers[given.item])
    of_item = means(is_alike, given.item, items)
    draws = np.bincount(given.item[~np.isnan(values)], minlength=items)
    return np.where((draws > 1) & ~np.isnan(answers), of_item, np.nan)


def _sums(number: IntArray, probability: FloatArray, agreed: FloatArray, cluster: IntArray) -> FloatArray:
    """(k, BINS + 2) by cluster: probability minus agreement in each bin, squares of it, and items."""
    code = np.unique(cluster, return_inverse=True)[1]
    error, clusters = probability - agreed, int(code.max()) + 1
    in_bins = np.bincount(code * BINS + number, error, clusters * BINS).reshape(clusters, BINS)
    squares, items = np.bincount(code, error**2, clusters), np.bincount(code, minlength=clusters)
    return np.column_stack([in_bins, squares, items])


def _error(sums: FloatArray) -> FloatArray:
    found: FloatArray = np.abs(sums[:, :BINS]).sum(axis=1) / sums[:, BINS + 1]
    return found


def _brier(sums: FloatArray) -> FloatArray:
    found: FloatArray = sums[:, BINS] / sums[:, BINS + 1]
    return found


def _interval(sums: FloatArray, rng: Generator, *, of_error: bool) -> Interval | Undefined:
    return cluster_interval(sums, _error if of_error else _brier, rng)
