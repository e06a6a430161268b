"""Multi-head attention, of a sequence to itself and of the decoder to the encoder.

Shapes: n sequences (or rows of a decoding batch), c contexts, t query positions, s key positions,
d hidden size, h heads, e = d / h.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from chatbots.meena.decoding_state import Rows

MANY_ROWS = 512
"""Rows from which a GPU computes attention from one position faster in two batched products."""


def split_heads(x: Tensor, heads: int) -> Tensor:
    """(n, t, d) → (n, h, t, e)."""
    return x.view(*x.shape[:-1], heads, -1).transpose(1, 2)


def attend(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    *,
    mask: Tensor | None,
    causal: bool = False,
    dropout: float = 0.0,
) -> Tensor:
    """Scaled dot-product attention by PyTorch's fused kernel.

    Args:
        query: (n, h, t, e).
        key: (n, h, s, e).
        value: (n, h, s, e).
        mask: True where attention is allowed, or 0 there and -inf elsewhere, broadcast to (n, h, t, s); None
            for everywhere.
        causal: True if position i sees only positions up to i.
        dropout: share of attention weights dropped.

    Returns:
        The heads' results side by side, (n, t, d).
    """
    dtype = query.dtype
    if query.requires_grad and query.device.type == "cpu":
        # On the CPU, the fused kernel's backward pass takes ten times as long in bf16 as in float32.
        query, key, value = query.float(), key.float(), value.float()
    with torch.autocast(query.device.type, enabled=False):
        mixed = scaled_dot_product_attention(
            query, key, value, attn_mask=mask, is_causal=causal, dropout_p=dropout
        )
    return mixed.to(dtype).transpose(1, 2).flatten(2)


def attend_from_one(query: Tensor, past: Tensor, *, mask: Tensor) -> Tensor:
    """Compute `attend` for a single query position, without dropout and gradients.

    Args:
        query: (n, h, 1, e).
        past: keys and values as from `decoding_state.new_past`, (spans, 2, n, h, span, e), with as many spans
            as s needs.
        mask: -inf where attention is forbidden, else 0, broadcast to (n, h, 1, s).

    Returns:
        The heads' results side by side, (n, 1, d).
    """
    n, h = query.shape[:2]
    if query.device.type != "cpu":
        past = past[:, :, :, :, : mask.size(-1)]
        if n < MANY_ROWS:
            return attend(query, *past[0], mask=mask)
    # For one position, fused kernels take one and a half times as long as two batched products: the CPU's
    # always, a GPU's if there are many rows.
    query, spans = query.flatten(0, 1) * query.size(-1) ** -0.5, past.flatten(2, 3)
    scores = torch.cat([torch.bmm(query, key.transpose(1, 2)) for key, _ in spans], dim=-1)  # (n · h, 1, s)
    scores.view(n, h, 1, -1).add_(mask)
    shares = torch.split(scores.softmax(dim=-1), past.size(-2), dim=-1)
    mixed = torch.bmm(shares[0], spans[0, 1])
    for share, value in zip(shares[1:], spans[1:, 1], strict=True):
        mixed.baddbmm_(share, value)
    return mixed.view(n, 1, -1)


class SelfAttention(nn.Module):
    """Attention of a sequence to itself; projections without bias.

    Args:
        hidden_size: d.
        heads: h, a divisor of d.
        dropout: share of attention weights dropped in training.
        causal: True if a position sees only itself and earlier ones.
    """

    def __init__(self, hidden_size: int, heads: int, *, dropout: float, causal: bool) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.causal = causal
        self.query_key_value = nn.Linear(hidden_size, 3 * hidden_size, bias=False)
        self.output = nn.Linear(hidden_size, hidden_size, bias=False)

    def forward(self, x: Tensor, is_real: Tensor | None = None) -> Tensor:
        """Attend within whole sequences.

        Args:
            x: normed input, (n, t, d).
            is_real: False at padding, (n, t); not needed where causality already hides it.

        Returns:
            (n, t, d).
        """
        query, key, value = (
            split_heads(part, self.heads) for part in self.query_key_value(x).chunk(3, dim=-1)
        )
        mask = None if is_real is None else is_real[:, None, None, :]
        dropout = self.dropout if self.training else 0.0
        attended: Tensor = self.output(
            attend(query, key, value, mask=mask, causal=self.causal, dropout=dropout)
        )
        return attended

    def step(self, x: Tensor, past: Tensor, rows: Rows) -> Tensor:
        """Attend from one new position per row to it and all before it.

        Args:
            x: normed input of the new position, (n, d).
            past: keys and values of earlier positions as from `decoding_state.new_past`; the new ones are
                added.
            rows: the new positions, and the earlier ones of each row.

        Returns:
            (n, d).
        """
        projected = self.query_key_value(x).view(rows.count, 3, self.heads, 1, -1)
        query, key_value = projected[:, 0], projected[:, 1:, :, 0]  # (n, h, 1, e), (n, 2, h, e)
        span = past.size(-2)
        which, positions = rows.new
        past.permute(2, 0, 4, 1, 3, 5)[which, positions // span, positions % span] = key_value
        there = past[: -(-rows.longest // span), :, : rows.count]
        mixed = attend_from_one(query, there, mask=rows.position_mask)
        attended: Tensor = self.output(mixed.squeeze(1))
        return attended


class EncoderAttention(nn.Module):
    """Attention of the decoder to the encoder's output; projections without bias.

    The keys and values depend on the context alone: `memory` computes them once, and every sample of a
    response to that context uses the same ones.

    Args:
        hidden_size: d.
        heads: h, a divisor of d.
        dropout: share of attention weights dropped in training.
    """

    def __init__(self, hidden_size: int, heads: int, *, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.query = nn.Linear(hidden_size, hidden_size, bias=False)
        self.key_value = nn.Linear(hidden_size, 2 * hidden_size, bias=False)
        self.output = nn.Linear(hidden_size, hidden_size, bias=False)

    def memory(self, encoded: Tensor) -> Tensor:
        """Keys and values of the encoder's output: (c, s, d) → (c, s, 2, h, e)."""
        key_value: Tensor = self.key_value(encoded)
        return key_value.view(*encoded.shape[:2], 2, self.heads, -1)

    def forward(self, x: Tensor, memory: Tensor, is_real: Tensor) -> Tensor:
        """Attend to the contexts.

        Args:
            x: normed input, (c, t, d).
            memory: from `memory`, (c, s, 2, h, e).
            is_real: False at the padding of the contexts, (c, s).

        Returns:
            (c, t, d).
        """
        key_value = memory.permute(2, 0, 3, 1, 4)
        attended: Tensor = self.output(self._mix(self.query(x), key_value, is_real[:, None, None, :]))
        return attended

    def step(self, x: Tensor, memory: Tensor, rows: Rows) -> Tensor:
        """Attend from one new position per row to the row's context.

        The samples of one context are the query positions: they share its keys and values without a copy.

        Args:
            x: normed input of the new position, (n, d).
            memory: memory of all contexts in the batch, as from `decoding_state.new_memory`,
                (2, ≥ c, h, capacity, e).
            rows: with the context of each row.

        Returns:
            (n, d).
        """
        query = rows.group_by_context(self.query(x))  # (c, samples, d)
        there = memory[:, : rows.contexts, :, : rows.context_length]
        mixed = self._mix(query, there, rows.context_mask)
        attended: Tensor = self.output(rows.ungroup(mixed))
        return attended

    def _mix(self, query: Tensor, key_value: Tensor, mask: Tensor) -> Tensor:
        """Average the values by attention: (c, t, d), (2, c, h, s, e), (c, 1, 1, s) → (c, t, d)."""
        dropout = self.dropout if self.training else 0.0
        return attend(split_heads(query, self.heads), *key_value, mask=mask, dropout=dropout)
