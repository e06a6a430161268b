"""Variance of a weighted difference of two systems' scores, which may share contexts or raters.

`differences` uses it with weights of 1, `effect_sizes` with the slopes of the log odds. Sources as in
`variance`; Welch 1947, Biometrika 34 (degrees of freedom of unlike variances).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy

from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.inference import (
    Nouns,
    Sample,
    share_unseen,
    t,
    variance_nearer,
    variance_of_score,
)
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import FloatArray
from evaluation.statistics.variance import Clustered, Numbers, Over, Spread, Sums, combined, spread

KINDS = ("by_cluster", "by_rater", "by_pair")


@dataclass(frozen=True, slots=True)
class Kind:
    """Sums of two systems over clusters of one kind, with the common clusters and the covariance.

    Attributes:
        first: sums of one system.
        second: sums of the other.
        common: number of clusters that both have.
        covariance: covariance of the two scores.
        weights: weight of each score in the difference, above 0.
    """

    first: Clustered
    second: Clustered
    common: int
    covariance: float
    weights: tuple[float, float] = (1.0, 1.0)

    @property
    def together(self) -> int:
        """Number of clusters of both systems."""
        return len(self.first) + len(self.second) - self.common

    @property
    def numbers(self) -> tuple[int, int, int]:
        """Numbers of clusters of the first, of the second, and of both."""
        return len(self.first), len(self.second), self.common

    @property
    def _parts(self) -> tuple[float, float, float]:
        """Variances of the two weighted scores, and their covariance."""
        a, b = self.weights
        return a * a * self.first.variance, b * b * self.second.variance, a * b * self.covariance

    @property
    def variance(self) -> float:
        """Variance of the weighted difference."""
        a, b, c = self._parts
        return max(0.0, a + b - 2 * c)

    @property
    def freedom(self) -> float:
        """Satterthwaite's degrees of freedom (Welch's without common clusters); 0 without spread."""
        if min(len(self.first), len(self.second)) < 2:
            return 0.0
        a, b, c = self._parts
        f, g = self.first.freedom, self.second.freedom
        noise = a**2 / f + b**2 / g
        if self.common:
            share = self.common / math.sqrt(len(self.first) * len(self.second))
            noise += (2 * share * a * b + 4 * c**2 / share - 4 * (a + b) * c) / math.sqrt(f * g)
        least, most = min(f, g), f + g
        return min(max(self.variance**2 / noise, least), most) if noise > 0 else least


@dataclass(frozen=True, eq=False)
class Gram:
    """Sums of all systems over clusters of one kind, with all their products.

    Attributes:
        kinds: by system, its sums.
        covariance: (systems, systems) covariances of the scores.
        common: (systems, systems) numbers of common clusters.
    """

    kinds: Sequence[Clustered]
    covariance: FloatArray
    common: FloatArray

    @classmethod
    def of_sums(cls, sums: Sequence[Sums], kind: str) -> "Gram":
        """Multiply the sums of every two systems over clusters of one of `KINDS`."""
        kinds: list[Clustered] = [getattr(each, kind) for each in sums]
        ids, column = np.unique(np.concatenate([each.ids for each in kinds]), return_inverse=True)
        row = np.repeat(np.arange(len(kinds)), [len(each) for each in kinds])
        shape = (len(kinds), len(ids))
        values = np.concatenate([each.sums for each in kinds])
        products = scipy.sparse.csr_array((values, (row, column)), shape=shape)
        there = scipy.sparse.csr_array((np.ones(len(row)), (row, column)), shape=shape)
        return cls(kinds, (products @ products.T).toarray(), (there @ there.T).toarray())

    def of(self, a: int, b: int) -> Kind:
        """Sums of two systems, by their places in `kinds`."""
        return Kind(self.kinds[a], self.kinds[b], int(self.common[a, b]), float(self.covariance[a, b]))


@dataclass(frozen=True, slots=True)
class Hidden:
    """Variance of a system's score that its sums do not show.

    Attributes:
        variance: the hidden part.
        freedom: its degrees of freedom.
        of_score: variance of the score; 0 if all its labels are alike.
    """

    variance: float
    freedom: float
    of_score: float


def hidden(sample: Sample, scale: tuple[float, float]) -> Hidden:
    """Estimate the variance that a system's sums do not show, as where all its labels are alike."""
    of_sample = spread(sample.sums)
    if of_sample is None:
        return Hidden(0.0, 1.0, 0.0)
    if sample.is_alike:
        alike = sample.sums.numbers.independent
        half = share_unseen(alike, LEVEL) * max(sample.value - scale[0], scale[1] - sample.value)
        return Hidden((half / t(alike - 1, LEVEL)) ** 2, alike - 1, 0.0)
    variance = variance_of_score(of_sample, sample)
    return Hidden(variance - of_sample.variance, of_sample.freedom, variance)


