"""Which items people should label next: drawn by the judge's uncertainty, with known probabilities.

Source: Zrnic & Candès 2024, Active Statistical Inference, arXiv:2403.03208.
"""

import numpy as np
from numpy.random import Generator

from evaluation.statistics.labels import FloatArray, IntArray

EVEN = 0.3
"""Share of the draw that is even. It bounds the weight of an item about which the judge is wrongly sure."""


def probabilities(uncertainty: FloatArray, items: float, *, even: float = EVEN) -> FloatArray:
    """Probability of each item to be drawn for people, in proportion to the judge's uncertainty.

    Args:
        uncertainty: (N,) expected size of the judge's error on each item, from 0 up: for a probability p of
            yes, √(p (1 - p)). Only the ratios matter.
        items: expected number of items to draw, above 0 and at most N.
        even: share of the draw that is even over all items, in (0, 1].

    Returns:
        (N,) probabilities in (0, 1] that sum to `items`.

    Raises:
        ValueError: an argument out of range.
    """
    size = len(uncertainty)
    if not 0 < items <= size:
        raise ValueError(f"items={items} must be above 0 and at most {size}, the number of items.")
    if not 0 < even <= 1:
        raise ValueError(f"even={even} must be above 0 and at most 1: every item needs a chance.")
    if not (np.isfinite(uncertainty) & (uncertainty >= 0)).all():
        raise ValueError("An uncertainty is negative or not finite.")
    total = float(uncertainty.sum())
    wanted = np.full(size, even / size) + (
        (1 - even) * uncertainty / total if total else np.full(size, (1 - even) / size)
    )
    certain = np.zeros(size, dtype=bool)
    while True:
        rest = wanted[~certain].sum()
        found = np.where(certain, 1.0, (items - certain.sum()) * wanted / rest if rest else 1.0)
        beyond = (found > 1) & ~certain
        if not beyond.any():
            return np.minimum(found, 1.0)
        certain |= beyond


def draw(probability: FloatArray, rng: Generator) -> IntArray:
    """Draw items with these probabilities, by systematic sampling in random order.

    The number drawn differs from the sum of the probabilities by less than 1.

    Args:
        probability: (N,) each in (0, 1].
        rng: seeded generator.

    Returns:
        Rising indices of the drawn items.

    Source: Madow 1949, Annals of Mathematical Statistics 20(3).
    """
    order = rng.permutation(len(probability))
    ends = np.cumsum(probability[order])
    start = rng.random()
    counts = np.floor(ends - start + 1)
    before = np.concatenate([[np.floor(1 - start)], counts[:-1]])
    return np.sort(order[counts > before])
