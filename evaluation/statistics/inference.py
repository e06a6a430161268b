"""Scores of any kind, with intervals over conversations, raters, or both, as the labels cross.

A score is the mean over labels of one number per label: a share of yes (0 and 1), an answer on a scale, or
the mean of two shares. The design of the data decides what its interval generalises to: other
conversations if every rater has one, other raters if they have several each, other contexts and other
raters if these cross (`variance`). The interval is Student's t on the logit of the scale. There is no
resampling: the same labels give the same numbers, without a seed. `differences` compares systems.
"""

import math
from collections.abc import Hashable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy
from numpy.typing import ArrayLike

from evaluation.files.writing import percent
from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import FloatArray, IntArray, LabelsError, coded
from evaluation.statistics.variance import Numbers, Over, Spread, Sums, spread, summed

FEW = 10
"""With fewer clusters of a kind than this, the sentence about an interval says how few there are."""


@dataclass(frozen=True, eq=False)
class Sample:
    """One row per label of one system.

    Attributes:
        values: (n,) number of each label; finite.
        cluster: (n,) code from 0 up of the conversation or context. The same code in another sample means the
            same context; conversations of different systems have different codes.
        rater: (n,) code from 0 up of the rater, the same in all samples; None if the rows are not of single
            raters, such as majorities.
        weight: (n,) how much each row counts, positive; None: all alike. The mean of items' means has
            1 / (labels of the item).

    Raises:
        LabelsError: columns of different length, or a value that is no finite number; names the row.
    """

    values: FloatArray
    cluster: IntArray
    rater: IntArray | None = None
    weight: FloatArray | None = None

    def __post_init__(self) -> None:
        columns = (self.values, self.cluster, self.rater, self.weight)
        lengths = [len(column) for column in columns if column is not None]
        if len(set(lengths)) > 1:
            raise LabelsError(f"The columns have {', '.join(map(str, lengths))} rows.", "values")
        wrong = np.flatnonzero(~np.isfinite(self.values))
        if wrong.size:
            raise LabelsError(f"{self.values[wrong[0]]} is not a finite number.", "values", int(wrong[0]))

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def value(self) -> float:
        """The mean."""
        return float(np.average(self.values, weights=self.weight))

    @cached_property
    def is_alike(self) -> bool:
        """True if all labels have the same value."""
        return bool(np.ptp(self.values) == 0)

    @cached_property
    def is_binary(self) -> bool:
        """True if all labels are 0 or 1."""
        return bool(((self.values == 0) | (self.values == 1)).all())

    @cached_property
    def sums(self) -> Sums:
        """Contribution of each conversation and each rater to the mean."""
        share = 1 / len(self) if self.weight is None else self.weight / self.weight.sum()
        return summed((self.values - self.value) * share, self.cluster, self.rater)


def samples(
    bot: ArrayLike,
    values: ArrayLike,
    cluster: ArrayLike,
    rater: ArrayLike | None = None,
    weight: ArrayLike | None = None,
) -> dict[Hashable, Sample]:
    """Split labels into one sample per bot, in the order of their names.

    Args:
        bot: (n,) the bot, or whatever else is scored.
        values: (n,) numbers or booleans; a row with NaN was not asked and is left out.
        cluster: (n,) conversation or context; the same value under two bots is the same context.
        rater: (n,) the rater of each label.
        weight: (n,) as in `Sample`.

    Raises:
        LabelsError: columns of different length, or an infinite value.
    """
    number = np.asarray(values, dtype=np.float64)
    (names, bots), (_, clusters) = coded(bot), coded(cluster)
    raters = None if rater is None else coded(rater)[1]
    weights = None if weight is None else np.asarray(weight, dtype=np.float64)
    lengths = {len(column) for column in (bots, clusters, number, raters, weights) if column is not None}
    if len(lengths) > 1:
        raise LabelsError(f"The columns have {', '.join(map(str, sorted(lengths)))} rows.", "values")
    order = np.argsort(bots, kind="stable")
    order = order[~np.isnan(number[order])]
    ends = np.searchsorted(bots[order], np.arange(len(names) + 1)).tolist()

    def sample(rows: IntArray) -> Sample:
        return Sample(
            number[rows],
            clusters[rows],
            None if raters is None else raters[rows],
            None if weights is None else weights[rows],
        )

    spans = zip(names.tolist(), ends, ends[1:], strict=False)
    return {name: sample(order[a:b]) for name, a, b in spans if a < b}


