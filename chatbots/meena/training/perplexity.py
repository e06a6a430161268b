"""Perplexity: how many equally likely tokens the model hesitates between, on average."""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from chatbots.meena.corpus.reading import ReadingReport, read_trees
from chatbots.meena.corpus.shards import Shard, ShardWriter, open_shards
from chatbots.meena.model import PADDING
from chatbots.meena.tokenizer import Tokenizer
from chatbots.meena.training.batching import Batch
from chatbots.training.perplexity import evaluating, perplexity_of


class Perplexity(NamedTuple):
    """A measured perplexity.

    Attributes:
        value: exp of the mean negative log-likelihood per token, at least 1.
        tokens: number of tokens.
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
    """Measure per-token perplexity of responses given their contexts, end token included, no dropout.

    Args:
        model: a `Meena`; it is set back to training if it was.
        batches: held-out pairs.
        device: device of the model.

    Raises:
        ValueError: there is no token to measure, or the likelihoods are not finite.
    """
    total, tokens = 0.0, 0
    with evaluating(model):
        for batch in (batch.to(device) for batch in batches):
            total += float(negative_log_likelihood(model(batch.contexts, batch.inputs), batch.targets))
            tokens += batch.tokens
    none = "There is no held-out pair to measure perplexity on. Build the corpus with --heldout."
    return Perplexity(perplexity_of(total, tokens, unit="token", if_none=none), tokens)


@contextmanager
def shards_for(data: Path, tokenizer: Tokenizer) -> Iterator[list[Shard]]:
    """Open held-out pairs as shards.

    Args:
        data: a part of a corpus (`…/heldout`), or a file of JSON Lines, which is used without filters.
        tokenizer: tokenizer of the measured model.

    Raises:
        ValueError: the corpus has another tokenizer, or the data holds no pair.
    """
    if data.is_dir():
        tokenizer_path = data.parent / "tokenizer.model"
        if tokenizer_path.exists() and tokenizer_path.read_bytes() != tokenizer.model:
            raise ValueError(
                f"{data} was encoded with another tokenizer than the checkpoint's. Pass its text instead."
            )
        yield open_shards(data)
        return
    with tempfile.TemporaryDirectory() as folder:
        report = ReadingReport()
        with ShardWriter(Path(folder) / "data") as shard:
            for tree in read_trees(data, report):
                turns = tokenizer.encode([message.text for message in tree.messages])
                parents = [message.parent for message in tree.messages]
                shard.add(turns, parents, [message.context_only for message in tree.messages])
        if not shard.pairs:
            raise ValueError(
                f"{data} holds no pair: {report.malformed} of {report.lines} lines are malformed."
            )
        yield open_shards(Path(folder))
