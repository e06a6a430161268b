"""Perplexity of any trained model: the mean over words or tokens, and measuring without dropout."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

from torch import nn

MOST_NATS = 700.0
"""The largest mean whose exponential a float can hold."""


def perplexity_of(nats: float, count: int, *, unit: str, if_none: str) -> float:
    """Exponential of the mean negative log-likelihood.

    Args:
        nats: negative log-likelihood of all words or tokens.
        count: their number.
        unit: "word" or "token", for the error.
        if_none: text of the error without any.

    Raises:
        ValueError: there is nothing to measure, or the likelihoods are not finite.
    """
    if not count:
        raise ValueError(if_none)
    if not nats / count < MOST_NATS:
        raise ValueError(
            f"The mean negative log-likelihood is {nats / count:g} nats per {unit}: these weights have no "
            "perplexity. Use an older checkpoint."
        )
    return math.exp(nats / count)


@contextmanager
def evaluating(model: nn.Module) -> Iterator[None]:
    """Context of evaluation mode, without dropout; restores the model's former mode."""
    was_training = model.training
    model.eval()
    try:
        yield
    finally:
        model.train(was_training)
