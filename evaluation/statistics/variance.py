"""Variance of a statistic whose labels depend on each other: within conversations, within raters, or both.

A statistic is given by its influence values: the contributions of the labels, which sum to zero. Their sums
over clusters give the variance for any dependence within a cluster (Liang & Zeger 1986). If conversations and
raters cross, it is V(conversations) + V(raters) - V(both) (Cameron, Gelbach & Miller 2011, Journal of
Business & Economic Statistics 29(2)). If one is nested in the other, it is the variance over the coarser one.
Each sum is corrected for the share of labels that its cluster has ("CR2"), and the degrees of freedom are
Satterthwaite's (Bell & McCaffrey 2002, Survey Methodology 28(2)), so that few clusters are allowed for.
"""

from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np

from evaluation.statistics.labels import FloatArray, IntArray


class Over(StrEnum):
    """Population that an interval generalises to."""

    CLUSTERS = "clusters"
    """Other clusters and, since every rater has one cluster, other raters."""
    CLUSTERS_SAME_RATERS = "clusters with the same raters"
    """Other clusters, judged by the same raters: there is only one rater, or the raters are unknown."""
    RATERS = "raters"
    """Other raters; each has several clusters that no other rater has."""
    RATERS_SAME_CLUSTER = "raters of the same cluster"
    """Other raters of the only cluster."""
    BOTH = "clusters and raters"
    """Other clusters and other raters, which cross."""


def dot(a: FloatArray, b: FloatArray) -> float:
    """Σ a b of two (n,) vectors, equal to the last bit on every processor.

    BLAS sums in an order that depends on the processor.
    """
    return float((a * b).sum())


@dataclass(frozen=True, slots=True)
class Numbers:
    """Numbers of clusters, raters, and pairs of a cluster and a rater."""

    clusters: int
    raters: int
    pairs: int

    @property
    def over(self) -> Over | None:
        """Population that an interval can generalise to; None if there is none."""
        if self.clusters < 2 and self.raters < 2:
            return None
        if self.raters < 2:
            return Over.CLUSTERS_SAME_RATERS
        if self.clusters < 2:
            return Over.RATERS_SAME_CLUSTER
        if self.pairs == self.raters:
            return Over.CLUSTERS
        return Over.RATERS if self.pairs == self.clusters else Over.BOTH

    @property
    def independent(self) -> int:
        """Number of independent clusters of the kind that the interval generalises to."""
        if self.over is Over.BOTH:
            return min(self.clusters, self.raters)
        return self.raters if self.over in (Over.RATERS, Over.RATERS_SAME_CLUSTER) else self.clusters


@dataclass(frozen=True, slots=True)
class Spread:
    """Variance of a statistic with its degrees of freedom, and the population it generalises to."""

    variance: float
    freedom: float
    over: Over


def satterthwaite(share: FloatArray, expected: FloatArray) -> float:
    """Degrees of freedom of a sum of squared sums over clusters; k - 1 for k equal clusters.

    Args:
        share: (k,) weight of each cluster in the mean; sums to 1.
        expected: (k,) variance of each cluster's sum, up to a common factor.
    """
    v, total = expected, expected.sum()
    a = 1 / (1 - share)
    own_part, mixed = v - 2 * share * v + share**2 * total, -2 * share * v + share**2 * total
    hh, hv, vv = (a * share**2).sum(), (a * share * v).sum(), (a * v**2).sum()
    crossed = 2 * hh * vv + total**2 * hh**2 + 2 * hv**2 - 4 * total * hh * hv
    squares = (a**2 * (v**2 + 2 * v * mixed)).sum() + crossed
    return float(dot(a, own_part) ** 2 / squares)


