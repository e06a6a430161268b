"""Perplexity of turns, and the log-likelihood of each."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from tqdm import tqdm

from chatbots.knowledge.batching import Batch
from chatbots.knowledge.model import TopicalChatModel
from chatbots.training.vocabulary import PADDING

MOST_NATS = 700.0
"""Of which a float can hold the exponential."""


class Perplexity(NamedTuple):
    """A measured perplexity.

    Attributes:
        value: exp of the mean negative log-likelihood per word, ends included.
        words: how many it averages over.
    """

    value: float
    words: int


def nats(model: TopicalChatModel, batch: Batch) -> Tensor:
    """Negative log-likelihood of each turn, (n,), in nats, ends included.

    Only the words that are there are scored: half of a batch is padding, and scores are most of the work.

    Args:
        model: on the batch's device.
        batch: n turns.
    """
    vectors = model.write(batch.inputs, *model.read(batch.histories, batch.knowledge))
    there = batch.targets != PADDING
    of_words = cross_entropy(model.scores(vectors[there]), batch.targets[there], reduction="none")
    return torch.zeros(there.shape, device=of_words.device).masked_scatter(there, of_words).sum(dim=1)


@torch.no_grad()
def likelihoods(model: TopicalChatModel, batches: Iterable[Batch]) -> Iterator[tuple[float, int]]:
    """Of each turn its log-likelihood in nats and its words, ends included, dropout off.

    Args:
        model: set back to training if it was.
        batches: turns, on any device.
    """
    device = model.embedding.weight.device
    was_training = model.training
    model.eval()
    for batch in tqdm(batches, desc="perplexity", unit=" batches", disable=None, leave=False):
        there = batch.to(device)
        words = (there.targets != PADDING).sum(dim=1).tolist()
        yield from zip((-nats(model, there)).tolist(), words, strict=True)
    model.train(was_training)


def perplexity(model: TopicalChatModel, batches: Iterable[Batch]) -> Perplexity:
    """Per-word perplexity of turns.

    Raises:
        ValueError: there is no word to measure, or the model gives no likelihoods.
    """
    return summed(likelihoods(model, batches))


def summed(of_turns: Iterable[tuple[float, int]]) -> Perplexity:
    """The perplexity of turns with these log-likelihoods and words.

    Raises:
        ValueError: there is no word, or the likelihoods are none.
    """
    total, words = 0.0, 0
    for likelihood, length in of_turns:
        total -= likelihood
        words += length
    if not words:
        raise ValueError("There is no turn to measure perplexity on. Build the corpus with more.")
    if not total / words < MOST_NATS:
        raise ValueError(
            f"The mean negative log-likelihood is {total / words:g} nats per word: these weights have no "
            "perplexity. Use an older checkpoint."
        )
    return Perplexity(math.exp(total / words), words)