@dataclass(frozen=True, slots=True)
class Nouns:
    """Nouns for clusters and raters in sentences."""

    cluster: str = "conversation"
    rater: str = "worker"


NOUNS = Nouns()


@dataclass(frozen=True, slots=True)
class Estimate:
    """A score with its interval.

    Attributes:
        value: the mean, in the unit of the values.
        interval: within the scale; `method` is "logit t", "t" (without a scale) or "exact" (labels all
            alike).
        over: what the interval generalises to; None if there is no interval.
        numbers: numbers of clusters, raters, and pairs of both.
        labels: number of labels.
        freedom: degrees of freedom of Student's t; 0 if it was not used.
    """

    value: float
    interval: Interval | Undefined
    over: Over | None
    numbers: Numbers
    labels: int
    freedom: float = 0.0

    def describe_interval(self, nouns: Nouns = NOUNS) -> str:
        """State in one or two sentences what the interval generalises to and what it cannot tell."""
        if isinstance(self.interval, Undefined):
            return f"No interval: {self.interval.reason}"
        return generalises(self.over, self.numbers, self.interval.level, nouns)


def mean(
    sample: Sample, *, low: float | None = 0.0, high: float | None = 1.0, level: float = LEVEL,
    nouns: Nouns = NOUNS,
) -> Estimate | Undefined:  # fmt: skip
    """Compute the score of one system with its interval.

    Student's t on the logit of the score's position on the scale, with the variance over clusters, raters or
    both (`variance.spread`). The interval is at least half as long as for independent labels. Equal labels
    show no spread; the interval then holds every true value that would give so many equal clusters with a
    probability above (1 - level) / 2 (Clopper & Pearson 1934, each cluster counted once; valid for any
    dependence within clusters).

    Args:
        sample: the labels.
        low: lower end of the scale; None for both ends if it has none.
        high: upper end.
        level: nominal coverage, in (0, 1).
        nouns: words for the reasons.

    Raises:
        ValueError: a level out of range, or a value outside the scale.
    """
    check(sample, low, high, level)
    if not len(sample):
        return Undefined("There are no labels.")
    variance = spread(sample.sums)
    numbers, value, n = sample.sums.numbers, sample.value, len(sample)
    if variance is None:
        few = Undefined(f"All labels are of one {nouns.cluster} and one {nouns.rater}; an interval needs 2.")
        return Estimate(value, few, None, numbers, n)
    if sample.is_alike:
        interval = _of_alike(value, numbers.independent, low, high, level)
        return Estimate(value, interval, variance.over, numbers, n)
    half = t(variance.freedom, level) * math.sqrt(variance_of_score(variance, sample))
    return Estimate(
        value, interval_within(value, half, low, high, level), variance.over, numbers, n, variance.freedom
    )


def check(sample: Sample, low: float | None, high: float | None, level: float) -> None:
    """Refuse an invalid level, and values outside the scale.

    Args:
        sample: the labels whose values are checked.
        low: the lower end of the scale; None if there is none.
        high: the upper end; None if there is none.
        level: coverage, in (0, 1).

    Raises:
        ValueError: names the level, or the first value outside and the scale.
    """
    if not 0 < level < 1:
        raise ValueError(f"level={level} is not a coverage between 0 and 1, such as 0.95.")
    for end, beyond in ((low, np.less), (high, np.greater)):
        if end is not None and (outside := beyond(sample.values, end)).any():
            value = sample.values[int(np.argmax(outside))]
            raise ValueError(
                f"A value is {value:g}, but the scale is {low} to {high}; give the scale's ends."
            )


def _of_alike(
    value: float, clusters: int, low: float | None, high: float | None, level: float
) -> Interval | Undefined:
    """Interval for labels that are all equal: at most a share `other` of clusters differs."""
    if low is None or high is None:
        return Undefined("All labels are alike and the scale has no ends, so nothing tells their spread.")
    other = share_unseen(clusters, level)
    return Interval(value - other * (value - low), value + other * (high - value), level, "exact")


def share_unseen(clusters: int, level: float) -> float:
    """Upper bound of the share of clusters that differ, if none of the observed ones did.

    Args:
        clusters: number of observed clusters, at least 1.
        level: coverage of the two-sided interval whose upper end this is, in (0, 1).

    Returns:
        A share in (0, 1).

    Source: Clopper & Pearson 1934, Biometrika 26(4), with no success.
    """
    return 1 - float(((1 - level) / 2) ** (1 / clusters))


