"""Scores of several studies on one scale, by anchors: items whose value an earlier study knows.

New raters judge the anchors among their own items. The mean difference between their answers and the known
values is the shift of the new study against the old one, and subtracting it puts a new score on the old scale
(mean-mean linking; Kolen & Brennan 2014, Test Equating, Scaling, and Linking, chapter 6). The standard error
of the shift is the linking error. It has three parts: anchors that shifted by different amounts, the raters
of the new study, and the raters of the old one, who judged several anchors each. Intervals allow for few
raters on either side: the quantile is the mean of those of Student's t of both studies, weighed by their
variances (Cochran & Cox 1957, Experimental Designs, section 4.14).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.compared_samples import KINDS, Gram, Hidden, Pair, hidden
from evaluation.statistics.inference import NOUNS, Sample, t
from evaluation.statistics.labels import FloatArray, IntArray
from evaluation.statistics.variance import spread, summed

FEWEST_ANCHORS = 3
FEWEST_RATERS = 2


class LinkingError(ValueError):
    """The anchors cannot link the studies; the message says why, and what to do."""


@dataclass(frozen=True, eq=False)
class KnownValues:
    """Known values of the items of a study, by one score.

    Attributes:
        items: (k,) codes of the items, rising.
        values: (k,) mean of each item's answers, in the unit of the score.
        errors: (k,) standard error of each mean.
        raters: (k,) number of each item's raters.
        common_variance: variance of the mean over all items that its raters have in common.
    """

    items: IntArray
    values: FloatArray
    errors: FloatArray
    raters: IntArray
    common_variance: float


def known_values(values: FloatArray, item: IntArray, rater: IntArray) -> KnownValues:
    """Mean of each item with its error; items with one rater are left out, since their error is unknown.

    Args:
        values: (n,) answers as numbers; NaN for none.
        item: (n,) codes of the items, from 0 up and below 2³¹.
        rater: (n,) codes of the raters, likewise.
    """
    given = ~np.isnan(values)
    values, item, rater = values[given], item[given], rater[given]
    ids, code, sizes = np.unique(item, return_inverse=True, return_counts=True)
    enough = sizes[code] >= FEWEST_RATERS
    values, item, rater = values[enough], item[enough], rater[enough]
    if not len(values):
        empty = np.zeros(0)
        return KnownValues(ids[:0], empty, empty, ids[:0], 0.0)
    ids, code, sizes = np.unique(item, return_inverse=True, return_counts=True)
    means = np.bincount(code, values) / sizes
    squares = np.bincount(code, (values - means[code]) ** 2)
    errors = np.sqrt(squares / (sizes - 1) / sizes)
    sums = summed((values - means[code]) / (len(ids) * sizes[code]), item, rater)
    common = max(0.0, sums.by_rater.variance - sums.by_pair.variance)
    return KnownValues(ids, means, errors, sizes, common)


def spread_over(values: FloatArray, number: int, *, seed: int) -> IntArray:
    """Choose items evenly over the range of their values: a systematic sample of the items by rank.

    Every item has the same probability. The extreme ones, whose values err most in their own direction, are
    therefore chosen no more often than others, so that the mean of the chosen known values has no bias.

    Args:
        values: (n,) values of the items.
        number: number to choose, from 1 to n.
        seed: decides where the sample begins, and the order of equal values.

    Returns:
        (number,) indices of the chosen items, rising.

    Raises:
        ValueError: the number is below 1 or above n.
    """
    if not 1 <= number <= len(values):
        raise ValueError(f"{number} of {len(values)} items cannot be chosen.")
    random = np.random.default_rng(seed)
    ranked = np.lexsort((random.permutation(len(values)), values))
    positions = (random.random() + np.arange(number)) * len(values) / number
    return np.sort(ranked[np.floor(positions).astype(np.int64)])


@dataclass(frozen=True, slots=True)
class Shift:
    """Difference between two studies in how they judge the same items.

    Attributes:
        value: mean of new answers minus known values, in the unit of the score.
        error: its standard error, which is the linking error.
        low, high: its interval.
        anchors: number of anchors with answers.
        raters: number of new raters who judged some.
    """

    value: float
    error: float
    low: float
    high: float
    anchors: int
    raters: int


def shift(
    values: FloatArray,
    known: FloatArray,
    item: IntArray,
    rater: IntArray,
    *,
    common_variance: float = 0.0,
    common_freedom: float = math.inf,
    level: float = LEVEL,
) -> Shift:
    """Estimate the shift of a study from its answers about anchors. Every anchor counts equally.

    Args:
        values: (n,) answers of the new study about anchors, as numbers; NaN for none.
        known: (n,) known value of the same anchor.
        item: (n,) codes of the anchors, from 0 up and below 2³¹.
        rater: (n,) codes of the new raters, likewise.
        common_variance: variance of the known values that the old raters have in common.
        common_freedom: degrees of freedom of this variance, from 1 up: old raters less one.
        level: nominal coverage of the interval, in (0, 1).

    Raises:
        LinkingError: fewer than three anchors have answers, or fewer than two raters gave some.
    """
    given = ~(np.isnan(values) | np.isnan(known))
    values, known, item, rater = values[given], known[given], item[given], rater[given]
    anchors, code, sizes = np.unique(item, return_inverse=True, return_counts=True)
    raters = len(np.unique(rater))
    _refuse_few(len(anchors), raters)
    drift = values - known
    weight = 1 / (len(anchors) * sizes[code])
    mean = float((weight * drift).sum())
    around = spread(summed(weight * (drift - mean), item, rater))
    assert around, "there are several anchors"
    error, reach = _summed(
        (around.variance, t(max(around.freedom, 1.0), level)),
        (common_variance, t(max(common_freedom, 1.0), level)),
    )
    return Shift(mean, error, mean - reach, mean + reach, len(anchors), raters)


def _summed(*parts: tuple[float, float]) -> tuple[float, float]:
    """Standard error of a sum of independent errors, and half the length of its interval.

    Satterthwaite's degrees of freedom of the sum would be too many whenever the variance of few raters came
    out small by chance: with three old raters, intervals held the truth in 92 %.

    Args:
        parts: variance of each error, and the quantile of its distribution.
    """
    total = sum(variance for variance, _quantile in parts)
    if total == 0:
        return 0.0, 0.0
    quantile = sum(variance * quantile for variance, quantile in parts) / total
    return math.sqrt(total), quantile * math.sqrt(total)


def _refuse_few(anchors: int, raters: int) -> None:
    if anchors < FEWEST_ANCHORS:
        raise LinkingError(
            f"{anchors} anchors have answers, and linking needs {FEWEST_ANCHORS} or more. Mix in more "
            "anchors, or wait for more judgments."
        )
    if raters < FEWEST_RATERS:
        raise LinkingError(
            "One rater judged the anchors, so raters cannot be told from the study. Wait for more raters."
        )


@dataclass(frozen=True, slots=True)
class LinkedScore:
    """A new score on the scale of the old study, with an interval that has the linking error.

    Attributes:
        value: the score less the shift, in its unit.
        error: standard error, linking error included.
        low, high: the interval.
    """

    value: float
    error: float
    low: float
    high: float


def linked(
    value: float, error: float, by: Shift, *, freedom: float = math.inf, level: float = LEVEL
) -> LinkedScore:
    """Put a score on the scale of the study that knows the anchors, as if score and shift were independent.

    If the same raters gave both, the interval is too wide, and `linked_together` is better.

    Args:
        value: score in the new study.
        error: its standard error, in the same unit.
        by: shift of the new study against the old one, with an interval of the same level.
        freedom: degrees of freedom of the score's error, above 0.
        level: nominal coverage of the interval, in (0, 1).
    """
    of_shift = (by.high - by.value) / by.error if by.error else 0.0
    total, reach = _summed((error**2, t(freedom, level)), (by.error**2, of_shift))
    moved = value - by.value
    return LinkedScore(moved, total, moved - reach, moved + reach)


def linked_together(
    own: Sample,
    of_anchors: Sample,
    *,
    scale: tuple[float, float],
    common_variance: float = 0.0,
    common_freedom: float = math.inf,
    level: float = LEVEL,
) -> LinkedScore | None:
    """Put a score on the scale of the study that knows the anchors, with the covariance of score and shift.

    Both are of the same raters: one who is strict with the items is strict with the anchors, too, so most of
    the difference between raters cancels. Score less shift is a difference of two samples with common raters,
    with variance and degrees of freedom as in `compared_samples`; what old raters have in common is added.

    Args:
        own: answers about the items of one system.
        of_anchors: answers about anchors, each less the known value, weighed by 1 / (answers to the anchor).
        scale: ends of the scale of the answers.
        common_variance: as of `shift`.
        common_freedom: likewise.
        level: nominal coverage of the interval, in (0, 1).

    Returns:
        The linked score; None if its error is not known, as where all answers about items are of one rater.
    """
    kinds = tuple(Gram.of_sums((own.sums, of_anchors.sums), kind).of(0, 1) for kind in KINDS)
    pair = Pair((own, of_anchors), kinds, (hidden(own, scale), Hidden(0.0, 1.0, 0.0)), scale)
    if pair.why_not(NOUNS) is not None:
        return None
    found = pair.weighted(1.0, 1.0)
    error, reach = _summed(
        (found.variance, t(max(found.freedom, 1.0), level)),
        (common_variance, t(max(common_freedom, 1.0), level)),
    )
    value = own.value - of_anchors.value
    return LinkedScore(value, error, value - reach, value + reach)


@dataclass(frozen=True, slots=True)
class RaterDrift:
    """Mean difference of one rater from the known values.

    Attributes:
        rater: code of the rater.
        value: mean of their answers minus the known values.
        low, high: its interval; None with fewer than three anchors.
        anchors: number of anchors that they judged.
    """

    rater: int
    value: float
    low: float | None
    high: float | None
    anchors: int


def rater_drift(
    values: FloatArray, known: FloatArray, rater: IntArray, *, level: float = LEVEL
) -> Sequence[RaterDrift]:
    """Mean difference of each rater from the known values, the farthest first.

    Args:
        values: (n,) answers about anchors, one for each rater and anchor; NaN for none.
        known: (n,) known values of the same anchors.
        rater: (n,) codes of the raters.
        level: nominal coverage of each interval.
    """
    given = ~(np.isnan(values) | np.isnan(known))
    drift, rater = (values - known)[given], rater[given]
    found = [_of_rater(int(each), drift[rater == each], level) for each in np.unique(rater)]
    return sorted(found, key=lambda each: (-abs(each.value), each.rater))


def _of_rater(rater: int, drift: FloatArray, level: float) -> RaterDrift:
    n, mean = len(drift), float(drift.mean())
    if n < FEWEST_ANCHORS:
        return RaterDrift(rater, mean, None, None, n)
    reach = t(n - 1, level) * float(drift.std(ddof=1) / np.sqrt(n))
    return RaterDrift(rater, mean, mean - reach, mean + reach, n)
