"""Influence of each label on an assisted estimate, and its variance over conversations, raters or both.

The estimate is a sum of weighted means ("parts"): people's labels less λ times the judge's labels of the same
items, and λ times the judge's labels of other items. Parts that share conversations or raters are added
before squaring, so their covariance counts. Each part is corrected for few clusters as in
`evaluation.statistics.variance`; degrees of freedom of parts without common clusters combine as Welch's.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evaluation.assisted.intervals import crossed, together
from evaluation.statistics.inference import two_sided_p
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import BoolArray, FloatArray, IntArray
from evaluation.statistics.variance import Numbers, Over, Spread, combined, dot, satterthwaite

_ROUNDING = 1e-12


@dataclass(frozen=True, eq=False)
class Rows:
    """Rows of all parts of an estimate.

    Attributes:
        part: (m,) code of the part, in [0, p).
        cluster: (m,) code of the conversation or context.
        rater: (m,) code of the rater; rows of unknown raters have codes of their own, one for each cluster.
        share: (m,) weight of the row within its part; sums to 1 over a part.
        is_drawn: true if items were drawn with unequal probabilities.
    """

    part: IntArray
    cluster: IntArray
    rater: IntArray
    share: FloatArray
    is_drawn: bool = False

    @property
    def pair(self) -> IntArray:
        """(m,) code of each row's cluster and rater together."""
        return self.cluster << 32 | self.rater

    def only(self, rows: BoolArray) -> "Rows":
        """The rows for which the (m,) mask is true, with their weights as they are."""
        part, cluster, rater = self.part[rows], self.cluster[rows], self.rater[rows]
        return Rows(part, cluster, rater, self.share[rows], self.is_drawn)

    @cached_property
    def by_cluster(self) -> "Grouping":
        """Rows grouped by cluster."""
        return grouped(self, self.cluster)

    @cached_property
    def by_rater(self) -> "Grouping":
        """Rows grouped by rater."""
        return grouped(self, self.rater)

    @cached_property
    def by_pair(self) -> "Grouping":
        """Rows grouped by pair of cluster and rater."""
        return grouped(self, self.pair)


@dataclass(frozen=True, eq=False)
class Grouping:
    """Rows grouped by clusters of one kind, of which there are u.

    Attributes:
        cell: (m,) index of each row's cluster and part.
        share: (u, p) weight of the cluster within the part.
        squares: (u, p) sum of squared weights of its rows.
        present: (u, p) true if the part has rows of the cluster.
        labels: (p,) number of rows of each part, at least 1.
    """

    cell: IntArray
    share: FloatArray
    squares: FloatArray
    present: BoolArray
    labels: IntArray

    def summed(self, values: FloatArray) -> FloatArray:
        """(u, p) sums of (m,) values by cluster and part."""
        found: FloatArray = np.bincount(self.cell, values, self.share.size).astype(np.float64)
        return found.reshape(self.share.shape)


def grouped(rows: Rows, codes: IntArray) -> Grouping:
    """Group rows by a code, such as their cluster's.

    Args:
        rows: the rows.
        codes: (m,) code of each row.
    """
    ids, code = np.unique(codes, return_inverse=True)
    labels = np.maximum(np.bincount(rows.part), 1)
    shape = len(ids), len(labels)
    cell = code * len(labels) + rows.part

    def summed(values: FloatArray | None) -> FloatArray:
        found: FloatArray = np.bincount(cell, values, shape[0] * shape[1]).astype(np.float64)
        return found.reshape(shape)

    return Grouping(cell, summed(rows.share), summed(rows.share**2), summed(None) > 0, labels)


def units(rows: Rows, over: Over) -> IntArray:
    """(m,) code of what is independent: the rater if raters have several clusters each, else the cluster."""
    return rows.rater if over in (Over.RATERS, Over.RATERS_SAME_CLUSTER) else rows.cluster


def spread_of(rows: Rows, influence: FloatArray, numbers: Numbers) -> Spread | None:
    """Compute the variance of an estimate.

    Args:
        rows: the rows of its parts.
        influence: (m,) contribution of each row, in the unit of the estimate; sums to 0 over a part.
        numbers: numbers of clusters, raters and pairs among people's labels, which decide the population.

    Returns:
        The variance with degrees of freedom and population; None for one cluster of one rater.
    """
    kinds = _kinds(rows, influence, numbers)
    return combined(numbers, tuple(v for v, _ in kinds), tuple(f for _, f in kinds))


