"""Ratings in standard deviations of their own rater, so that the strict and the lenient weigh alike. Pure."""

import numpy as np
from numpy.typing import ArrayLike

from evaluation.labels import FloatArray, IntArray, coded

FEWEST = 10
"""Ratings of a rater, below which their mean and spread are not known well (Ghandeharioun et al. 2019)."""


def normalised(scores: ArrayLike, raters: ArrayLike, *, fewest: int = FEWEST) -> FloatArray:
    """(n,) each score less the mean of its rater's, over their standard deviation.

    NaN of a rater with fewer scores, or whose scores are all alike; and where there is no score.

    Args:
        scores: (n,) numbers; NaN: none.
        raters: (n,) who gave each.
        fewest: scores that a rater needs.
    """
    values = np.asarray(scores, dtype=np.float64)
    code: IntArray = coded(np.asarray(raters))[1]
    found = np.full(len(values), np.nan)
    for rater in range(int(code.max(initial=-1)) + 1):
        rows = np.flatnonzero((code == rater) & ~np.isnan(values))
        own = values[rows]
        if len(rows) >= max(2, fewest) and np.ptp(own) > 0:
            found[rows] = (own - own.mean()) / own.std(ddof=1)
    return found
