"""Effect sizes of two systems with intervals: the odds ratio of their shares, and Cohen's d.

Both generalise to what the difference generalises to: other conversations or contexts, other raters, or both.
Sources: Woolf 1955, Annals of Human Genetics 19(4) (error of a log odds ratio, here with the variance of
each share over clusters and raters); Cohen 1988, section 2.5.1; Johnson & Welch 1940, Biometrika 31(3-4) (an
interval of a standardised mean whose error has a part for the mean and one for the standard deviation).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.statistics.compared_samples import KINDS, Gram, Pair
from evaluation.statistics.inference import Sample, t
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import FloatArray
from evaluation.statistics.variance import Clustered, Spread, combined, summed

METHOD = "log odds t"


@dataclass(frozen=True, slots=True)
class EffectSize:
    """An effect size with its interval.

    Attributes:
        value: the odds ratio, or d.
        interval: for this pair alone; `Undefined` if the difference has no error.
    """

    value: float
    interval: Interval | Undefined


def odds_ratio(pair: Pair, spread: Spread | Undefined, level: float) -> EffectSize | Undefined:
    """Odds of yes of the first system over those of the second.

    Student's t on the logarithm, with the variance of the difference of log odds: each share's part of the
    variance of the difference is divided by (share (1 - share))².

    Args:
        pair: labels of 0 and 1 of both systems.
        spread: variance of the difference, or the reason why there is none.
        level: nominal coverage, in (0, 1).

    Returns:
        `Undefined` for other labels, and if a share is 0 or 1.
    """
    if not all(sample.is_binary for sample in pair.samples):
        return Undefined("The answers are not yes or no.")
    first, second = (sample.value for sample in pair.samples)
    if {first, second} & {0.0, 1.0}:
        return Undefined("A system has yes everywhere or nowhere, so its odds are not finite.")
    ratio = first / (1 - first) / (second / (1 - second))
    if isinstance(spread, Undefined):
        return EffectSize(ratio, spread)
    of_log = pair.weighted(1 / (first * (1 - first)), 1 / (second * (1 - second)))
    factor = math.exp(t(of_log.freedom, level) * math.sqrt(of_log.variance))
    return EffectSize(ratio, Interval(ratio / factor, ratio * factor, level, METHOD))


@dataclass(frozen=True, eq=False)
class Standardiser:
    """Variances between the conversations or contexts of systems, with the uncertainty of each.

    Attributes:
        square: by system, the variance between its conversations' means; larger conversations weigh more.
        degrees: by system, its number of conversations, less 1.
        grams: by kind of cluster, the influence of labels on `square`.
    """

    square: Sequence[float]
    degrees: Sequence[int]
    grams: tuple[Gram, ...]

    @classmethod
    def of_samples(cls, samples: Sequence[Sample]) -> "Standardiser":
        """Compute these variances for all systems that are compared."""
        by_cluster = [sample.sums.by_cluster for sample in samples]
        sums = [summed(_influence(sample), sample.cluster, sample.rater) for sample in samples]
        return cls(
            [len(kind) * kind.variance for kind in by_cluster],
            [len(kind) - 1 for kind in by_cluster],
            tuple(Gram.of_sums(sums, kind) for kind in KINDS),
        )

    def effect(
        self, systems: tuple[int, int], pair: Pair, spread: Spread | Undefined, level: float
    ) -> EffectSize | Undefined:
        """Cohen's d: the difference in standard deviations between conversations.

        With the variance a of the difference in these standard deviations, and k d² that of the standard
        deviation's own error, the interval is d ± q √(a + k d²). The quantile q = t / √(1 + k t²) makes 0
        lie outside exactly if it lies outside the interval of the difference; with normal means of
        conversations of workers with one each it is close to the normal quantile, as in Johnson & Welch.

        Args:
            systems: places of both systems.
            pair: their labels.
            spread: variance of the difference, or the reason why there is none.
            level: nominal coverage, in (0, 1).
        """
        degrees = [self.degrees[system] for system in systems]
        if min(degrees) < 1:
            return Undefined("A standard deviation between conversations needs two of each system.")
        shares = (degrees[0] / sum(degrees), degrees[1] / sum(degrees))
        square = sum(share * self.square[each] for share, each in zip(shares, systems, strict=True))
        if square == 0:
            return Undefined("All conversations of a system are alike, so they show no spread.")
        d = (pair.samples[0].value - pair.samples[1].value) / math.sqrt(square)
        if isinstance(spread, Undefined):
            return EffectSize(d, spread)
        variance = self._variance(systems, pair, shares)
        of_deviation = max(variance / (2 * square) ** 2, 0.5 / sum(degrees))
        quantile = t(spread.freedom, level)
        quantile /= math.sqrt(1 + of_deviation * quantile**2)
        half = quantile * math.sqrt(spread.variance / square + of_deviation * d**2)
        return EffectSize(d, Interval(d - half, d + half, level, "t"))

    def _variance(self, systems: tuple[int, int], pair: Pair, shares: tuple[float, float]) -> float:
        """Variance of the pooled variance between conversations, over clusters, raters or both."""
        (one, other), (a, b) = systems, shares
        variances = tuple(
            a * a * float(of[one, one]) + b * b * float(of[other, other]) + 2 * a * b * float(of[one, other])
            for of in (gram.covariance for gram in self.grams)
        )
        spread = combined(pair.numbers, variances, (1.0, 1.0, 1.0))
        return 0.0 if spread is None else spread.variance


def _influence(sample: Sample) -> FloatArray:
    """(n,) influence of each label on the variance between the means of conversations; sums to 0.

    A conversation counts with its squared deviation, and a label with how far it moves its conversation.
    """
    kind: Clustered = sample.sums.by_cluster
    column = np.searchsorted(kind.ids, sample.cluster)
    weight = np.full(len(sample), 1 / len(sample)) if sample.weight is None else sample.weight
    weight = weight / weight.sum()
    means = np.bincount(column, weight * sample.values) / np.bincount(column, weight)
    k, sizes = len(kind), kind.sizes
    squares = (k * kind.sums) ** 2
    of_cluster = (squares - squares.mean()) / (k * sizes)
    pull = 2 * k * kind.sums / np.sqrt(np.maximum(1 - sizes / len(sample), 1 / len(sample)))
    influence: FloatArray = of_cluster[column] + pull[column] * weight * (sample.values - means[column])
    return influence