def spread_by_sources(
    rows: Rows, influence: FloatArray, numbers: Numbers, of_people: BoolArray
) -> Spread | None:
    """Compute the variance of an estimate, and the degrees of freedom of a sum of several sources of error.

    The sources are the units (conversations, raters, or both) about which people said anything, and those
    about which only the judge did; if contexts and raters cross, each of the two (`intervals.crossed`).

    Args:
        rows: the rows of its parts.
        influence: (m,) contribution of each row, in the unit of the estimate; sums to 0 over a part.
        numbers: numbers of clusters, raters and pairs among people's labels, which decide the population.
        of_people: (m,) true for rows of people.

    Returns:
        The variance with degrees of freedom and population; None for one cluster of one rater.
    """
    over = numbers.over
    if over is None:
        return None
    if over is Over.BOTH:
        people = np.isin(rows.cluster, rows.cluster[of_people]) | np.isin(rows.rater, rows.rater[of_people])
    else:
        unit = units(rows, over)
        people = np.isin(unit, unit[of_people])
    variance, freedom = _joined(rows, influence, numbers)
    if not people.all() and influence[~people].any():
        sources = [_joined(rows.only(each), influence[each], numbers) for each in (people, ~people)]
        freedom = together(sources)[1]
    return Spread(variance, freedom, over)


def _joined(rows: Rows, influence: FloatArray, numbers: Numbers) -> tuple[float, float]:
    """Variance and degrees of freedom over what the population needs."""
    kinds = _kinds(rows, influence, numbers, without_bias=True)
    if numbers.over is Over.BOTH:
        return crossed(tuple(v for v, _ in kinds), tuple(f for _, f in kinds))
    return kinds[1 if numbers.over in (Over.RATERS, Over.RATERS_SAME_CLUSTER) else 0]


def _kinds(
    rows: Rows, influence: FloatArray, numbers: Numbers, *, without_bias: bool = False
) -> list[tuple[float, float]]:
    """Variance and degrees of freedom over clusters, raters and pairs; zeros where they are not needed."""
    over = numbers.over
    needed = (
        over not in (Over.RATERS, Over.RATERS_SAME_CLUSTER),
        over in (Over.RATERS, Over.RATERS_SAME_CLUSTER, Over.BOTH),
        over is Over.BOTH,
    )
    names = ("by_cluster", "by_rater", "by_pair")
    return [
        _over(getattr(rows, name), rows, influence, without_bias) if is_needed else (0.0, 0.0)
        for name, is_needed in zip(names, needed, strict=True)
    ]


def variance_over_items(rows: Rows, influence: FloatArray, numbers: Numbers) -> float:
    """Variance over conversations or contexts, even if the interval is over raters.

    If all labels are of one conversation, it is the variance over raters.
    It rests on more clusters than a variance over few raters, so it compares two estimates more reliably.
    """
    grouping = rows.by_cluster if numbers.clusters > 1 else rows.by_rater
    return _over(grouping, rows, influence)[0]


def p_of(value: float, spread: Spread) -> float:
    """Two-sided p-value of "the true value is 0" for an estimate with this variance."""
    return two_sided_p(value, math.sqrt(spread.variance), spread.freedom)


def p_drawn_alike(
    rows: Rows, gaps: Iterable[tuple[float, FloatArray]], numbers: Numbers, noun: str
) -> float | Undefined:
    """p-value of "the judge labels people's items like the others", by t tests with Bonferroni's correction.

    Args:
        rows: the rows of an estimate's parts.
        gaps: difference of the judge's labels of people's items from its other ones, with the (m,) influence
            of each row on it.
        numbers: as for `spread_of`.
        noun: plural of what is labelled, for the reason.
    """
    found = []
    for gap, influence in gaps:
        spread = spread_of(rows, influence, numbers) if influence.any() else None
        if spread is not None and spread.variance > 0 and spread.freedom > 0:
            found.append(p_of(gap, spread))
    if not found:
        return Undefined(f"The judge's labels show no spread, or there are none on people's or other {noun}.")
    return min(1.0, len(found) * min(found))


def independent(rows: Rows, influence: FloatArray) -> float:
    """Variance of the estimate if all labels were independent."""
    labels = np.bincount(rows.part)[rows.part]
    return float((influence**2 * labels / np.maximum(labels - 1, 1)).sum())


