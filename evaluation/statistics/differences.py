"""Differences between systems for any score: one t test gives interval, p-value and sentence.

The difference is that of the two scores, each over all its labels. If both systems share contexts or raters,
the covariance of their sums is taken out of the error. So systems judged on the same contexts are compared in
pairs, and one missing context changes next to nothing. There is no resampling. Sources as in `variance`;
Welch 1947, Biometrika 34 (degrees of freedom of unlike variances); Schuirmann 1987 (equivalence); Holm 1979,
Scandinavian Journal of Statistics 6(2).
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
import scipy

from evaluation.files.writing import percent
from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.comparison import holm
from evaluation.statistics.inference import (
    NOUNS,
    Nouns,
    Sample,
    check,
    generalises,
    share_unseen,
    t,
    variance_of_score,
)
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import FloatArray
from evaluation.statistics.variance import Clustered, Numbers, Over, Spread, combined, spread


@dataclass(frozen=True, slots=True)
class Difference:
    """Difference between the scores of two systems, by a t test.

    Attributes:
        first: name of one system.
        second: name of the other.
        difference: score of the first minus score of the second, each over all its labels.
        error: standard error of the difference.
        freedom: its degrees of freedom.
        interval: interval of the difference, for this pair alone; 0 lies outside exactly if p < 1 - level.
        p: two-sided p-value of "both score the same".
        p_holm: p-value after Holm's correction over all pairs compared together.
        pairs_compared: number of these pairs.
        odds_ratio: odds of yes of the first over those of the second; `Undefined` for other scores, and at
            0 or 100 %.
        effect: the difference in standard deviations between conversations, Cohen's d of their means.
        over: what the test generalises to; None if it has none.
        clusters: number of conversations or contexts of the first, of the second, and common to both.
        raters: number of raters of the first, of the second, and common to both.
        scale: ends of the scale of the scores.
    """

    first: Hashable
    second: Hashable
    difference: float
    error: float | Undefined
    freedom: float
    interval: Interval | Undefined
    p: float | Undefined
    p_holm: float | Undefined
    pairs_compared: int
    odds_ratio: float | Undefined
    effect: float | Undefined
    over: Over | None
    clusters: tuple[int, int, int]
    raters: tuple[int, int, int]
    scale: tuple[float, float]

    def sentence(self, nouns: Nouns = NOUNS) -> str:
        """State which system leads by how much, or that there is no clear difference, with interval and p.

        Args:
            nouns: what clusters and raters are called.
        """
        if isinstance(self.interval, Undefined) or isinstance(self.p, Undefined):
            reason = self.interval.reason if isinstance(self.interval, Undefined) else ""
            return f"Whether {self.first} or {self.second} is ahead cannot be told: {reason}"
        leads = self.difference >= 0
        ahead, behind = (self.first, self.second) if leads else (self.second, self.first)
        ends = (self.interval.low, self.interval.high) if leads else (-self.interval.high, -self.interval.low)
        low, high = (self._format(end) for end in ends)
        numbers = f"{percent(self.interval.level)} interval {low} to {high}, {format_p(self.p)}"
        if self.p >= 1 - self.interval.level:
            return f"{ahead} and {behind} cannot be told apart: {self._distance} apart, {numbers}."
        sentence = f"{ahead} is ahead of {behind} by {self._distance}, {numbers}"
        if (
            isinstance(self.p_holm, float)
            and self.pairs_compared > 1
            and self.p_holm >= 1 - self.interval.level
        ):
            sentence += (
                f"; among the {self.pairs_compared} pairs compared this may be chance "
                f"(Holm-corrected {format_p(self.p_holm)})"
            )
        return sentence + "."

    def describe_basis(self, nouns: Nouns = NOUNS) -> str:
        """State in sentences what the comparison rests on and generalises to.

        Args:
            nouns: what clusters and raters are called.
        """
        common, raters = self.clusters[2], self.raters[2]
        both = [f"{common} {nouns.cluster}s"] * (common > 1) + [f"{raters} {nouns.rater}s"] * (raters > 1)
        pairing = f"Paired on {' and '.join(both)} that both have. " if both else ""
        if self.over is None or isinstance(self.interval, Undefined):
            return pairing.strip()
        fewest = Numbers(min(self.clusters[:2]), min(self.raters[:2]), 0)
        return pairing + generalises(self.over, fewest, self.interval.level, nouns)

    def equivalence(self, margin: float) -> float | Undefined:
        """p-value of "they differ by `margin` or more", by two one-sided t tests (Schuirmann 1987).

        Below 0.05 the two are equivalent within the margin: the 90 % interval lies within ± margin.

        Args:
            margin: positive, in the unit of the scores: 0.05 is 5 points of a share.

        Raises:
            ValueError: a margin that is not positive.
        """
        if not margin > 0:
            raise ValueError(
                f"margin={margin} must be positive: the largest difference that does not matter."
            )
        if isinstance(self.error, Undefined):
            return self.error
        return float(scipy.special.stdtr(self.freedom, (abs(self.difference) - margin) / self.error))

    @property
    def equal_within(self) -> float | Undefined:
        """The smallest margin within which the two are equivalent: its `equivalence` is 1 - level.

        It is the end furthest from 0 of the interval with twice that error rate, at most the scale's width.
        """
        if isinstance(self.error, Undefined):
            return self.error
        if isinstance(self.interval, Undefined):
            return self.interval
        half = float(scipy.special.stdtrit(self.freedom, self.interval.level)) * self.error
        return min(abs(self.difference) + half, self.scale[1] - self.scale[0])

    @property
    def _distance(self) -> str:
        unit = " points" if self.scale == (0, 1) else ""
        return self._format(abs(self.difference)) + unit

    def _format(self, difference: float) -> str:
        value, digits = (100 * difference, 1) if self.scale == (0, 1) else (difference, 2)
        return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "\N{MINUS SIGN}")


def format_p(p: float) -> str:
    """Format a p-value with three digits, as papers do: "p = 0.042", "p < 0.001"."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def difference(
    first: Sample, second: Sample, *, low: float = 0.0, high: float = 1.0, level: float = LEVEL
) -> Difference:
    """Compare two systems, named "first" and "second"; otherwise like `differences`."""
    return differences({"first": first, "second": second}, low=low, high=high, level=level)[0]


