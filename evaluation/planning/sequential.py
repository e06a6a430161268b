"""Sequential (always-valid) intervals: they hold however often you look while a study fills.

If you look at an ordinary 95 % interval after every conversation, it excludes the truth at some moment in far
more than 5 % of studies. The confidence sequence here covers the truth at all moments together with the
stated probability, so a study may be watched, stopped early or prolonged.

Source: Waudby-Smith & Ramdas 2024, Estimating means of bounded random variables by betting, Journal of the
Royal Statistical Society B 86(1), arXiv:2010.09686, section 4.4 (hedged capital process). It holds for every
sample size, not only for large ones.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import FloatArray

_GRID = 1001
_LARGEST_STAKE = 0.5


@dataclass(frozen=True, slots=True)
class ConfidenceSequence:
    """An interval after each observation.

    Attributes:
        low: (n,) lower end after each of the n observations; never falls.
        high: (n,) upper end; never rises.
        level: probability that all n intervals hold the truth.
    """

    low: FloatArray
    high: FloatArray
    level: float

    def now(self) -> Interval | Undefined:
        """The interval after the last observation."""
        if not len(self.low):
            return Undefined("No conversation is finished yet.")
        if self.low[-1] > self.high[-1]:
            return Undefined("No single mean fits all observations: the score changed while the study ran.")
        return Interval(float(self.low[-1]), float(self.high[-1]), self.level, "always valid")


def always_valid_mean(scores: ArrayLike, level: float = LEVEL) -> ConfidenceSequence:
    """Compute the confidence sequence of the mean of conversation scores.

    Assumes that each conversation's score has the same mean given those before it (conversations arrive in
    no systematic order); scores need not be normal, nor equally spread. The mean over conversations equals
    the SSA where conversations have equally many labelled turns; otherwise each conversation counts once.

    Args:
        scores: (n,) in [0, 1], in the order of arrival, for instance SSA of each finished conversation.
        level: probability with which all intervals together hold the mean.

    Raises:
        ValueError: a score outside [0, 1], or a level that is no probability.
    """
    x = _checked(scores, "scores")
    if not 0 < level < 1:
        raise ValueError(f"level={level} is not a coverage between 0 and 1, such as 0.95.")
    alpha = 1 - level
    means = np.linspace(0, 1, _GRID)
    stakes = _stakes(x, alpha)
    up, down = np.zeros(_GRID), np.zeros(_GRID)
    possible = np.ones(_GRID, dtype=bool)
    ends = np.empty((2, len(x)))
    for t in range(len(x)):
        with np.errstate(divide="ignore"):
            for_more = np.minimum(stakes[t], _LARGEST_STAKE / means)
            for_less = np.minimum(stakes[t], _LARGEST_STAKE / (1 - means))
        up += np.log1p(for_more * (x[t] - means))
        down += np.log1p(-for_less * (x[t] - means))
        possible &= np.maximum(up, down) + np.log(0.5) < np.log(1 / alpha)
        ends[:, t] = _span(means, possible)
    return ConfidenceSequence(ends[0], ends[1], level)


def always_valid_difference(first: ArrayLike, second: ArrayLike, level: float = LEVEL) -> ConfidenceSequence:
    """Compute the confidence sequence of the mean of `first` minus the mean of `second`, in [-1, 1].

    Conversations are paired in the order of arrival: the i-th of one bot with the i-th of the other. Surplus
    conversations of the longer list wait, so both bots should fill at the same pace.

    Args:
        first: (n,) conversation scores of one bot in [0, 1], in the order of arrival.
        second: (m,) scores of the other bot.
        level: probability with which all intervals together hold the difference.

    Raises:
        ValueError: as `always_valid_mean`.
    """
    a, b = _checked(first, "first"), _checked(second, "second")
    pairs = min(len(a), len(b))
    both = always_valid_mean((a[:pairs] - b[:pairs] + 1) / 2, level)
    return ConfidenceSequence(2 * both.low - 1, 2 * both.high - 1, level)


def _checked(scores: ArrayLike, name: str) -> FloatArray:
    x = np.asarray(scores, dtype=np.float64)
    wrong = np.flatnonzero(~((x >= 0) & (x <= 1)))
    if wrong.size:
        raise ValueError(f"{name}[{wrong[0]}] is {x[wrong[0]]}; scores lie in [0, 1].")
    return x


def _stakes(x: FloatArray, alpha: float) -> FloatArray:
    """(n,) stakes, each from earlier observations only; large while the spread is small."""
    t = np.arange(1, len(x) + 1)
    mean = (0.5 + np.cumsum(x)) / (t + 1)
    variance = (0.25 + np.cumsum((x - mean) ** 2)) / (t + 1)
    before = np.concatenate([[0.25], variance[:-1]])
    stakes: FloatArray = np.sqrt(2 * np.log(2 / alpha) / (before * t * np.log1p(t)))
    return stakes


def _span(means: FloatArray, possible: np.ndarray) -> tuple[float, float]:
    """Ends of the means that are not ruled out, widened by one grid point; (1, 0) if all are ruled out."""
    inside = np.flatnonzero(possible)
    if not inside.size:
        return 1.0, 0.0
    return float(means[max(inside[0] - 1, 0)]), float(means[min(inside[-1] + 1, len(means) - 1)])
