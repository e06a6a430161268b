"""Krippendorff's alpha label by label: the contribution of each rating, for intervals over units and raters.

Time and memory grow with n log n for nominal, ordinal and interval ratings and for the expected disagreement
of ratios, for any number of distinct values. The influence values are derivatives of alpha: by the weight of
a unit, and by the weight of a rater's ratings in each unit while the number of ratings stays fixed
(projections of means over pairs, Hoeffding 1948, Annals of Mathematical Statistics 19(3)).
"""

from dataclasses import dataclass

import numpy as np
import scipy

from evaluation.rater_agreement.ratings import Metric, Ratings, numbers
from evaluation.statistics.labels import AnyArray, BoolArray, FloatArray, IntArray

_NODES = 16
"""Nodes of the polynomials in boxes of width 1, in which they match the kernel of ratios to the last bit."""
_FAR = 40
"""Distance of logarithms at which the kernel of ratios is below the last bit."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Disagreement of each of the n ratings of units with two ratings or more.

    Attributes:
        kept: mask of these ratings among all ratings.
        unit: (n,) number of the unit among units with two ratings or more.
        size: (units,) number of ratings of each unit.
        within: (n,) mean distance to the other ratings of the unit.
        overall: (n,) sum of distances to all n ratings.
        shift_within: (n,) derivative of the sum of `within` by the weight of a rating, through the distances.
        shift_overall: (n,) the same derivative of the sum of `overall`.
    """

    kept: BoolArray
    unit: IntArray
    size: IntArray
    within: FloatArray
    overall: FloatArray
    shift_within: FloatArray | float = 0.0
    shift_overall: FloatArray | float = 0.0

    @property
    def observed(self) -> float:
        """Krippendorff's D_o."""
        return float(self.within.mean())

    @property
    def expected(self) -> float:
        """Krippendorff's D_e."""
        n = len(self.within)
        return float(self.overall.sum()) / (n * (n - 1))

    def influence(self) -> FloatArray:
        """(n,) contribution of each rating to alpha; the contributions sum to 0."""
        n, observed, expected = len(self.within), float(self.within.sum()), float(self.overall.sum())
        of_unit = np.bincount(self.unit, self.within) / self.size
        disagreeing = 2 * self.within - of_unit[self.unit] + self.shift_within
        by_chance = 2 * self.overall + self.shift_overall
        moves = -(observed + (n - 1) * (disagreeing - observed / expected * by_chance)) / expected
        centred: FloatArray = moves - moves.mean()
        return centred


def pairs_of(ratings: Ratings, metric: Metric | FloatArray) -> Pairs:
    """Sum the distances of all pairs for each rating.

    Args:
        ratings: with at least one unit of two ratings.
        metric: as in `agreement.krippendorff_alpha`.
    """
    is_pairable = ratings.is_pairable[ratings.unit]
    _, unit, size = np.unique(ratings.unit[is_pairable], return_inverse=True, return_counts=True)
    value, others = ratings.value[is_pairable], (size - 1)[unit]
    if not isinstance(metric, Metric):
        within, overall = _by_matrix(unit, value, size, np.asarray(metric, dtype=np.float64))
    elif metric is Metric.NOMINAL:
        within, overall = _unlike(unit, value, size)
    elif metric is Metric.RATIO:
        within, overall = _ratios(unit, value, numbers(ratings.values, metric))
    else:
        position = _positions(value, ratings.values, metric)
        within, overall = _squares(unit, position[value], size)
        if metric is Metric.ORDINAL:
            pull = (size[unit] * position[value] - np.bincount(unit, position[value])[unit]) / others
            pull_overall = len(value) * position[value]
            shifts = (_of_ranks(value, each)[value] for each in (pull, pull_overall))
            return Pairs(is_pairable, unit, size, within / others, overall, *shifts)
    return Pairs(is_pairable, unit, size, within / others, overall)


def largest_distance(ratings: Ratings, metric: Metric | FloatArray) -> float:
    """Largest distance of two ratings, at least 0, in the unit of `Pairs`.

    Args:
        ratings: at least one.
        metric: as in `pairs_of`, or a (values, values) table of distances, whose largest entry is returned.
    """
    if not isinstance(metric, Metric):
        return float(np.max(metric))
    if metric is Metric.NOMINAL:
        return 1.0
    if metric is Metric.RATIO:
        number = numbers(ratings.values, metric)
        return float(((number.max() - number.min()) / (number.max() + number.min())) ** 2)
    value = ratings.value[ratings.is_pairable[ratings.unit]]
    return float(np.ptp(_positions(value, ratings.values, metric)) ** 2)


