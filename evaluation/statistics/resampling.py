"""Resamples of clusters: counts of draws with replacement, and sums over the drawn clusters.

Sources: Efron & Tibshirani 1993, An Introduction to the Bootstrap, chapter 6; Devroye 1986, Non-Uniform
Random Variate Generation, sections III.2 (tables) and XI.1.4 (Poisson counts of a given sum are multinomial).
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, TypeAlias

import numpy as np
import scipy
from numpy.random import Generator
from numpy.typing import NDArray

from evaluation.statistics.labels import FloatArray, IntArray

CountArray: TypeAlias = NDArray[np.signedinteger[Any]]

_BLOCK = 1 << 16  # weights that stay in the cache
_ROOM_FOR_COUNTS = 1 << 21  # larger blocks, since drawing has a fixed cost per kind of row
# OpenBLAS spreads larger products over threads, which doubles the work for products as thin as these.
_ROOM_OF_ONE_THREAD = 1 << 18
# NumPy's multinomial takes time for each distinct row; above about ten rows tables are faster.
_FEW = 16
_CELLS = 1 << 16
_LEFT_OVER = -1


def resampled_sums(rows: FloatArray, resamples: int, rng: Generator) -> FloatArray:
    """Draw k clusters with replacement from the k rows, for each resample, and sum them.

    Args:
        rows: (k, m) one row per cluster.
        resamples: number of resamples r.
        rng: seeded generator.

    Returns:
        (r, m) sums.
    """
    return sums_of_draws(*distinct_rows(rows), resamples, rng)


def sums_of_draws(distinct: FloatArray, counts: IntArray, resamples: int, rng: Generator) -> FloatArray:
    """Variant of `resampled_sums` for distinct rows (d, m) that occur `counts` (d,) times; k = Σ counts."""
    sums = np.empty((resamples, distinct.shape[1]))
    for start, stop in blocks(resamples, len(distinct), _ROOM_FOR_COUNTS):
        drawn = draw_counts(counts, stop - start, rng)
        for low, high in blocks(stop - start, distinct.size, _ROOM_OF_ONE_THREAD):
            sums[start + low : start + high] = drawn[low:high] @ distinct
    return sums


def distinct_rows(rows: FloatArray) -> tuple[FloatArray, IntArray]:
    """(d, m) the distinct rows of (k, m) rows, and (d,) how often each occurs, rare ones first.

    Clusters with equal rows are exchangeable, so drawing how often each distinct row occurs has the same
    distribution as drawing clusters, and 1,477 binary items with five raters have about 20 distinct rows.
    """
    code = np.zeros(len(rows), np.int64)
    for column in rows.T:
        _, code = np.unique(code * len(rows) + _ranks(column), return_inverse=True)
    _, first, counts = np.unique(code, return_index=True, return_counts=True)
    order = np.argsort(counts, kind="stable")
    return rows[first[order]], counts[order].astype(np.int64)


def _ranks(column: FloatArray) -> IntArray:
    return np.unique(column, return_inverse=True)[1].astype(np.int64, copy=False)


def draw_counts(counts: IntArray, resamples: int, rng: Generator) -> CountArray:
    """Draw how often each distinct row occurs if k = Σ counts clusters are drawn with replacement.

    The counts are multinomial. Independent Poisson counts with the sum t are multinomial counts of t draws,
    and a table gives them fast. So Poisson counts make nearly all of the k draws, and the rest are drawn one
    by one. The few resamples whose Poisson counts exceed k are drawn again.

    Args:
        counts: (d,) number of clusters with each row; equal neighbouring counts are drawn together.
        resamples: number of resamples r.
        rng: seeded generator.

    Returns:
        (r, d) whole numbers; each resample sums to k.
    """
    clusters = int(counts.sum())
    if len(counts) <= _FEW:
        return rng.multinomial(clusters, counts / clusters, size=resamples)
    expected = max(0.0, clusters - 3 * clusters**0.5)
    drawn = _poisson_counts(counts, expected / clusters, resamples, rng)
    missing = clusters - drawn.sum(axis=1)
    beyond = np.flatnonzero(missing < 0)
    drawn[beyond] = rng.multinomial(clusters, counts / clusters, size=len(beyond))
    missing[beyond] = 0
    row_of = np.repeat(np.arange(len(counts)), counts)
    cell = np.repeat(np.arange(resamples) * len(counts), missing)
    cell += row_of[rng.integers(0, clusters, len(cell))]
    np.add.at(drawn.reshape(-1), cell, drawn.dtype.type(1))
    return drawn


def _poisson_counts(counts: IntArray, rate: float, resamples: int, rng: Generator) -> CountArray:
    """(r, d) independent Poisson numbers with means rate · counts."""
    numbers = np.zeros((resamples, len(counts)), np.int32)
    if not rate:
        return numbers
    ends = [*(np.flatnonzero(np.diff(counts)) + 1).tolist(), len(counts)]
    for start, stop in zip([0, *ends], ends, strict=False):
        table, left_over = _poisson_table(rate * int(counts[start]))
        drawn = table[rng.integers(0, _CELLS, size=(resamples, stop - start), dtype=np.uint16)]
        unsure = drawn == _LEFT_OVER
        drawn[unsure] = np.searchsorted(left_over, rng.random(np.count_nonzero(unsure)))
        numbers[:, start:stop] = drawn
    return numbers


@lru_cache(maxsize=256)
def _poisson_table(mean: float) -> tuple[CountArray, FloatArray]:
    """A table of Poisson numbers to draw from evenly, and the cumulated distribution of its rounding error.

    2¹⁶ cells cannot hold every probability exactly. Cells for the rounded-off part are marked `_LEFT_OVER`
    and are drawn from a second distribution, so that both together are exact.
    """
    numbers = np.arange(int(mean + 10 * mean**0.5) + 20)  # beyond lies less than 10⁻¹⁶
    cells = np.exp(numbers * np.log(mean) - mean - scipy.special.gammaln(numbers + 1)) * _CELLS
    whole = np.floor(cells).astype(np.int64)
    table = np.full(_CELLS, _LEFT_OVER, np.min_scalar_type(-len(numbers)))
    table[: whole.sum()] = np.repeat(numbers, whole)
    rest = cells - whole
    return table, np.cumsum(rest / rest.sum())[:-1]


def blocks(resamples: int, width: int, room: int = _BLOCK) -> Iterator[tuple[int, int]]:
    """Ranges of resamples with `width` weights each that fit into `room` numbers (default: the cache)."""
    size = max(1, room // max(width, 1))
    for start in range(0, resamples, size):
        yield start, min(start + size, resamples)
