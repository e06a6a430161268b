"""Perplexity: how many equally likely tokens the model hesitates between, on average."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from chatbots.meena.model import PADDING
from chatbots.meena.training.batching import Batch


class Perplexity(NamedTuple):
    """A measured perplexity.

    Attributes:
        value: exp of the mean negative log-likelihood per token, at least 1.
        tokens: how many it averages over.
    """

    value: float
    tokens: int


def negative_log_likelihood(scores: Tensor, targets: Tensor) -> Tensor:
    """Sum over all targets that are not padding, in nats, computed in float32.

    Args:
        scores: before softmax, (n, t, v).
        targets: tokens, (n, t).
    """
    flat = scores.float().flatten(0, 1)
    return cross_entropy(flat, targets.flatten(), ignore_index=PADDING, reduction="sum")


@torch.no_grad()
def perplexity(model: nn.Module, batches: Iterable[Batch], device: torch.device) -> Perplexity:
    """Per-token perplexity of responses given their contexts, the end token counted, dropout off.

    Args:
        model: a `Meena`; it is set back to training if it was.
        batches: held-out pairs.
        device: where the model is.

    Raises:
        ValueError: there is no token to measure.
    """
    was_training = model.training
    model.eval()
    total, tokens = 0.0, 0
    for batch in (batch.to(device) for batch in batches):
        total += float(negative_log_likelihood(model(batch.contexts, batch.inputs), batch.targets))
        tokens += batch.tokens
    model.train(was_training)
    if not tokens:
        raise ValueError("There is no held-out pair to measure perplexity on. Build the corpus with --heldout.")
    return Perplexity(math.exp(total / tokens), tokens)
