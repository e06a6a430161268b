"""Where the rows of a decoding batch stand at one step.

Shapes: n live rows, c live contexts, d hidden size.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor


@dataclass(frozen=True)
class Rows:
    """Where the rows of one decoding step stand.

    Attributes:
        indices: 0 … n - 1, (n,).
        positions: the position that each row is about to fill, (n,).
        common: that position, if it is the same for all.
        longest: 1 + the largest of them, in whole spans, or more.
        slots: context · samples + sample of each row, (n,); None if all samples of all contexts are there in
            this order.
        contexts: c.
        samples: most rows that a context has.
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

    @property
    def count(self) -> int:
        """Live rows n."""
        return len(self.indices)

    @cached_property
    def position_mask(self) -> Tensor:
        """-inf at the positions that a row does not have, else 0, (n or 1, 1, 1, longest)."""
        asking = self.positions if self.common is None else self.positions[:1]
        return mask_beyond(self.longest, asking + 1, self.context_mask)

    @property
    def new(self) -> tuple[slice, int] | tuple[Tensor, Tensor]:
        """Index of the new position of every row in a tensor of rows and positions."""
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
        """Write the inputs of a causal convolution at the new position; the last ones up to it.

        Args:
            past: inputs at earlier positions behind width - 1 zeros, (width - 1 + capacity, ≥ n, channels).
            x: the new ones, (n, channels).
            width: of the convolution.

        Returns:
            (width, n, channels).
        """
        past.transpose(0, 1)[:, width - 1 :][self.new] = x
        if self.common is not None:
            return past[self.common : self.common + width, : self.count]
        places = self.positions + torch.arange(width, device=x.device)[:, None]  # (width, n)
        return past[places, self.indices]


def mask_beyond(size: int, lengths: Tensor, like: Tensor) -> Tensor:
    """What to add to attention scores of a type: -inf from each length on, (k,) → (k, 1, 1, size)."""
    beyond = torch.arange(size, device=like.device) >= lengths[:, None, None, None]
    return like.new_zeros(beyond.shape).masked_fill_(beyond, -torch.inf)