@dataclass(frozen=True, eq=False)
class Pair:
    """Two systems with their sums over clusters, over raters, and over pairs of a cluster and a rater.

    Attributes:
        samples: the labels of both.
        kinds: sums over each of `KINDS`.
        hidden: variance of either that the sums do not show.
        scale: ends of the scale of the scores.
    """

    samples: tuple[Sample, Sample]
    kinds: tuple[Kind, ...]
    hidden: tuple[Hidden, Hidden]
    scale: tuple[float, float]

    @cached_property
    def numbers(self) -> Numbers:
        """Numbers of clusters, raters and pairs of both systems together."""
        return Numbers(*(kind.together for kind in self.kinds))

    def why_not(self, nouns: Nouns) -> Undefined | None:
        """The reason why the difference has no standard error; None if it has one."""
        over = self.numbers.over
        by_cluster, by_rater, _ = self.kinds
        few = [min(kind.numbers[:2]) for kind in (by_cluster, by_rater)]
        if few[0] < 2 and over not in (Over.RATERS, Over.RATERS_SAME_CLUSTER):
            a, b, _ = by_cluster.numbers
            return Undefined(f"{a} and {b} {nouns.cluster}s; a comparison needs 2 of each system.")
        if few[1] < 2 and over not in (Over.CLUSTERS, Over.CLUSTERS_SAME_RATERS):
            return Undefined(
                f"All labels of one system are one {nouns.rater}'s, so the system cannot be told from the "
                f"{nouns.rater}; a comparison needs 2 {nouns.rater}s of each, or one and the same for both."
            )
        return None

    def spread(self) -> Spread:
        """Variance of the difference of the two scores."""
        found = self.weighted(1.0, 1.0)
        shares_apart = not self.kinds[0].common and all(sample.is_binary for sample in self.samples)
        factor = self._at_common_score() if shares_apart else 1.0
        return Spread(factor * found.variance, found.freedom, found.over)

    def weighted(self, first: float, second: float) -> Spread:
        """Variance of first x one score - second x the other, with the hidden variance of either.

        Args:
            first: weight of the first score, above 0.
            second: weight of the second.
        """
        kinds = [replace(kind, weights=(first, second)) for kind in self.kinds]
        variances = tuple(kind.variance for kind in kinds)
        freedoms = tuple(kind.freedom for kind in kinds)
        variance_of_sum = combined(self.numbers, variances, freedoms)
        assert variance_of_sum is not None
        variance, noise = variance_of_sum.variance, variance_of_sum.variance**2 / variance_of_sum.freedom
        for weight, each in zip((first, second), self.hidden, strict=True):
            variance += weight**2 * each.variance
            noise += (weight**2 * each.variance) ** 2 / each.freedom
        if variance <= 1e-12 * (self.scale[1] - self.scale[0]) ** 2 * first * second:
            return self._of_equal(variance_of_sum, first * second)
        return Spread(variance, variance**2 / noise, variance_of_sum.over)

    def _at_common_score(self) -> float:
        """Factor, at least 1, by which `variance_nearer` enlarges the variance of a difference of shares."""
        values = [sample.value for sample in self.samples]
        common = float(np.average(values, weights=[len(sample) for sample in self.samples]))
        of_scores = [each.of_score for each in self.hidden]
        known = [(own, value) for own, value in zip(of_scores, values, strict=True) if own]
        nearer = sum(variance_nearer(common, own, value, self.scale) for own, value in known)
        return nearer / sum(own for own, _ in known) if known else 1.0

    def _of_equal(self, pooled: Spread, weight: float) -> Spread:
        """Spread for two systems with equal labels wherever both have some.

        At most the share `share_unseen` of clusters would show a difference.
        """
        alike = min(kind.together for kind in self.kinds[:2] if kind.together > 1)
        half = share_unseen(alike, LEVEL) * (self.scale[1] - self.scale[0])
        return Spread(weight * (half / t(alike - 1, LEVEL)) ** 2, alike - 1, pooled.over)
