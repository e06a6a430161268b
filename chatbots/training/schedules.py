"""How a learning rate runs. Steps are counted from 0."""

from __future__ import annotations

import math
from collections.abc import Callable

Schedule = Callable[[int], float]
"""From a step to its learning rate."""


def cosine(peak: float, warmup: int, steps: int) -> Schedule:
    """Up in a line, then down along a cosine to 0 (Loshchilov & Hutter 2017, arXiv:1608.03983, one period).

    Args:
        peak: the largest rate, above 0.
        warmup: steps until then, from 0.
        steps: at which it is 0, and stays so.
    """

    def rate(step: int) -> float:
        if step < warmup:
            return peak * (step + 1) / warmup
        done = min(1.0, (step - warmup) / max(1, steps - warmup))
        return peak * 0.5 * (1 + math.cos(math.pi * done))

    return rate
