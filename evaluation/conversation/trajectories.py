"""How conversations change from turn to turn, and how many are still going on.

Ghandeharioun et al. 2019, arXiv:1906.09308, figure 3, shows votes, words, sentiment and coherence by turn of
the 100 best and the 100 worst conversations.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from evaluation.labels import BoolArray, FloatArray, IntArray

LEVEL = 0.9
"""Of the bands, as in the paper."""
FEWEST = 3
"""Fewer conversations than this have no band."""


@dataclass(frozen=True, slots=True)
class Point:
    """A figure at one exchange of its conversation.

    Attributes:
        position: which exchange, from 1.
        mean: over the conversations that have a value there.
        low, high: Student's t over conversations; None of too few, or of equal ones.
        values: conversations with a value there.
        going_on: conversations that have such an exchange at all.
    """

    position: int
    mean: float
    low: float | None
    high: float | None
    values: int
    going_on: int


def trajectory(
    position: IntArray, values: FloatArray, chosen: BoolArray | None = None, level: float = LEVEL
) -> list[Point]:
    """A figure by exchange, as far as there is a value.

    Args:
        position: (n,) which exchange of its conversation it is, from 0; a row per conversation and exchange.
        values: (n,) the figure; NaN where there is none.
        chosen: (n,) whether the row's conversation counts; None: all do.
        level: nominal coverage of each point's band.
    """
    kept = np.ones(len(position), dtype=bool) if chosen is None else np.asarray(chosen, dtype=bool)
    position, values = position[kept], values[kept]
    known = ~np.isnan(values)
    longest = int(position.max()) + 1 if len(position) else 0
    going_on = np.bincount(position, minlength=longest)
    n = np.bincount(position[known], minlength=longest)
    sums = np.bincount(position[known], values[known], longest)
    mean = np.divide(sums, n, out=np.zeros(longest), where=n > 0)
    squares = np.bincount(position[known], (values[known] - mean[position[known]]) ** 2, longest)
    found = []
    for at in np.flatnonzero(n).tolist():
        count, middle, half = int(n[at]), float(mean[at]), None
        if count >= FEWEST and squares[at] > 0:
            half = float(
                scipy.special.stdtrit(count - 1, (1 + level) / 2) * np.sqrt(squares[at] / (count - 1) / count)
            )
        low, high = (None, None) if half is None else (middle - half, middle + half)
        found.append(Point(at + 1, middle, low, high, count, int(going_on[at])))
    return found


def best_and_worst(score: FloatArray, most: int = 100) -> tuple[IntArray, IntArray]:
    """The conversations with the highest and with the lowest (c,) score, none in both.

    At most half of those that have a score (it is not NaN) are on either side; of equal ones the first.
    """
    there = np.flatnonzero(~np.isnan(score))
    order = there[np.argsort(-score[there], kind="stable")]
    size = min(most, len(order) // 2)
    return np.sort(order[:size]), np.sort(order[len(order) - size :])