def variance_of_score(estimated: Spread, sample: Sample) -> float:
    """The variance, but at least what gives half the interval length of independent labels.

    A few clusters can agree by luck far better than their labels do.
    """
    ratio = z(LEVEL) / t(estimated.freedom, LEVEL) / 2
    return max(estimated.variance, sample.sums.by_pair.independent * ratio**2)


def variance_nearer(common: float, variance: float, value: float, scale: tuple[float, float]) -> float:
    """Variance of a score, but at least that which it would have nearer to the common score of two systems.

    A score close to an end of its scale has a small variance. So of two equal systems the one that
    is ahead by chance also looks more certain than it is, and they are told apart too often. A test of equal
    scores uses the variance at their common score (Farrington & Manning 1990, Statistics in Medicine 9(12)).
    Here it is the variance at the score within one standard error of the system's own that is nearest to the
    common one, so intervals of systems that are far apart hardly change.

    Args:
        common: score of both systems' labels together, in the unit of the values.
        variance: `variance_of_score` of one system, whose labels are not all alike.
        value: its score, between the ends of the scale.
        scale: ends of the scale; the variance is taken to follow (score - low) (high - score).

    Returns:
        The variance, at least `variance_of_score`.
    """
    error = math.sqrt(variance)
    low, high = scale
    nearer = min(max(common, value - error), value + error)
    ratio = (nearer - low) * (high - nearer) / ((value - low) * (high - value))
    return variance * max(1.0, ratio)


def t(freedom: float, level: float) -> float:
    """Quantile of Student's t for a two-sided interval.

    Args:
        freedom: degrees of freedom, above 0, not necessarily whole.
        level: coverage in (0, 1).
    """
    return float(scipy.special.stdtrit(freedom, (1 + level) / 2))


def z(level: float) -> float:
    """Quantile of the normal distribution for a two-sided interval with this coverage, in (0, 1)."""
    return float(scipy.special.ndtri((1 + level) / 2))


def two_sided_p(value: float, error: float, freedom: float) -> float:
    """Two-sided p-value of "the true value is 0", by Student's t.

    Args:
        value: the estimate.
        error: its standard error; with 0, p is 1 if the estimate is 0, and else 0.
        freedom: degrees of freedom, above 0, not necessarily whole.
    """
    if error == 0:
        return float(value == 0)
    return float(2 * scipy.special.stdtr(freedom, -abs(value) / error))


def interval_within(
    value: float, half: float, low: float | None, high: float | None, level: float
) -> Interval:
    """Interval value ± half, computed on the logit of the scale and transformed back.

    Args:
        value: the estimate, between the ends of the scale and equal to neither.
        half: half the length of the interval on the scale, from 0 up.
        low: the lower end of the scale; None if it has no ends.
        high: the upper end.
        level: coverage, which the interval records.
    """
    if low is None or high is None:
        return Interval(value - half, value + half, level, "t")
    width = high - low
    share = (value - low) / width
    logit, step = math.log(share / (1 - share)), half / width / (share * (1 - share))
    first, last = (low + width * float(scipy.special.expit(x)) for x in (logit - step, logit + step))
    return Interval(first, last, level, "logit t")


def generalises(over: Over | None, numbers: Numbers, level: float, nouns: Nouns = NOUNS) -> str:
    """State in sentences what an interval generalises to, with a caution if it rests on few clusters.

    Args:
        over: what the interval generalises to; None if to nothing.
        numbers: number of clusters and raters.
        level: coverage in (0, 1).
        nouns: what clusters and raters are called.
    """
    cluster, rater = f"{nouns.cluster}s", f"{nouns.rater}s"
    to = {
        Over.CLUSTERS: f"other {cluster} with other {rater}",
        Over.CLUSTERS_SAME_RATERS: (
            f"other {cluster} with the same {rater}; what other {rater} would say is not known"
        ),
        Over.RATERS: f"other {rater}, each with {cluster} of their own",
        Over.RATERS_SAME_CLUSTER: f"other {rater} of this one {nouns.cluster}; how others go is not known",
        Over.BOTH: f"other {cluster} and other {rater}",
        None: "nothing beyond these labels",
    }[over]
    sentence = f"{percent(level)} interval for {to}."
    few = [
        f"{number} {noun if number > 1 else noun[:-1]}"
        for number, noun, counts in (
            (numbers.clusters, cluster, over is not Over.RATERS),
            (numbers.raters, rater, over in (Over.RATERS, Over.RATERS_SAME_CLUSTER, Over.BOTH)),
        )
        if counts and number < FEW
    ]
    if few and over is not None:
        sentence += f" It rests on only {' and '.join(few)}: so few show little of how others differ."
    return sentence