def _over(
    grouping: Grouping, rows: Rows, influence: FloatArray, without_bias: bool = False
) -> tuple[float, float]:
    """Variance and degrees of freedom over clusters of one kind."""
    labels = grouping.labels
    sums = grouping.summed(influence) / np.sqrt(np.maximum(1 - grouping.share, 1 / labels))
    of_independent = np.bincount(rows.part, influence**2) * labels / np.maximum(labels - 1, 1)
    total = sums.sum(axis=1)
    return dot(total, total), _freedom(grouping, sums, of_independent, rows.is_drawn, without_bias)


def _freedom(
    grouping: Grouping, sums: FloatArray, of_independent: FloatArray, is_drawn: bool, without_bias: bool
) -> float:
    """Degrees of freedom of Σ (sum over parts)², by groups of clusters that are in the same parts.

    Welch's formula squares estimated variances, whose squares are too large on average, so it gives too few
    degrees of freedom for few clusters: with f + 2 in place of f, less 2 in the end, its numerator and
    denominator have the right expectations (Welch 1947, Biometrika 34; Satterthwaite 1946).

    Args:
        grouping: the rows by cluster.
        sums: (u, p) corrected sums of influences by cluster and part.
        of_independent: (p,) variance of each part if its rows were independent.
        is_drawn: as in `Rows`.
        without_bias: true for f + 2.
    """
    share, squares, present = grouping.share, grouping.squares, grouping.present
    variance = (sums**2).sum(axis=0)
    # A part with one cluster has no spread of its own; what rounding leaves of it does not count.
    counts = np.flatnonzero((variance > _ROUNDING * variance.sum()) & (present.sum(axis=0) > 1))
    if not counts.size:
        return float(max(present.any(axis=1).sum() - 1, 0))
    working, corrected, freedoms = np.zeros(len(sums)), np.ones((len(sums), len(counts))), []
    for column, p in enumerate(counts):
        there = present[:, p]
        expected = _expected(share[there, p], squares[there, p], variance[p], of_independent[p])
        if is_drawn:
            expected = _as_drawn(expected, sums[there, p] ** 2)
        freedom = satterthwaite(share[there, p], expected)
        freedoms.append(freedom)
        corrected[there, column] = freedom * (expected**2).sum() / expected.sum() ** 2
        working[there] += variance[p] * expected / expected.sum()
    _, group = np.unique(present[:, counts] @ (2.0 ** np.arange(len(counts))), return_inverse=True)
    of_group = np.bincount(group, sums.sum(axis=1) ** 2)
    effective = np.bincount(group, working) ** 2 / np.maximum(np.bincount(group, working**2), 1e-300)
    least = np.ones(len(of_group))
    np.minimum.at(least, group, corrected.min(axis=1))
    inhabited = effective > 0
    more = 2.0 if without_bias else 0.0
    noise = float((of_group[inhabited] ** 2 / ((effective * least)[inhabited] + more)).sum())
    bounds = min(freedoms), sum(freedoms)
    return float(np.clip(of_group.sum() ** 2 / noise - more, *bounds)) if noise > 0 else bounds[0]


def _as_drawn(expected: FloatArray, squares: FloatArray) -> FloatArray:
    """Variance of each cluster's sum where items were drawn by a judge's uncertainty.

    If people's labels vary alike about all items, an item with a large weight has a large part in the
    variance, and the degrees of freedom are few. If they vary as the judge is uncertain, the draw makes all
    parts equal. The mixture of both is fitted to the squared sums by least squares.

    Args:
        expected: (k,) variances in the first case, up to a factor.
        squares: (k,) squared sums, whose mean is above 0.
    """
    apart, found = expected / expected.mean() - 1, squares / squares.mean() - 1
    spread = dot(apart, apart)
    alike = 1.0 if spread == 0 else float(np.clip(dot(apart, found) / spread, 0, 1))
    fitted: FloatArray = 1 + alike * apart
    return fitted


def _expected(share: FloatArray, squares: FloatArray, variance: float, of_independent: float) -> FloatArray:
    """Variance of each cluster's sum, up to a factor: rows are correlated as the design effect implies."""
    typical = float((share**2).sum() / squares.sum())
    correlation = 0.0
    if typical > 1 + 1e-9 and of_independent > 0:
        correlation = float(np.clip((variance / of_independent - 1) / (typical - 1), 0, 1))
    return squares + correlation * share**2
