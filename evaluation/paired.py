"""Differences of means over raters who gave one score to each of two things. Pure.

Source: Student 1908, Biometrika 6(1), the paired t test; it needs no equal variances, and is exact for normal
differences.
"""

from dataclasses import dataclass

import numpy as np
import scipy
from numpy.typing import ArrayLike

from evaluation.inference import t
from evaluation.interval import Interval, Undefined


@dataclass(frozen=True, slots=True)
class Paired:
    """A mean of differences with its test.

    Attributes:
        difference: mean of first minus second.
        interval: Student's, of the difference.
        p: two-sided p-value of a mean of 0.
        raters: how many gave both.
    """

    difference: float
    interval: Interval
    p: float
    raters: int


def paired(first: ArrayLike, second: ArrayLike, *, level: float) -> Paired | Undefined:
    """How far first is above second within raters.

    Args:
        first: (n,) a score of each rater; NaN: none.
        second: (n,) another of the same raters.
        level: of the interval.

    Returns:
        The difference; `Undefined` if fewer than two raters gave both, or all differ by the same.
    """
    apart = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    known = apart[~np.isnan(apart)]
    n = len(known)
    if n < 2:
        return Undefined(f"Raters who judged both: {n}; a paired difference needs 2.")
    difference, error = float(known.mean()), float(known.std(ddof=1)) / n**0.5
    if error <= 1e-12 * max(1.0, abs(difference)):
        return Undefined(f"All {n} raters differ by the same, so nothing can be told from chance.")
    half = t(n - 1, level) * error
    p = 2 * float(scipy.special.stdtr(n - 1, -abs(difference) / error))
    return Paired(difference, Interval(difference - half, difference + half, level, "t"), p, n)