def differences(
    of_systems: Mapping[Hashable, Sample], *, low: float = 0.0, high: float = 1.0, level: float = LEVEL,
    nouns: Nouns = NOUNS,
) -> list[Difference]:  # fmt: skip
    """Compare every two systems by one score, with Holm's correction over all these pairs.

    Args:
        of_systems: samples by name; codes of contexts and raters mean the same in all samples, as from
            `samples`. A system without labels is left out.
        low: lower end of the scale.
        high: upper end.
        level: nominal coverage of each interval, for its pair alone.
        nouns: words for the reasons.

    Returns:
        One difference per pair, in the order of the names; none for fewer than two systems.

    Raises:
        ValueError: a level out of range, or a value outside the scale.
    """
    nonempty = {name: sample for name, sample in of_systems.items() if len(sample)}
    names, samples_of = list(nonempty), list(nonempty.values())
    if len(samples_of) < 2:
        return []
    for sample in samples_of:
        check(sample, low, high, level)
    grams = tuple(
        _gram([getattr(sample.sums, kind) for sample in samples_of])
        for kind in ("by_cluster", "by_rater", "by_pair")
    )
    hidden = [_hidden(sample, (low, high)) for sample in samples_of]
    pairs = []
    for a, b in combinations(range(len(samples_of)), 2):
        pair = _Pair(
            (samples_of[a], samples_of[b]), tuple(gram.of(a, b) for gram in grams), (hidden[a], hidden[b])
        )
        pairs.append(_tested((names[a], names[b]), pair, (low, high), level, nouns))
    return with_holm(pairs)


def with_holm(pairs: Sequence[Difference]) -> list[Difference]:
    """Set `p_holm` of the differences, corrected over all that have a p-value."""
    corrected = iter(holm([each.p for each in pairs if not isinstance(each.p, Undefined)]))
    number = sum(not isinstance(each.p, Undefined) for each in pairs)
    return [
        each
        if isinstance(each.p, Undefined)
        else replace(each, p_holm=next(corrected), pairs_compared=number)
        for each in pairs
    ]


@dataclass(frozen=True, slots=True)
class _Kind:
    """Sums of two systems over clusters of one kind, with the common clusters and the covariance."""

    first: Clustered
    second: Clustered
    common: int
    covariance: float

    @property
    def together(self) -> int:
        return len(self.first) + len(self.second) - self.common

    @property
    def numbers(self) -> tuple[int, int, int]:
        return len(self.first), len(self.second), self.common

    @property
    def variance(self) -> float:
        """Variance of the difference."""
        return max(0.0, self.first.variance + self.second.variance - 2 * self.covariance)

    @property
    def freedom(self) -> float:
        """Satterthwaite's degrees of freedom (Welch's without common clusters); 0 without spread."""
        if min(len(self.first), len(self.second)) < 2:
            return 0.0
        (a, b), c = (self.first.variance, self.second.variance), self.covariance
        f, g = self.first.freedom, self.second.freedom
        noise = a**2 / f + b**2 / g
        if self.common:
            share = self.common / math.sqrt(len(self.first) * len(self.second))
            noise += (2 * share * a * b + 4 * c**2 / share - 4 * (a + b) * c) / math.sqrt(f * g)
        least, most = min(f, g), f + g
        return min(max(self.variance**2 / noise, least), most) if noise > 0 else least


@dataclass(frozen=True, eq=False)
class _Gram:
    """Sums of all systems over clusters of one kind, with all their products."""

    kinds: Sequence[Clustered]
    covariance: FloatArray
    common: FloatArray

    def of(self, a: int, b: int) -> _Kind:
        return _Kind(self.kinds[a], self.kinds[b], int(self.common[a, b]), float(self.covariance[a, b]))