@dataclass(frozen=True, eq=False)
class Clustered:
    """Influence values summed over clusters of one kind.

    Attributes:
        ids: (k,) codes of the clusters, rising.
        sums: (k,) sums of influence values, each divided by √(1 - share of labels).
        sizes: (k,) number of labels.
        independent: variance if labels were independent.
    """

    ids: IntArray
    sums: FloatArray
    sizes: FloatArray
    independent: float

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def variance(self) -> float:
        """Variance of the statistic over these clusters."""
        return dot(self.sums, self.sums)

    @cached_property
    def freedom(self) -> float:
        """Degrees of freedom of the variance if sums over clusters are normal; k - 1 for equal clusters.

        The sum over a cluster of n labels is taken to have a variance in proportion to n + c n², with the
        intraclass correlation c that the design effect implies.
        """
        n = self.sizes
        return satterthwaite(n / n.sum(), n + self._intraclass * n**2)

    @property
    def _intraclass(self) -> float:
        typical = dot(self.sizes, self.sizes) / float(self.sizes.sum())
        if typical <= 1 or self.independent <= 0:
            return 0.0
        return float(np.clip((self.variance / self.independent - 1) / (typical - 1), 0, 1))


@dataclass(frozen=True, eq=False)
class Sums:
    """The influence values of one statistic, summed over clusters, raters, and pairs of both."""

    by_cluster: Clustered
    by_rater: Clustered
    by_pair: Clustered

    @property
    def numbers(self) -> Numbers:
        """Numbers of clusters, raters and pairs."""
        return Numbers(len(self.by_cluster), len(self.by_rater), len(self.by_pair))


def summed(influence: FloatArray, cluster: IntArray, rater: IntArray | None) -> Sums:
    """Sum influence values by cluster, by rater, and by pair of the two.

    Args:
        influence: (n,) contribution of each label to the score, in its unit; sums to 0.
        cluster: (n,) code of the conversation or context, from 0 up and below 2³¹.
        rater: (n,) code of the rater, likewise; None: one rater.
    """
    by_cluster = clustered(influence, cluster)
    if rater is None:
        return Sums(by_cluster, clustered(influence, np.zeros_like(cluster)), by_cluster)
    return Sums(by_cluster, clustered(influence, rater), clustered(influence, cluster << 32 | rater))


def clustered(influence: FloatArray, codes: IntArray) -> Clustered:
    """Sum influence values over clusters.

    Args:
        influence: (n,) influence of each label on the statistic.
        codes: (n,) cluster of each label, from 0 up.
    """
    ids, cluster = np.unique(codes, return_inverse=True)
    sizes = np.bincount(cluster).astype(np.float64)
    n = len(influence)
    sums = np.bincount(cluster, influence) / np.sqrt(np.maximum(1 - sizes / n, 1 / n))
    independent = dot(influence, influence) * n / max(n - 1, 1)
    return Clustered(ids, sums, sizes, independent)


def spread(sums: Sums) -> Spread | None:
    """Compute the variance of a statistic over clusters, raters or both.

    Args:
        sums: influence values summed over clusters, raters and pairs of both.

    Returns:
        The variance with its degrees of freedom and population; None for one cluster of one rater.
    """
    kinds = (sums.by_cluster, sums.by_rater, sums.by_pair)
    freedom = tuple(kind.freedom if len(kind) > 1 else 0.0 for kind in kinds)
    return combined(sums.numbers, tuple(kind.variance for kind in kinds), freedom)


def combined(numbers: Numbers, variances: tuple[float, ...], freedoms: tuple[float, ...]) -> Spread | None:
    """Combine the variances over clusters, over raters and over pairs of both, in this order.

    If both cross, the result is at least the larger of the first two. With few raters who each judged nearly
    all clusters, the second lacks the variation of clusters, and the third would subtract it once more.
    """
    over = numbers.over
    if over is None:
        return None
    if over in (Over.CLUSTERS, Over.CLUSTERS_SAME_RATERS):
        return Spread(variances[0], freedoms[0], over)
    if over in (Over.RATERS, Over.RATERS_SAME_CLUSTER):
        return Spread(variances[1], freedoms[1], over)
    variance = max(variances[0] + variances[1] - variances[2], *variances[:2])
    noise = sum(v**2 / max(f, 1e-9) for v, f in zip(variances, freedoms, strict=True))
    least = min(freedoms[:2])
    return Spread(variance, max(variance**2 / noise, least) if noise > 0 else least, over)
