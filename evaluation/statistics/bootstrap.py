"""Cluster bootstrap of statistics that are functions of sums over clusters.

Turns of one conversation resemble each other, and so do labels of one rater. Resampling whole clusters keeps
that dependence; resampling single labels would give intervals that are far too narrow. Shares, agreement and
their differences are all functions f(Σ over clusters of a row of numbers), so a resample is a weighting of
rows, and all resamples together are one matrix product.

Sources: Efron & Tibshirani 1993, An Introduction to the Bootstrap, chapters 13 (percentile), 14 (BCa) and
12.5 (studentised); Davison & Hinkley 1997, section 3.8 (clusters).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy
from numpy.random import Generator

from evaluation.statistics.interval import Interval, Method, Undefined
from evaluation.statistics.labels import FloatArray
from evaluation.statistics.resampling import distinct_rows, resampled_sums, sums_of_draws

Statistic: TypeAlias = Callable[[FloatArray], FloatArray]
"""Maps sums (r, m) to values (r,); NaN where a resample does not define the value."""

RESAMPLES = 10_000
LEVEL = 0.95
LARGEST_UNDEFINED_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Ratio:
    """The statistic Σ weights·row / Σ row[size], with the standard error that studentising needs.

    Attributes:
        weights: (m,) weight of each column in the numerator.
        size: index of the column in the denominator.
    """

    weights: tuple[float, ...]
    size: int

    def __call__(self, sums: FloatArray) -> FloatArray:
        with np.errstate(invalid="ignore", divide="ignore"):
            value: FloatArray = sums @ np.asarray(self.weights) / sums[:, self.size]
        return value


SENSIBLENESS, SPECIFICITY, SSA = (
    Ratio((1.0, 0.0, 0.0), 2),
    Ratio((0.0, 1.0, 0.0), 2),
    Ratio((0.5, 0.5, 0.0), 2),
)
"""The three scores, on the rows of `ssa.dialogue_sums`."""


def cluster_interval(
    rows: FloatArray,
    statistic: Statistic,
    rng: Generator,
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    method: Method = "percentile",
    cluster: str = "conversation",
) -> Interval | Undefined:
    """Bootstrap interval of `statistic(Σ rows)`, resampling whole rows.

    Assumes that clusters are independent draws from what is generalised to; nothing about dependence within
    a cluster. With few clusters (below about 20) percentile intervals are too short; "studentised" holds
    its level far better there, and needs `statistic` to be a `Ratio`.

    Args:
        rows: (k, m) one row of sums per cluster.
        statistic: what to compute from the summed rows.
        rng: seeded generator; the same seed and rows give the same interval.
        resamples: at least 100.
        level: nominal coverage, in (0, 1).
        method: "percentile", "bca" (bias-corrected and accelerated) or "studentised".
        cluster: noun for a row, used in the reason if there are too few.

    Returns:
        The interval, or `Undefined`: fewer than 2 clusters, a statistic without variation between
        resamples, or one that more than 5 % of the resamples leave undefined.

    Raises:
        ValueError: arguments out of range, or "studentised" for a statistic that is no `Ratio`.
    """
    (interval,) = cluster_intervals(
        rows, [statistic], rng, resamples=resamples, level=level, method=method, cluster=cluster
    )
    return interval


def cluster_intervals(
    rows: FloatArray,
    statistics: Sequence[Statistic],
    rng: Generator,
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    method: Method = "percentile",
    cluster: str = "conversation",
) -> list[Interval | Undefined]:
    """Intervals of several statistics from the same resamples; arguments and errors as of `cluster_interval`.

    Args:
        rows: (k, m) sums of each of k independent clusters.
        statistics: functions of (r, m) sums that give (r,) values.
        rng: seeded generator.
        resamples: at least 100.
        level: nominal coverage, in (0, 1).
        method: method of bootstrap.
        cluster: the word for a cluster, for reasons.

    Returns:
        One interval per statistic, in their order; `Undefined` as in `cluster_interval`.
    """
    _check_arguments(resamples, level)
    if len(rows) < 2:
        few = Undefined(f"Only {len(rows)} {cluster}; an interval needs at least 2 independent ones.")
        return [few] * len(statistics)
    if method == "studentised":
        return _studentised(rows, statistics, rng, resamples, level)
    sums = resampled_sums(rows, resamples, rng)
    if method == "bca":
        return [bca(statistic(sums), statistic, rows, level) for statistic in statistics]
    return [percentile(statistic(sums), level) for statistic in statistics]


def percentile(draws: FloatArray, level: float = LEVEL) -> Interval | Undefined:
    """Percentile interval of resampled values.

    Args:
        draws: (r,) the statistic of each resample; a few NaN are left out.
        level: coverage in (0, 1).

    Returns:
        The interval between the quantiles (1 - level) / 2 and (1 + level) / 2; `Undefined` if too many are
        NaN.
    """
    usable = _usable(draws)
    if isinstance(usable, Undefined):
        return usable
    low, high = np.quantile(usable, _tails(level))
    return Interval(float(low), float(high), level, "percentile", len(usable))


def bca(
    draws: FloatArray, statistic: Statistic, rows: FloatArray, level: float = LEVEL
) -> Interval | Undefined:
    """Bias-corrected and accelerated interval (Efron 1987, JASA 82(397)).

    The acceleration comes from leaving out one cluster at a time; sums make that possible without a loop.

    Args:
        draws: (r,) the statistic of each resample; a few NaN are left out.
        statistic: function from (r, m) sums over clusters to (r,) values.
        rows: (k, m) sums of the clusters that were resampled.
        level: coverage in (0, 1).

    Returns:
        The interval; `Undefined` if too many draws are NaN, or all lie on one side of the estimate.
    """
    usable = _usable(draws)
    if isinstance(usable, Undefined):
        return usable
    total = rows.sum(axis=0)
    estimate = statistic(total[None])[0]
    left_out = statistic(total - rows)
    below = np.mean(usable < estimate) + 0.5 * np.mean(usable == estimate)
    if not 0 < below < 1 or not np.isfinite(left_out).all():
        return Undefined("The resamples lie on one side of the estimate, so BCa has no correction for them.")
    bias = scipy.special.ndtri(below)
    z = bias + scipy.special.ndtri(np.asarray(_tails(level)))
    adjusted = scipy.special.ndtr(bias + z / (1 - _acceleration(left_out) * z))
    low, high = np.quantile(usable, adjusted)
    return Interval(float(low), float(high), level, "bca", len(usable))


def _acceleration(left_out: FloatArray) -> float:
    deviation = left_out.mean() - left_out
    spread = float((deviation**2).sum())
    return float((deviation**3).sum()) / (6 * spread**1.5) if spread > 0 else 0.0


def _studentised(
    rows: FloatArray, statistics: Sequence[Statistic], rng: Generator, resamples: int, level: float
) -> list[Interval | Undefined]:
    distinct, counts = distinct_rows(rows)
    extended = np.hstack([_with_squares(distinct, statistic) for statistic in statistics])
    totals, drawn = counts @ extended, sums_of_draws(extended, counts, resamples, rng)
    each = range(0, extended.shape[1], _SQUARES)
    return [_from_t(totals[i : i + _SQUARES], drawn[:, i : i + _SQUARES], level) for i in each]


def _from_t(total: FloatArray, drawn: FloatArray, level: float) -> Interval | Undefined:
    """Studentised interval of a ratio, from the sums of `_with_squares`: (5,) of all, (r, 5) of resamples."""
    values, errors = _ratio_and_error(total[None])
    estimate, error = float(values[0]), float(errors[0])
    draws, draw_errors = _ratio_and_error(drawn)
    # A resample without variation has no standard error, and its t is not finite.
    with np.errstate(invalid="ignore", divide="ignore"):
        t = (draws - estimate) / draw_errors
    usable = _usable(np.where(draw_errors > 1e-12, t, np.nan))
    if isinstance(usable, Undefined):
        return usable
    low_t, high_t = np.quantile(usable, _tails(level))
    low, high = float(estimate - high_t * error), float(estimate - low_t * error)
    return Interval(low, high, level, "studentised", len(usable))


_SQUARES = 5


def _with_squares(rows: FloatArray, ratio: Statistic) -> FloatArray:
    """(k, 5) columns y, n, y², yn, n² of numerator y and denominator n: their sums give the error."""
    if not isinstance(ratio, Ratio):
        raise ValueError("method='studentised' needs a Ratio, whose error is known; use 'bca' instead.")
    y, n = rows @ np.asarray(ratio.weights), rows[:, ratio.size]
    return np.column_stack([y, n, y * y, y * n, n * n])


def _ratio_and_error(sums: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Ratio and its linearised standard error (Cochran 1977, section 6.4) from sums (r, 5).

    The factor k / (k - 1) is left out: it cancels in the t statistic.
    """
    y, n, yy, yn, nn = sums.T
    with np.errstate(invalid="ignore", divide="ignore"):
        ratio = y / n
        variance = (yy - 2 * ratio * yn + ratio**2 * nn) / n**2
    return ratio, np.sqrt(np.maximum(variance, 0))


def _usable(draws: FloatArray) -> FloatArray | Undefined:
    defined = draws[np.isfinite(draws)]
    lost = 1 - len(defined) / len(draws)
    if lost > LARGEST_UNDEFINED_SHARE:
        return Undefined(f"{lost:.0%} of the resamples do not define the statistic: too little varied data.")
    if np.ptp(defined) <= 1e-12 * max(1.0, float(np.abs(defined).max())):
        return Undefined("All resamples give the same value, so they cannot tell its uncertainty.")
    return defined


def _tails(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2


def _check_arguments(resamples: int, level: float) -> None:
    if resamples < 100:
        raise ValueError(
            f"resamples={resamples} is too few for an interval; use at least 100, better 10,000."
        )
    if not 0 < level < 1:
        raise ValueError(f"level={level} is not a coverage between 0 and 1, such as 0.95.")
