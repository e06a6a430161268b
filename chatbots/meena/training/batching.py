"""Batches of pairs of similar length, in an order fixed by a seed.

Shapes: n pairs, s context positions, t response positions.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from chatbots.meena.config import MeenaConfig
from chatbots.meena.corpus.shards import Pair, Shard
from chatbots.meena.model import PADDING, pad_tokens
from chatbots.meena.tokenizer import Tokenizer

ROUNDING = np.array([8, 4])
"""Contexts and targets are padded to multiples of these. CPU libraries compile a kernel for each shape, which
takes longer than running it once, so only few different shapes should occur.
"""
GROUP = 1 << 22
"""Number of pairs whose order is in memory at once; shards are shuffled into groups of about that many."""


Members = tuple[NDArray[np.int64], tuple[int, int]]
"""The members of a batch: (shard in the group, turn) of each pair, and the padded lengths."""


class Batch(NamedTuple):
    """A batch of pairs for the model.

    Attributes:
        contexts: padded on the right, (n, s).
        inputs: start token, then the response, (n, t).
        targets: the response, then the end token, (n, t).
        tokens: targets that are not padding.
    """

    contexts: Tensor
    inputs: Tensor
    targets: Tensor
    tokens: int

    def to(self, device: torch.device) -> Batch:
        """Copy to another device; from pinned memory without waiting for the copy."""
        contexts, inputs, targets = (part.to(device, non_blocking=True) for part in self[:3])
        return Batch(contexts, inputs, targets, self.tokens)


def collate(pairs: Sequence[Pair], *, response_length: int, shape: tuple[int, int] = (0, 0)) -> Batch:
    """Pad pairs to a batch; a response that fills `response_length` alone has no end token.

    Args:
        pairs: at least one.
        response_length: most targets of a pair.
        shape: positions of contexts and of targets, at least.
    """
    targets = [[*pair.response, Tokenizer.end][:response_length] for pair in pairs]
    return Batch(
        contexts=pad_tokens([pair.context for pair in pairs], shape[0]),
        inputs=pad_tokens([[Tokenizer.start, *target[:-1]] for target in targets], shape[1]),
        targets=pad_tokens(targets, shape[1]),
        tokens=sum(map(len, targets)),
    )


@dataclass(frozen=True)
class Batches:
    """All pairs of some shards, batched.

    Attributes:
        shards: with the pairs.
        config: lengths that pairs are cut to.
        positions: most positions of a batch, padding and contexts included: n · (s + t).
        seed: fixes the order of every epoch.
        ranks: processes that share each epoch.
        rank: rank of this process among them.
        workers: processes that prepare batches of `epoch` in advance; 0: prepared on demand.
        pinned: True to prepare them in memory from which a GPU copies without the CPU.
    """

    shards: Sequence[Shard]
    config: MeenaConfig
    positions: int
    seed: int = 0
    ranks: int = 1
    rank: int = 0
    workers: int = 0
    pinned: bool = False

    def epoch(self, number: int, *, skip: int = 0) -> Iterator[Batch]:
        """Yield the batches of one pass over all pairs; every rank gets as many.

        Args:
            number: number of the epoch; each has its own order.
            skip: number of first batches to leave out, without building them.
        """
        random = np.random.default_rng((self.seed, number))
        for group in self._groups(random):
            plan = self._plan(group, random)
            mine = plan[self.rank : len(plan) - len(plan) % self.ranks : self.ranks]
            yield from DataLoader(
                _Planned(self, group, mine[skip:]),
                batch_size=None,
                num_workers=self.workers,
                pin_memory=self.pinned,
                generator=torch.Generator(),  # else it would draw from the generator of dropout
            )
            skip = max(0, skip - len(mine))

    def in_order(self) -> Iterator[Batch]:
        """Yield every pair once, shortest first: for evaluation."""
        for shard in self.shards:
            pairs, lengths = self._measure([shard])
            for members, shape in self._cut(pairs, lengths):
                yield self.build([shard], members, shape)

    def _groups(self, random: np.random.Generator) -> Iterator[list[Shard]]:
        group: list[Shard] = []
        size = 0
        for index in random.permutation(len(self.shards)):
            group.append(self.shards[index])
            size += len(group[-1].parents)
            if size >= GROUP:
                yield group
                group, size = [], 0
        if group:
            yield group

    def _plan(self, group: Sequence[Shard], random: np.random.Generator) -> list[Members]:
        pairs, lengths = self._measure(group)
        order = random.permutation(len(pairs))
        plan = self._cut(pairs[order], lengths[order])
        return [plan[index] for index in random.permutation(len(plan))]

    def _measure(self, group: Sequence[Shard]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """(shard in the group, turn) and rounded (context, target) lengths of every pair, each (n, 2)."""
        pairs, lengths = [], []
        for index, shard in enumerate(group):
            turns = shard.pairs()
            context, response = shard.lengths(turns, context_length=self.config.context_length)
            pairs.append(np.stack([np.full_like(turns, index), turns], axis=1))
            lengths.append(np.stack([context, response + 1], axis=1))
        rounded = -(-np.concatenate(lengths) // ROUNDING) * ROUNDING
        longest = np.array([self.config.context_length, self.config.response_length])
        return np.concatenate(pairs), np.minimum(rounded, longest)

    def _cut(self, pairs: NDArray[np.int64], lengths: NDArray[np.int64]) -> list[Members]:
        """Gather pairs of the same rounded lengths; cut them into batches as large as `positions` allows."""
        plan: list[Members] = []
        order = np.lexsort((lengths[:, 0], lengths[:, 1]))
        changes = np.flatnonzero(np.diff(lengths[order], axis=0).any(axis=1)) + 1
        for alike in np.split(order, changes):
            if len(alike):
                context, response = lengths[alike[0]].tolist()
                size = max(1, self.positions // (context + response))
                plan += [
                    (pairs[alike[i : i + size]], (context, response)) for i in range(0, len(alike), size)
                ]
        return plan

    def build(self, group: Sequence[Shard], members: NDArray[np.int64], shape: tuple[int, int]) -> Batch:
        """Build the batch of these members."""
        length = self.config.context_length
        pairs = [group[shard].pair(turn, context_length=length) for shard, turn in members.tolist()]
        return collate(pairs, response_length=self.config.response_length, shape=shape)


class _Planned(Dataset[Batch]):
    """The batches of a plan, by their number."""

    def __init__(self, batches: Batches, group: Sequence[Shard], plan: Sequence[Members]) -> None:
        self._batches, self._group, self._plan = batches, group, plan

    def __len__(self) -> int:
        return len(self._plan)

    def __getitem__(self, number: int) -> Batch:
        members, shape = self._plan[number]
        return self._batches.build(self._group, members, shape)


def padding_share(batch: Batch) -> float:
    """Share of a batch's positions that are padding, in [0, 1)."""
    positions = batch.contexts.numel() + batch.targets.numel()
    real = int((batch.contexts != PADDING).sum()) + batch.tokens
    return 1 - real / positions
