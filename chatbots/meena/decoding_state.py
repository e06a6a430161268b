"""The tensors of a decoding batch: their memory, and the rows' positions and contexts at one step.

Shapes: n live rows, c live contexts, d hidden size.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, Protocol

import torch
from torch import Tensor

SPAN = 16
"""Attention covers a multiple of this many positions, the last ones masked. The CPU's kernels then sum a row
in the same order however many positions its neighbours have, so not even its last digit depends on them. They
also take longer for odd numbers than for the next round one.

The CPU's kernels then sum a row in the same order however many positions its neighbours have: not even its
last digit depends on them. They also take longer for odd numbers than for the next round one.
"""


def whole_spans(positions: int) -> int:
    """Round up to a multiple of `SPAN`."""
    return -(-positions // SPAN) * SPAN


def new_past(like: Tensor, *, rows: int, heads: int, positions: int, channels: int) -> Tensor:
    """Allocate memory for the keys and values of a self-attention.

    On the CPU every span has separate memory: if a part of each head's positions is skipped, the processor
    stops reading ahead, and reading a half takes longer than reading all. On a GPU there is one long span,
    for one fused kernel.

    Args:
        like: a tensor with their type and device.
        rows: most rows at once.
        heads: h.
        positions: most positions of a row.
        channels: channels of each head, e.

    Returns:
        Zeros, (spans, 2, rows, heads, span, e).
    """
    span = SPAN if like.device.type == "cpu" else max(SPAN, whole_spans(positions))
    return like.new_zeros(max(1, whole_spans(positions) // span), 2, rows, heads, span, channels)


def by_row(past: Tensor, positions: int) -> Tensor:
    """View the first positions of that memory, rows first: (spans, 2, rows, …) → (rows, spans, 2, …)."""
    return past[: -(-positions // past.size(-2))].movedim(2, 0)


class Room(NamedTuple):
    """The allocated size of a decoding batch's memory.

    Attributes:
        rows: most rows.
        positions: most positions of a response, in whole spans.
        contexts: most contexts.
        context_positions: most positions of a context, in whole spans.
    """

    rows: int
    positions: int
    contexts: int
    context_positions: int


def new_memory(like: Tensor, room: Room, heads: int, channels: int) -> Tensor:
    """Allocate keys and values of contexts; those of a head are adjacent, as kernels read them.

    Returns:
        Zeros, (2, contexts, heads, context positions, channels).
    """
    return like.new_zeros(2, room.contexts, heads, room.context_positions, channels)


def by_context(memory: Tensor) -> Tensor:
    """View that memory with contexts and positions first: (2, c, h, s, e) → (c, s, 2, h, e)."""
    return memory.permute(1, 3, 0, 2, 4)


class BlockState(Protocol):
    """The state of one decoder block."""

    def tensors(self) -> Sequence[Tensor]:
        """All tensors, in a fixed order; a state with more memory has the same tensors, none smaller."""
        ...

    def row_tensors(self, shortest: int, longest: int) -> Sequence[Tensor]:
        """Tensors whose first axis is the row, as far as rows with these positions still need them."""
        ...

    def context_tensors(self) -> Sequence[Tensor]:
        """Tensors with contexts along the first axis and their positions along the second."""
        ...


@dataclass(frozen=True)
class Rows:
    """Positions and contexts of the rows of one decoding step.

    Attributes:
        indices: 0 … n - 1, (n,).
        positions: the position that each row fills next, (n,).
        common: that position, if it is the same for all.
        longest: 1 + the largest of them, in whole spans, or more.
        slots: context · samples + sample of each row, (n,); None if all samples of all contexts are present
            in this order.
        contexts: c.
        samples: largest number of rows of a context.
        context_length: positions of the longest context, in whole spans.
        context_mask: -inf at the padding of contexts, else 0, (c, 1, 1, context_length).
    """

    indices: Tensor
    positions: Tensor
    common: int | None
    longest: int
    slots: Tensor | None
    contexts: int
    samples: int
    context_length: int
    context_mask: Tensor
    _places: dict[tuple[int, int], Tensor] = field(default_factory=dict)

    @property
    def count(self) -> int:
        """Number of live rows n."""
        return len(self.indices)

    @cached_property
    def position_mask(self) -> Tensor:
        """-inf at the positions that a row does not have, else 0, (n or 1, 1, 1, longest)."""
        asking = self.positions if self.common is None else self.positions[:1]
        return mask_beyond(self.longest, asking + 1, self.context_mask)

    @property
    def new(self) -> tuple[slice, int] | tuple[Tensor, Tensor]:
        """Index of each row's new position in a tensor of rows and positions."""
        if self.common is not None:
            return slice(self.count), self.common
        return self.indices, self.positions

    def group_by_context(self, x: Tensor) -> Tensor:
        """(n, d) → (c, samples, d); zeros where a sample has left."""
        if self.slots is None:
            return x.view(self.contexts, self.samples, -1)
        grouped = x.new_zeros(self.contexts * self.samples, x.size(-1))
        grouped[self.slots] = x
        return grouped.view(self.contexts, self.samples, -1)

    def ungroup(self, grouped: Tensor) -> Tensor:
        """The reverse of `group_by_context`: (c, samples, d) → (n, d)."""
        rows = grouped.flatten(0, 1)
        return rows if self.slots is None else rows[self.slots]

    def window(self, past: Tensor, x: Tensor, *, width: int) -> Tensor:
        """Write the inputs of a causal convolution at the new position; return the last `width` inputs.

        Args:
            past: inputs at earlier positions behind width - 1 zeros, (width - 1 + capacity, ≥ n, channels).
            x: the new ones, (n, channels).
            width: width of the convolution.

        Returns:
            (width, n, channels).
        """
        if self.common is not None:
            past[self.common + width - 1, : self.count] = x
            return past[self.common : self.common + width, : self.count]
        flat = past.view(-1, past.size(-1))  # a GPU reads whole rows five times as fast as by two indices
        places = self._window_places(width, past.size(1))
        flat.index_copy_(0, places[-1], x)
        return flat[places]

    def _window_places(self, width: int, rows: int) -> Tensor:
        """Find each row's last `width` positions in memory for that many rows, (width, n)."""
        if (width, rows) not in self._places:
            positions = self.positions + torch.arange(width, device=self.positions.device)[:, None]
            self._places[width, rows] = positions * rows + self.indices
        return self._places[width, rows]


def mask_beyond(size: int, lengths: Tensor, like: Tensor) -> Tensor:
    """The mask to add to attention scores: -inf from each length on, (k,) → (k, 1, 1, size)."""
    beyond = torch.arange(size, device=like.device) >= lengths[:, None, None, None]
    return like.new_zeros(beyond.shape).masked_fill_(beyond, -torch.inf)
