"""What decoding remembers between two tokens.

A decoding batch has rows and contexts. A row is one sample of a response, one token further at every step; a
context is what it answers. Live rows and live contexts are always the first ones of their tensors, so that a
step works on plain slices; whoever leaves is replaced by the last.

Shapes: n live rows, c live contexts, s context positions, d hidden size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


class BlockState(Protocol):
    """What one decoder block remembers."""

    def row_tensors(self) -> Sequence[Tensor]:
        """Tensors whose first axis is the row."""
        ...

    def context_tensors(self) -> Sequence[Tensor]:
        """Tensors whose first axis is the context, the second its positions."""
        ...


@dataclass(frozen=True)
class Rows:
    """Where the rows of one decoding step stand.

    Attributes:
        indices: 0 … n - 1, (n,).
        positions: the position that each row is about to fill, (n,).
        longest: 1 + the largest of them.
        has_position: True at the positions that a row has, (n, 1, 1, longest); None if all have all.
        slots: context · samples + sample of each row, (n,).
        contexts: c.
        samples: most rows that a context has.
        context_length: positions of the longest context.
        context_is_real: False at the padding of contexts, (c, context_length).
    """

    indices: Tensor
    positions: Tensor
    longest: int
    has_position: Tensor | None
    slots: Tensor
    contexts: int
    samples: int
    context_length: int
    context_is_real: Tensor

    @property
    def count(self) -> int:
        """Live rows n."""
        return len(self.indices)

    def group_by_context(self, x: Tensor) -> Tensor:
        """(n, d) → (c, samples, d); zeros where a sample has left."""
        grouped = x.new_zeros(self.contexts * self.samples, x.size(-1))
        grouped[self.slots] = x
        return grouped.view(self.contexts, self.samples, -1)

    def ungroup(self, grouped: Tensor) -> Tensor:
        """The reverse of `group_by_context`: (c, samples, d) → (n, d)."""
        return grouped.flatten(0, 1)[self.slots]


class DecoderBlock(Protocol):
    """What a decoder block does one token at a time; `forward` is for whole responses."""

    def memory(self, encoded: Tensor) -> Sequence[Tensor]:
        """What its encoder attentions need of contexts, (c, s, d) → (c, s, …) each."""
        ...

    def new_state(self, rows: int, contexts: int) -> BlockState:
        """Room for a decoding batch."""
        ...

    def step(self, x: Tensor, state: Any, rows: Rows) -> Tensor:
        """One new position per row, (n, d) → (n, d)."""
        ...


class DecoderState:
    """The memory of one decoding batch, with room for a fixed number of contexts.

    Args:
        blocks: the decoder blocks' states, with room for `contexts` · `samples` rows.
        contexts: most contexts at once.
        samples: rows of each context when it enters.
        context_length: most positions of a context.
        device: where the blocks' states are.
    """

    def __init__(
        self,
        blocks: Sequence[BlockState],
        *,
        contexts: int,
        samples: int,
        context_length: int,
        device: torch.device,
    ) -> None:
        self.blocks = blocks
        self.samples = samples
        self.contexts = 0
        self.room = contexts
        self.context_lengths: NDArray[np.int64] = np.zeros(contexts, dtype=np.int64)
        self.context_of: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.sample_of: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.positions: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._device = device

    def admit(self, memories: Sequence[Sequence[Tensor]], length: int) -> int:
        """Let one context join, with `samples` rows at position 0.

        Args:
            memories: for each block, the context's share of its `context_tensors`, each (length, …).
            length: positions of the context.

        Returns:
            The context's index, valid until the next `release`.

        Raises:
            RuntimeError: no room is left.
        """
        if self.contexts == self.room:
            raise RuntimeError(f"All {self.room} places for contexts are taken. Step until one is released.")
        context = self.contexts
        for block, memory in zip(self.blocks, memories, strict=True):
            for held, new in zip(block.context_tensors(), memory, strict=True):
                held[context, :length] = new
        self._clear_rows(len(self.positions))
        self.context_lengths[context] = length
        self.context_of = np.append(self.context_of, np.full(self.samples, context))
        self.sample_of = np.append(self.sample_of, np.arange(self.samples))
        self.positions = np.append(self.positions, np.zeros(self.samples, dtype=np.int64))
        self.contexts += 1
        return context

    def _clear_rows(self, first: int) -> None:
        """Zero the rows of a new context: a convolution starts from zeros, its left padding."""
        for block in self.blocks:
            for held in block.row_tensors():
                held[first : first + self.samples] = 0

    def rows(self) -> Rows:
        """The rows as the next step needs them."""
        lengths = torch.from_numpy(self.context_lengths[: self.contexts].copy()).to(self._device)
        positions = torch.from_numpy(self.positions.copy()).to(self._device)
        longest = int(self.positions.max()) + 1
        longest_context = int(self.context_lengths[: self.contexts].max())
        has_position = torch.arange(longest, device=self._device) <= positions[:, None, None, None]
        return Rows(
            indices=torch.arange(len(self.positions), device=self._device),
            positions=positions,
            longest=longest,
            has_position=None if self.positions.min() + 1 == longest else has_position,
            slots=torch.from_numpy(self.context_of * self.samples + self.sample_of).to(self._device),
            contexts=self.contexts,
            samples=self.samples,
            context_length=longest_context,
            context_is_real=torch.arange(longest_context, device=self._device) < lengths[:, None],
        )

    def advance(self) -> None:
        """Every row has been given one more token."""
        self.positions = self.positions + 1

    def release_rows(self, finished: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Let finished rows leave, and contexts without rows with them.

        Args:
            finished: True for the rows that leave, (n,).

        Returns:
            For each row that stays, in its new order, the row it was before.
        """
        order = fill_holes(~finished)
        moved = np.flatnonzero(order != np.arange(len(order)))
        self._move([held for block in self.blocks for held in block.row_tensors()], order[moved], moved)
        self.context_of, self.sample_of = self.context_of[order], self.sample_of[order]
        self.positions = self.positions[order]
        self._release_contexts()
        return order

    def reorder_rows(self, sources: NDArray[np.int64]) -> None:
        """Make row i continue row `sources[i]`, as beam search does; all of one context, none leaves."""
        index = torch.from_numpy(sources).to(self._device)
        for block in self.blocks:
            for held in block.row_tensors():
                held[: len(sources)] = held[index]

    def _release_contexts(self) -> None:
        alive = np.isin(np.arange(self.contexts), self.context_of)
        if alive.all():
            return
        order = fill_holes(alive)
        moved = np.flatnonzero(order != np.arange(len(order)))
        self._move([held for block in self.blocks for held in block.context_tensors()], order[moved], moved)
        self.context_lengths[: len(order)] = self.context_lengths[order]
        renamed = np.zeros(self.contexts, dtype=np.int64)
        renamed[order] = np.arange(len(order))
        self.context_of = renamed[self.context_of]
        self.contexts = len(order)

    def _move(
        self, tensors: Sequence[Tensor], sources: NDArray[np.int64], targets: NDArray[np.int64]
    ) -> None:
        if not len(sources):
            return
        source = torch.from_numpy(sources).to(self._device)
        target = torch.from_numpy(targets).to(self._device)
        for held in tensors:
            held[target] = held[source]


def fill_holes(stays: NDArray[np.bool_]) -> NDArray[np.int64]:
    """The order that keeps whoever stays at the front, moving as few as possible: the last fill the holes.

    >>> fill_holes(np.array([True, False, True, False, True]))
    array([0, 4, 2])
    """
    count = int(stays.sum())
    order = np.arange(count)
    order[~stays[:count]] = count + np.flatnonzero(stays[count:])
    return order
