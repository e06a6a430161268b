"""Scores that are a value over a size: many of them summed, paired and divided at once.

A value and its size travel as one complex number, so that both are summed and dealt together.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evaluation.bootstrap import Ratio
from evaluation.labels import FloatArray

Pair: TypeAlias = tuple[int, int]
ComplexArray: TypeAlias = NDArray[np.complex128]


def value_and_size(rows: FloatArray, ratio: Ratio) -> FloatArray:
    """Numerator and denominator of a ratio.

    Args:
        rows: (k, m) sums of k clusters.
        ratio: which of them are added, and which counts.

    Returns:
        (k, 2) values and sizes.
    """
    return np.column_stack([rows @ np.asarray(ratio.weights), rows[:, ratio.size]])


def pack(columns: FloatArray) -> ComplexArray:
    """Complex numbers (…) of values and sizes (…, 2)."""
    return columns[..., 0] + 1j * columns[..., 1]


def score(sums: ComplexArray) -> FloatArray:
    """Value over size.

    Args:
        sums: (…) as `pack` gives them, perhaps added up.

    Returns:
        (…) ratios; NaN where the size is 0.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.real(sums) / np.imag(sums), dtype=np.float64)


def common(table: FloatArray, pairs: Sequence[Pair]) -> tuple[ComplexArray, ComplexArray]:
    """Twice (contexts, p): the first and the second bot of each of p pairs where both have labels, else 0.

    Args:
        table: (contexts, bots, 2) value and size; size 0 where a bot has no label in a context.
        pairs: indices of bots.
    """
    left, right = np.asarray(pairs).T
    of_bots = pack(table)
    both = (table[:, left, 1] > 0) & (table[:, right, 1] > 0)
    return np.where(both, of_bots[:, left], 0), np.where(both, of_bots[:, right], 0)


def weighted(weights: FloatArray, columns: ComplexArray) -> ComplexArray:
    """Sums (r, p) of rows (k, p) with real weights (r, k)."""
    return weights @ columns.real + 1j * (weights @ columns.imag)