def _by_matrix(
    unit: IntArray, value: IntArray, size: IntArray, distances: FloatArray
) -> tuple[FloatArray, FloatArray]:
    c = len(distances)
    counts = np.bincount(unit * c + value, minlength=len(size) * c).reshape(-1, c)
    return (counts @ distances)[unit, value], (distances @ counts.sum(axis=0))[value]


def _unlike(unit: IntArray, value: IntArray, size: IntArray) -> tuple[FloatArray, FloatArray]:
    _, cell, alike = np.unique(unit * (int(value.max()) + 1) + value, return_inverse=True, return_counts=True)
    within, overall = size[unit] - alike[cell], len(value) - np.bincount(value)[value]
    return within.astype(np.float64), overall.astype(np.float64)


def _positions(value: IntArray, values: AnyArray, metric: Metric) -> FloatArray:
    """(c,) position of each value on a line with squared distances, the mean rating at 0."""
    number = numbers(values, metric)
    counts = np.bincount(value, minlength=len(values))
    position = np.cumsum(counts) - counts / 2 if metric is Metric.ORDINAL else number
    centred: FloatArray = position - position[value].mean()
    return centred


def _squares(unit: IntArray, position: FloatArray, size: IntArray) -> tuple[FloatArray, FloatArray]:
    """Sums of (x - y)² within units and over all; the positions sum to 0."""
    first, second = np.bincount(unit, position)[unit], np.bincount(unit, position**2)[unit]
    within = size[unit] * position**2 - 2 * position * first + second
    overall = len(position) * position**2 + (position**2).sum()
    return np.maximum(within, 0), overall


def _of_ranks(value: IntArray, pull: FloatArray) -> FloatArray:
    """(c,) effect of one more rating of a value: it moves mid-ranks above by 1 and its own by 1/2."""
    of_value = np.bincount(value, pull)
    above = of_value.sum() - np.cumsum(of_value)
    moved: FloatArray = 4 * (above + of_value / 2)
    return moved


def _ratios(unit: IntArray, value: IntArray, number: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Sums of ((x - y) / (x + y))² within units, pair by pair, and over all."""
    order = np.argsort(unit, kind="stable")
    unit_of, x = unit[order], number[value[order]]
    sums = np.zeros(len(x))
    for step in range(1, len(x)):
        pair = np.flatnonzero(unit_of[step:] == unit_of[:-step])
        if not pair.size:
            break
        a, b = x[pair], x[pair + step]
        distance = np.divide(a - b, a + b, out=np.zeros(len(a)), where=a + b > 0) ** 2
        sums[pair] += distance
        sums[pair + step] += distance
    within = np.empty_like(sums)
    within[order] = sums
    return within, _ratios_overall(number, np.bincount(value, minlength=len(number)))[value]


def _ratios_overall(number: FloatArray, counts: IntArray) -> FloatArray:
    """(c,) Σ over k of counts ((x - x_k) / (x + x_k))² for each of c rising values x from 0 up.

    The distance is 1 - sech²(d / 2) of the difference d of logarithms. This kernel is smooth, so within boxes
    of width 1 polynomials replace it: Lagrange's through Chebyshev nodes.
    """
    totals: FloatArray = np.full(len(number), counts.sum(), dtype=np.float64)
    zero = number == 0
    totals[zero] = counts.sum() - counts[zero]
    log, weight = np.log(number[~zero]), counts[~zero]
    if not len(log):
        return totals
    boxes, box = np.unique(np.floor(log - log[0]).astype(np.int64), return_inverse=True)
    nodes = scipy.special.roots_chebyt(_NODES)[0] / 2
    basis = _lagrange(nodes, log - log[0] - boxes[box] - 0.5)
    moments: FloatArray = np.column_stack([np.bincount(box, weight * column) for column in basis.T])
    field = np.zeros_like(moments)
    for step in range(-_FAR, _FAR + 1):
        at = np.minimum(np.searchsorted(boxes, boxes + step), len(boxes) - 1)
        there = np.flatnonzero(boxes[at] == boxes + step)
        kernel = 1 / np.cosh((nodes[:, None] - nodes - step) / 2) ** 2
        field[there] += moments[at[there]] @ kernel.T
    totals[~zero] = counts.sum() - (basis * field[box]).sum(axis=1)
    return totals


def _lagrange(nodes: FloatArray, x: FloatArray) -> FloatArray:
    """(len(x), len(nodes)) Lagrange's polynomials of the nodes."""
    basis = np.ones((len(x), len(nodes)))
    for i, node in enumerate(nodes):
        for other in np.delete(nodes, i):
            basis[:, i] *= (x - other) / (node - other)
    return basis
