"""Intervals of ranks: which places each system can hold, with all places right at once.

A rank is a count of differences, so it is known as well as these are. For every ordered pair it is tested
whether the one is better than the other, with one critical value for all pairs: the quantile of the largest
studentized difference, in steps down (Romano & Wolf 2005). A system is below all that are clearly better, and
above all that are clearly worse (Mogstad, Romano, Shaikh & Wilhelm 2024, Review of Economic Studies 91(1)).
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.labels import BoolArray, FloatArray

MOST_SYSTEMS = 60
DRAWS = 20_000
# Fixed, so that the same scores always give the same ranks.
SEED = 20_240_131
_CHUNK = 1_000


@dataclass(frozen=True, slots=True)
class RankInterval:
    """The best and the worst rank that a system can have; 1 is the best."""

    best: int
    worst: int


def rank_intervals(
    values: Sequence[float], covariance: ArrayLike, *, level: float = LEVEL, draws: int = DRAWS
) -> list[RankInterval]:
    """Ranks of systems, of which all hold at once with this probability.

    Args:
        values: (p,) estimated scores, in any unit; higher is better.
        covariance: (p, p) their covariance, in the unit's square.
        level: probability that every interval has the true rank, in (0, 1).
        draws: number of draws for the critical value.

    Raises:
        ValueError: the shapes do not fit, a number is not finite, or there are more than 60 systems.
    """
    scores, spread = np.asarray(values, dtype=np.float64), np.asarray(covariance, dtype=np.float64)
    _check(scores, spread, level)
    better = _clearly_better(scores, spread, level, draws)
    worse_than, better_than = better.sum(axis=0), better.sum(axis=1)
    return [
        RankInterval(1 + int(above), len(scores) - int(below))
        for above, below in zip(worse_than, better_than, strict=True)
    ]


def _check(scores: FloatArray, spread: FloatArray, level: float) -> None:
    p = len(scores)
    if spread.shape != (p, p):
        raise ValueError(f"{p} scores need a covariance of {p} rows and columns, and it has {spread.shape}.")
    if p > MOST_SYSTEMS:
        raise ValueError(f"Ranks of at most {MOST_SYSTEMS} systems are computed, and there are {p}.")
    if not (np.isfinite(scores).all() and np.isfinite(spread).all()):
        raise ValueError("A score or a covariance is not a finite number. Leave out systems without a score.")
    if not 0 < level < 1:
        raise ValueError(f"The level is a probability between 0 and 1, and {level} is not.")


def _clearly_better(scores: FloatArray, spread: FloatArray, level: float, draws: int) -> BoolArray:
    """(p, p) whether the system of the row is clearly better than that of the column."""
    difference = scores[:, None] - scores[None, :]
    variance = np.diag(spread)[:, None] + np.diag(spread)[None, :] - 2 * spread
    error = np.sqrt(np.maximum(variance, 0))
    is_exact = error < 1e-12
    better = is_exact & (difference > 1e-12)
    studentized = np.where(is_exact, -np.inf, difference / np.where(is_exact, 1, error))
    open_pairs = ~is_exact
    drawn = _draw(spread, draws)
    while open_pairs.any():
        rejected = open_pairs & (studentized > _critical(drawn, error, open_pairs, level))
        if not rejected.any():
            break
        better |= rejected
        open_pairs = open_pairs & ~rejected
    return better


def _draw(spread: FloatArray, draws: int) -> FloatArray:
    """(draws, p) errors of the scores."""
    roots, directions = np.linalg.eigh((spread + spread.T) / 2)
    standard = np.random.default_rng(SEED).standard_normal((draws, len(roots)))
    return np.asarray(standard @ (directions * np.sqrt(np.maximum(roots, 0))).T)


def _critical(drawn: FloatArray, error: FloatArray, pairs: BoolArray, level: float) -> float:
    """Quantile of the largest studentized difference among these pairs."""
    first, second = np.nonzero(pairs)
    scale = error[pairs]
    largest = [
        ((part[:, first] - part[:, second]) / scale).max(axis=1)
        for part in np.array_split(drawn, max(1, len(drawn) // _CHUNK))
    ]
    return float(np.quantile(np.concatenate(largest), level))