def _gram(kinds: Sequence[Clustered]) -> _Gram:
    ids, column = np.unique(np.concatenate([kind.ids for kind in kinds]), return_inverse=True)
    row = np.repeat(np.arange(len(kinds)), [len(kind) for kind in kinds])
    shape = (len(kinds), len(ids))
    sums = scipy.sparse.csr_array((np.concatenate([kind.sums for kind in kinds]), (row, column)), shape=shape)
    there = scipy.sparse.csr_array((np.ones(len(row)), (row, column)), shape=shape)
    return _Gram(kinds, (sums @ sums.T).toarray(), (there @ there.T).toarray())


@dataclass(frozen=True, eq=False)
class _Pair:
    """Two systems with their sums over clusters, over raters, and over pairs of a cluster and a rater."""

    samples: tuple[Sample, Sample]
    kinds: tuple[_Kind, ...]
    hidden: tuple[tuple[float, float], ...]

    @property
    def numbers(self) -> Numbers:
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

    def spread(self, scale: tuple[float, float]) -> Spread:
        """Variance of the difference, with the hidden variance of either system added (see `_hidden`)."""
        variances = tuple(kind.variance for kind in self.kinds)
        freedoms = tuple(kind.freedom for kind in self.kinds)
        variance_of_sum = combined(self.numbers, variances, freedoms)
        assert variance_of_sum is not None
        variance, noise = variance_of_sum.variance, variance_of_sum.variance**2 / variance_of_sum.freedom
        for hidden, freedom in self.hidden:
            variance += hidden
            noise += hidden**2 / freedom
        if variance <= 1e-12 * (scale[1] - scale[0]) ** 2:
            return self._of_equal(variance_of_sum, scale)
        return Spread(variance, variance**2 / noise, variance_of_sum.over)

    def _of_equal(self, pooled: Spread, scale: tuple[float, float]) -> Spread:
        """Spread for two systems with equal labels wherever both have some.

        At most the share `share_unseen` of clusters would show a difference.
        """
        alike = min(kind.together for kind in self.kinds[:2] if kind.together > 1)
        half = share_unseen(alike, LEVEL) * (scale[1] - scale[0])
        return Spread((half / t(alike - 1, LEVEL)) ** 2, alike - 1, pooled.over)


def _hidden(sample: Sample, scale: tuple[float, float]) -> tuple[float, float]:
    """Variance that the sums of a system's labels do not show, and its degrees of freedom."""
    of_sample = spread(sample.sums)
    if of_sample is None:
        return 0.0, 1.0
    if sample.is_alike:
        alike = sample.sums.numbers.independent
        half = share_unseen(alike, LEVEL) * max(sample.value - scale[0], scale[1] - sample.value)
        return (half / t(alike - 1, LEVEL)) ** 2, alike - 1
    return variance_of_score(of_sample, sample) - of_sample.variance, of_sample.freedom


def _tested(
    names: tuple[Hashable, Hashable], pair: _Pair, scale: tuple[float, float], level: float, nouns: Nouns
) -> Difference:
    gap = pair.samples[0].value - pair.samples[1].value
    undefined = pair.why_not(nouns)
    interval: Interval | Undefined
    error: float | Undefined
    p: float | Undefined
    if undefined:
        error, freedom, interval, p, over = undefined, 0.0, undefined, undefined, None
    else:
        variance = pair.spread(scale)
        freedom, over = variance.freedom, variance.over
        error = math.sqrt(variance.variance)
        half, width = t(freedom, level) * error, scale[1] - scale[0]
        interval = Interval(max(gap - half, -width), min(gap + half, width), level, "t")
        p = float(2 * scipy.special.stdtr(freedom, -abs(gap) / error))
    return Difference(
        *names, gap, error, freedom, interval, p, p, 1, _odds_ratio(pair.samples),
        _effect(gap, pair.kinds[0]), over, pair.kinds[0].numbers, pair.kinds[1].numbers, scale,
    )  # fmt: skip


def _odds_ratio(pair: tuple[Sample, Sample]) -> float | Undefined:
    if not all(sample.is_binary for sample in pair):
        return Undefined("The answers are not yes or no.")
    first, second = (sample.value for sample in pair)
    if {first, second} & {0.0, 1.0}:
        return Undefined("A system has yes everywhere or nowhere, so its odds are not finite.")
    return first / (1 - first) / (second / (1 - second))


def _effect(gap: float, clusters: _Kind) -> float | Undefined:
    """Cohen's d (1988, section 2.5.1) of the conversations' means; larger conversations weigh more."""
    first, second = clusters.first, clusters.second
    freedom = len(first) + len(second) - 2
    if min(len(first), len(second)) < 2:
        return Undefined("A standard deviation between conversations needs two of each system.")
    # The variance of a mean of k clusters is the variance of one cluster, divided by k.
    squares = sum((len(kind) - 1) * len(kind) * kind.variance for kind in (first, second))
    if squares == 0:
        return Undefined("All conversations of a system are alike, so they show no spread.")
    return gap / math.sqrt(squares / freedom)
