"""The state of decoding between two tokens.

A decoding batch has rows and contexts. A row is one sample of a response, one token further at every step; a
context is the dialogue that it answers. Live rows and live contexts are always the first ones of their
tensors, so that a step works on plain slices; the last one takes the place of one that leaves.

Shapes: n live rows, c live contexts, s context positions, d hidden size.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.profiler import record_function

from chatbots.meena.decoding_state import BlockState, Room, Rows, mask_beyond, whole_spans

TO_DEVICE, TO_HOST = "meena: to the device", "meena: to the host"
"""Names of the transfers in profiles; each of them waits for a GPU."""


def to_device(values: NDArray[Any], device: torch.device) -> Tensor:
    """Copy numbers to the computing device."""
    with record_function(TO_DEVICE):
        return torch.from_numpy(values).to(device, copy=True)


def to_host(values: Tensor) -> NDArray[Any]:
    """Copy numbers to the CPU; waits until the device has computed them."""
    with record_function(TO_HOST):
        array: NDArray[Any] = values.cpu().numpy()
    return array


class DecoderBlock(Protocol):
    """A decoder block that works one token at a time; `forward` is for whole responses."""

    def memory(self, encoded: Tensor) -> Sequence[Tensor]:
        """Keys and values of contexts for its encoder attentions, (c, s, d) → (c, s, …) each."""
        ...

    def new_state(self, room: Room) -> BlockState:
        """Allocate an empty state for a decoding batch."""
        ...

    def step(self, x: Tensor, state: Any, rows: Rows) -> Tensor:
        """Transform one new position per row, (n, d) → (n, d)."""
        ...


class DecoderState:
    """The state of one decoding batch, which grows as needed.

    Args:
        blocks: the decoder blocks that are stepped through.
        contexts: most contexts at once.
        samples: rows of each context when it enters.
        like: a tensor with the type and device of the blocks' states.
        steady: True to keep shapes and memory from step to step while no row joins or leaves and no growth is
            needed, so that a step can be recorded; rows then leave with their context.
    """

    def __init__(
        self,
        blocks: Sequence[DecoderBlock],
        *,
        contexts: int,
        samples: int,
        like: Tensor,
        steady: bool = False,
    ) -> None:
        self.steady = steady
        self._steppable = blocks
        self._memory = Room(0, 0, 0, 0)
        self.blocks: list[BlockState] = [block.new_state(self._memory) for block in blocks]
        self.samples = samples
        self.contexts = 0
        self.room = contexts
        self.context_lengths: NDArray[np.int64] = np.zeros(contexts, dtype=np.int64)
        self.context_of: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.sample_of: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self.positions: NDArray[np.int64] = np.zeros(0, dtype=np.int64)
        self._like, self._device = like, like.device
        self._placed: tuple[Tensor, ...] | None = None  # tensors of the current rows
        self._kept: dict[tuple[int, tuple[int, ...]], Tensor] = {}
        self._times_grown = 0

    def admit(self, memories: Sequence[Sequence[Tensor]], lengths: Sequence[int]) -> None:
        """Let contexts join, each with `samples` rows at position 0.

        Args:
            memories: for each block, the contexts' share of its `context_tensors`, each (contexts, s, …).
            lengths: positions of each context, at most s; what follows them is masked.

        Raises:
            RuntimeError: the batch is full.
        """
        first, joined, longest = self.contexts, self.contexts + len(lengths), max(lengths)
        if joined > self.room:
            raise RuntimeError(f"All {self.room} places for contexts are taken. Step until one is released.")
        self._grow(
            rows=len(self.positions) + self.samples * len(lengths),
            contexts=joined,
            context_positions=whole_spans(longest),
        )
        for block, memory in zip(self.blocks, memories, strict=True):
            for held, new in zip(block.context_tensors(), memory, strict=True):
                held[first:joined, :longest] = new[:, :longest]
        self.context_lengths[first:joined] = lengths
        self.context_of = np.append(self.context_of, np.repeat(np.arange(first, joined), self.samples))
        self.sample_of = np.append(self.sample_of, np.tile(np.arange(self.samples), len(lengths)))
        self.positions = np.append(self.positions, np.zeros(self.samples * len(lengths), dtype=np.int64))
        self.contexts = joined
        self._placed = None

    def prepare(self) -> tuple[int, ...]:
        """Copy the next step's inputs to the device.

        Returns:
            Numbers that do not change while a steady batch's steps have the same shapes and memory.
        """
        self._grow(positions=whole_spans(int(self.positions.max()) + 1))
        if self._placed is None:
            slots = self.context_of * self.samples + self.sample_of
            in_order = len(slots) == self.contexts * self.samples and bool((np.diff(slots) == 1).all())
            if self.steady and not in_order:
                raise RuntimeError("A row has left a steady batch before its context.")
            lengths = to_device(self.context_lengths[: self.contexts], self._device)
            placed = [
                torch.arange(len(self.positions), device=self._device),
                to_device(self.positions, self._device),
                mask_beyond(self._context_length, lengths, self._like),
                *([] if in_order else [to_device(slots, self._device)]),
            ]
            self._placed = tuple(map(self._keep, range(len(placed)), placed))
        return self._times_grown, len(self.positions), self.contexts, self._context_length

    def rows(self) -> Rows:
        """The rows in the form that the next step needs."""
        self.prepare()
        assert self._placed is not None
        indices, positions, context_mask, *slots = self._placed
        alike = not self.steady and bool((self.positions == self.positions[0]).all())
        return Rows(
            indices=indices,
            positions=positions,
            common=int(self.positions[0]) if alike else None,
            longest=self._memory.positions if self.steady else whole_spans(int(self.positions.max()) + 1),
            slots=slots[0] if slots else None,
            contexts=self.contexts,
            samples=self.samples,
            context_length=self._context_length,
            context_mask=context_mask,
        )

    @property
    def _context_length(self) -> int:
        """Positions of contexts that a step covers: in a steady batch all, so that few steps are recorded."""
        if self.steady:
            return self._memory.context_positions
        return whole_spans(int(self.context_lengths[: self.contexts].max()))

    def _keep(self, number: int, value: Tensor) -> Tensor:
        """Store the value in the tensor of the same shape as before, if batches are steady."""
        if not self.steady:
            return value
        held = self._kept.setdefault((number, tuple(value.shape)), value)
        return held if held is value else held.copy_(value)

    def _grow(self, **needed: int) -> None:
        """Double the memory of every dimension that is too small.

        Blocks grow one after another, so that only one is in memory twice.
        """
        short = {name: size for name, size in needed.items() if size > getattr(self._memory, name)}
        if not short:
            return
        self._times_grown += 1
        doubled = {name: max(size, 2 * getattr(self._memory, name)) for name, size in short.items()}
        most = {"rows": self.room * self.samples, "contexts": self.room}
        self._memory = self._memory._replace(
            **{name: min(size, max(short[name], most.get(name, size))) for name, size in doubled.items()}
        )
        for number, block in enumerate(self._steppable):
            larger = block.new_state(self._memory)
            for old, new in zip(self.blocks[number].tensors(), larger.tensors(), strict=True):
                new[tuple(map(slice, old.shape))] = old
            self.blocks[number] = larger

    def advance(self) -> None:
        """Record that every row has got one more token."""
        self.positions = self.positions + 1
        if self._placed is not None:
            self._placed[1].add_(1)

    def release_rows(self, finished: NDArray[np.bool_]) -> NDArray[np.int64]:
        """Remove finished rows, and contexts without rows.

        Args:
            finished: True for rows to remove, (n,).

        Returns:
            For each remaining row, in the new order, its former row.
        """
        order = fill_holes(~finished)
        self._placed = None
        moved = np.flatnonzero(order != np.arange(len(order)))
        self._move(self._row_tensors(), order[moved], moved)
        self.context_of, self.sample_of = self.context_of[order], self.sample_of[order]
        self.positions = self.positions[order]
        self._release_contexts()
        return order

    def reorder_rows(self, sources: NDArray[np.int64]) -> None:
        """Make row i continue row `sources[i]`, as beam search does; all of one context, none leaves."""
        index = to_device(sources, self._device)
        for held in self._row_tensors():
            held[: len(sources)] = held[index]

    def _row_tensors(self) -> list[Tensor]:
        shortest, longest = int(self.positions.min()), int(self.positions.max())
        return [held for block in self.blocks for held in block.row_tensors(shortest, longest)]

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
        source, target = to_device(sources, self._device), to_device(targets, self._device)
        for held in tensors:
            held[target] = held[source]


def fill_holes(stays: NDArray[np.bool_]) -> NDArray[np.int64]:
    """Compute the order that keeps remaining rows at the front with few moves: the last fill the holes.

    >>> fill_holes(np.array([True, False, True, False, True]))
    array([0, 4, 2])
    """
    count = int(stays.sum())
    order = np.arange(count)
    order[~stays[:count]] = count + np.flatnonzero(stays[count:])
    return order
