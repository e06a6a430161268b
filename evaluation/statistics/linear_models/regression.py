"""Relation of two measures of the same bots: correlation and straight line, with intervals.

A point is one bot (or bot version), for instance its perplexity and its SSA. All intervals treat the points
as independent draws of bots and ignore the uncertainty within each point, so with few points they are wide.
Sources: Fisher 1921 (Pearson); Bonett & Wright 2000, Psychometrika 65(1) (Spearman); Fieller,
Hartley & Pearson 1957, Biometrika 44 (Kendall); Draper & Smith 1998, Applied Regression Analysis, chapter 1.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.typing import ArrayLike

from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.inference import z
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import FloatArray


@dataclass(frozen=True, slots=True)
class Correlation:
    """A correlation coefficient in [-1, 1] with its interval."""

    value: float
    interval: Interval | Undefined
    points: int


@dataclass(frozen=True, slots=True)
class Line:
    """Least-squares line y = intercept + slope · x.

    Attributes:
        slope: change of y for one unit of x.
        intercept: y at x = 0.
        slope_interval: by Student's t.
        intercept_interval: by Student's t.
        r_squared: share of the variance of y that the line explains, in [0, 1].
        r_squared_interval: from the interval of Pearson's correlation.
        residual_deviation: standard deviation of y around the line, n - 2 in the denominator.
        points: number of points n.
        mean_x: mean of x.
        spread_x: Σ (x - mean)².
        level: nominal coverage of the intervals.
    """

    slope: float
    intercept: float
    slope_interval: Interval
    intercept_interval: Interval
    r_squared: float
    r_squared_interval: Interval | Undefined
    residual_deviation: float
    points: int
    mean_x: float
    spread_x: float
    level: float

    def band(self, x: ArrayLike) -> tuple[FloatArray, FloatArray]:
        """Confidence band of the line (not of new points), for a plot.

        Args:
            x: (m,) where to compute it.

        Returns:
            Lower and upper ends, (m,) each.
        """
        at = np.asarray(x, dtype=np.float64)
        error = self.residual_deviation * np.sqrt(1 / self.points + (at - self.mean_x) ** 2 / self.spread_x)
        half = float(scipy.special.stdtrit(self.points - 2, (1 + self.level) / 2)) * error
        middle = self.intercept + self.slope * at
        return middle - half, middle + half


def pearson(x: ArrayLike, y: ArrayLike, level: float = LEVEL) -> Correlation | Undefined:
    """Pearson's correlation; interval by Fisher's z, which assumes points from a bivariate normal.

    Args:
        x: (n,) one measure.
        y: (n,) the other, in the same order.
        level: nominal coverage.

    Returns:
        The correlation, or `Undefined`: fewer than 3 points, or a measure that does not vary.

    Raises:
        ValueError: x and y of different length, or not finite.
    """
    return _correlation(x, y, level, scipy.stats.pearsonr, lambda _: 1.0, lost=3)


def spearman(x: ArrayLike, y: ArrayLike, level: float = LEVEL) -> Correlation | Undefined:
    """Spearman's rank correlation, ties at mean rank; arguments and errors as of `pearson`.

    Source: interval of Bonett & Wright 2000, Psychometrika 65(1).
    """
    return _correlation(x, y, level, scipy.stats.spearmanr, lambda value: 1 + value**2 / 2, lost=3)


def kendall(x: ArrayLike, y: ArrayLike, level: float = LEVEL) -> Correlation | Undefined:
    """Kendall's tau-b; arguments and errors as of `pearson`.

    Source: interval with the variance 0.437 / (n - 4) of Fieller, Hartley & Pearson 1957, Biometrika 44(3/4).
    """
    return _correlation(x, y, level, scipy.stats.kendalltau, lambda _: 0.437, lost=4)


def _correlation(
    x: ArrayLike,
    y: ArrayLike,
    level: float,
    coefficient: Callable[[FloatArray, FloatArray], Any],
    variance: Callable[[float], float],
    *,
    lost: int,
) -> Correlation | Undefined:
    """A correlation coefficient with an interval by Fisher's z.

    Args:
        x: (n,) one measure.
        y: (n,) the other.
        level: nominal coverage.
        coefficient: function of SciPy whose result has a `statistic`.
        variance: variance of z times n - lost, from the coefficient.
        lost: number that the variance subtracts from n.
    """
    first, second = _checked(x, y)
    reason = _too_little(first, second)
    if reason:
        return reason
    value = float(coefficient(first, second).statistic)
    return Correlation(value, _fisher(value, len(first), variance(value), lost, level), len(first))


def line(x: ArrayLike, y: ArrayLike, level: float = LEVEL) -> Line | Undefined:
    """Least-squares line through points (x, y), each (n,).

    Assumes independent residuals of equal variance around a straight line, normal for the intervals.

    Returns:
        The line, or `Undefined`: fewer than 3 points, or a measure that does not vary.

    Raises:
        ValueError: x and y of different length, or not finite.
    """
    first, second = _checked(x, y)
    reason = _too_little(first, second)
    if reason:
        return reason
    n, mean_x = len(first), float(first.mean())
    spread_x = float(((first - mean_x) ** 2).sum())
    slope = float(((first - mean_x) * second).sum()) / spread_x
    intercept = float(second.mean()) - slope * mean_x
    residuals = second - intercept - slope * first
    deviation = float(np.sqrt((residuals**2).sum() / (n - 2)))
    slope_error = deviation / np.sqrt(spread_x)
    intercept_error = deviation * np.sqrt(1 / n + mean_x**2 / spread_x)
    correlation = pearson(first, second, level)
    return Line(
        slope=slope,
        intercept=intercept,
        slope_interval=_student(slope, float(slope_error), n, level),
        intercept_interval=_student(intercept, float(intercept_error), n, level),
        r_squared=1 - float((residuals**2).sum() / ((second - second.mean()) ** 2).sum()),
        r_squared_interval=_squared(correlation),
        residual_deviation=deviation,
        points=n,
        mean_x=mean_x,
        spread_x=spread_x,
        level=level,
    )


def _checked(x: ArrayLike, y: ArrayLike) -> tuple[FloatArray, FloatArray]:
    first, second = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if first.shape != second.shape or first.ndim != 1:
        raise ValueError(
            f"The two measures have shapes {first.shape} and {second.shape}; give one pair per bot."
        )
    for name, values in (("x", first), ("y", second)):
        wrong = np.flatnonzero(~np.isfinite(values))
        if wrong.size:
            raise ValueError(
                f"{name}[{wrong[0]}] is {values[wrong[0]]}; leave out points without both measures."
            )
    return first, second


def _points(n: int) -> str:
    return f"{n} {'point' if n == 1 else 'points'}"


def _too_little(x: FloatArray, y: FloatArray) -> Undefined | None:
    if len(x) < 3:
        return Undefined(f"{_points(len(x))}; a relation needs at least 3.")
    for name, values in (("first", x), ("second", y)):
        if np.ptp(values) == 0:
            return Undefined(f"The {name} measure is {values[0]:g} at all {len(values)} points.")
    return None


def _fisher(value: float, n: int, scale: float, lost: int, level: float) -> Interval | Undefined:
    """Interval on Fisher's z scale with variance scale / (n - lost)."""
    if n <= lost:
        return Undefined(f"{_points(n)}; the interval of a correlation needs at least {lost + 1}.")
    if abs(value) > 1 - 1e-12:
        return Undefined("The points agree perfectly, so their spread is unknown.")
    half = z(level) * np.sqrt(scale / (n - lost))
    low, high = np.tanh([np.arctanh(value) - half, np.arctanh(value) + half]).tolist()
    return Interval(low, high, level, "fisher")


def _student(value: float, error: float, n: int, level: float) -> Interval:
    half = float(scipy.special.stdtrit(n - 2, (1 + level) / 2)) * error
    return Interval(value - half, value + half, level, "student")


def _squared(correlation: Correlation | Undefined) -> Interval | Undefined:
    if isinstance(correlation, Undefined):
        return correlation
    interval = correlation.interval
    if isinstance(interval, Undefined):
        return interval
    ends: Sequence[float] = sorted((interval.low**2, interval.high**2))
    return Interval(0.0 if 0 in interval else ends[0], ends[1], interval.level, interval.method)
