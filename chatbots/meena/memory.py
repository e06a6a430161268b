"""The tensors that a decoding batch remembers in, and for how much they have room."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from torch import Tensor

SPAN = 16
"""Attention goes over a multiple of so many positions, the last ones masked.

The CPU's kernels then sum a row in the same order however many positions its neighbours have: not even its
last digit depends on them. They also take longer for odd numbers than for the next round one.
"""


def whole_spans(positions: int) -> int:
    """The next multiple of `SPAN`."""
    return -(-positions // SPAN) * SPAN


def new_past(like: Tensor, *, rows: int, heads: int, positions: int, channels: int) -> Tensor:
    """Room for the keys and values of a self-attention.

    On the CPU every span has memory of its own: if a part of each head's positions is skipped, the processor
    no longer reads ahead, and reading a half takes longer than reading all. On a GPU there is one long span,
    for one fused kernel.

    Args:
        like: of their type, on their device.
        rows: most rows at once.
        heads: h.
        positions: most positions of a row.
        channels: of each head, e.

    Returns:
        Zeros, (spans, 2, rows, heads, span, e).
    """
    span = SPAN if like.device.type == "cpu" else max(SPAN, whole_spans(positions))
    return like.new_zeros(max(1, whole_spans(positions) // span), 2, rows, heads, span, channels)


def by_row(past: Tensor, positions: int) -> Tensor:
    """The first positions of that room, rows first: (spans, 2, rows, …) → (rows, spans, 2, …)."""
    return past[: -(-positions // past.size(-2))].movedim(2, 0)


class Room(NamedTuple):
    """For how much a decoding batch has memory.

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
    """Room for the keys and values of contexts; those of a head lie side by side, as kernels read them.

    Returns:
        Zeros, (2, contexts, heads, context positions, channels).
    """
    return like.new_zeros(2, room.contexts, heads, room.context_positions, channels)


def by_context(memory: Tensor) -> Tensor:
    """That memory with its contexts and positions first: (2, c, h, s, e) → (c, s, 2, h, e)."""
    return memory.permute(1, 3, 0, 2, 4)


class BlockState(Protocol):
    """What one decoder block remembers."""

    def tensors(self) -> Sequence[Tensor]:
        """All of it, in a fixed order; one for more room has the same tensors, none of whose axes is less."""
        ...

    def row_tensors(self, shortest: int, longest: int) -> Sequence[Tensor]:
        """Tensors whose first axis is the row: what is still needed of rows with so many positions."""
        ...

    def context_tensors(self) -> Sequence[Tensor]:
        """Tensors whose first axis is the context, the second its positions."""
        ...
