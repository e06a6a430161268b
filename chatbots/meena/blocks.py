"""The encoder and decoder blocks of the Evolved Transformer, and those of the Transformer of 2017.

Each sub-block is x + dropout(f(LayerNorm(x))): four in the Evolved Transformer's encoder block, five in its
decoder block. The Transformer of 2017, pre-norm, is there for comparison.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from chatbots.meena.attention import EncoderAttention, SelfAttention
from chatbots.meena.config import MeenaConfig
from chatbots.meena.decoding_state import Room, Rows, by_context, by_row, new_memory, new_past
from chatbots.meena.layers import (
    DecoderBranches,
    EncoderBranches,
    FeedForward,
    GatedLinearUnit,
    Norm,
    SwishFeedForward,
)


class EvolvedEncoderBlock(nn.Module):
    """Gated linear unit, convolution branches, self-attention, feed-forward.

    Args:
        config: sizes and dropout.

    Source: So, Liang and Le 2019, "The Evolved Transformer", arXiv:1901.11117, figure 3.
    """

    def __init__(self, config: MeenaConfig) -> None:
        super().__init__()
        d, dropout = config.hidden_size, config.dropout
        self.gate_norm, self.gate = Norm(d), GatedLinearUnit(d)
        self.branches_norm, self.branches = Norm(d), EncoderBranches(d)
        self.attention_norm = Norm(d)
        self.attention = SelfAttention(d, config.heads, dropout=dropout, causal=False)
        self.feed_forward_norm, self.feed_forward = Norm(d), FeedForward(d, dropout=dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, is_real: Tensor) -> Tensor:
        """Transform whole contexts.

        Args:
            x: (n, s, d).
            is_real: False at padding, (n, s).

        Returns:
            (n, s, d); arbitrary at padding.
        """
        x = x + self.dropout(self.gate(self.gate_norm(x)))
        x = x + self.dropout(self.branches(self.branches_norm(x), is_real))
        x = x + self.dropout(self.attention(self.attention_norm(x), is_real))
        x = x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))
        return x


@dataclass(frozen=True)
class EvolvedState:
    """The state of an `EvolvedDecoderBlock` between tokens.

    Attributes:
        wide: keys and values of the first self-attention as from `decoding_state.new_past`, of twice the
            heads.
        deep: keys and values of the second.
        past: inputs of the two convolutions side by side, behind 10 zeros, (10 + t, rows, d).
        past_both: inputs of the third convolution, behind 6 zeros, (6 + t, rows, 2d).
        first_memory: keys and values of the contexts for the first encoder attention as from
            `decoding_state.new_memory`.
        second_memory: the same for the second.
    """

    wide: Tensor
    deep: Tensor
    past: Tensor
    past_both: Tensor
    first_memory: Tensor
    second_memory: Tensor

    def tensors(self) -> Sequence[Tensor]:
        """All tensors of the state."""
        return self.wide, self.deep, self.past, self.past_both, self.first_memory, self.second_memory

    def row_tensors(self, shortest: int, longest: int) -> Sequence[Tensor]:
        """Tensors whose first axis is the row; a convolution looks back 10 or 6 positions at most."""
        past, past_both = self.past[shortest : longest + 10], self.past_both[shortest : longest + 6]
        attentions = by_row(self.wide, longest), by_row(self.deep, longest)
        return *attentions, past.transpose(0, 1), past_both.transpose(0, 1)

    def context_tensors(self) -> Sequence[Tensor]:
        """Tensors whose first axis is the context, in the order of `EvolvedDecoderBlock.memory`."""
        return by_context(self.first_memory), by_context(self.second_memory)


class EvolvedDecoderBlock(nn.Module):
    """Two attentions summed, convolution branches, self-attention, encoder attention, feed-forward.

    Args:
        config: sizes and dropout.

    Source: So, Liang and Le 2019, "The Evolved Transformer", arXiv:1901.11117, figure 3.
    """

    def __init__(self, config: MeenaConfig) -> None:
        super().__init__()
        d, h, dropout = config.hidden_size, config.heads, config.dropout
        self.config = config
        self.first_norm = Norm(d)
        self.wide_attention = SelfAttention(d, config.wide_heads, dropout=dropout, causal=True)
        self.first_encoder_attention = EncoderAttention(d, h, dropout=dropout)
        self.branches_norm, self.branches = Norm(d), DecoderBranches(d)
        self.deep_norm = Norm(d)
        self.deep_attention = SelfAttention(d, h, dropout=dropout, causal=True)
        self.second_norm = Norm(d)
        self.second_encoder_attention = EncoderAttention(d, h, dropout=dropout)
        self.feed_forward_norm, self.feed_forward = Norm(d), SwishFeedForward(d, dropout=dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, encoded: Tensor, context_is_real: Tensor) -> Tensor:
        """Transform whole responses. Padding on the right needs no mask: nothing before it sees it.

        Args:
            x: (n, t, d).
            encoded: the encoder's output, (n, s, d).
            context_is_real: False at the contexts' padding, (n, s).

        Returns:
            (n, t, d).
        """
        first_memory, second_memory = self.memory(encoded)
        normed = self.first_norm(x)
        to_context = self.first_encoder_attention(normed, first_memory, context_is_real)
        x = x + self.dropout(self.wide_attention(normed) + to_context)
        x = x + self.dropout(self.branches(self.branches_norm(x)))
        x = x + self.dropout(self.deep_attention(self.deep_norm(x)))
        x = x + self.dropout(
            self.second_encoder_attention(self.second_norm(x), second_memory, context_is_real)
        )
        x = x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))
        return x

    def memory(self, encoded: Tensor) -> tuple[Tensor, Tensor]:
        """Keys and values for the two encoder attentions: (c, s, d) → twice (c, s, 2, h, e)."""
        return self.first_encoder_attention.memory(encoded), self.second_encoder_attention.memory(encoded)

    def new_state(self, room: Room) -> EvolvedState:
        """Allocate an empty state for a decoding batch, on the block's device and in its type."""
        d, h, like = self.config.hidden_size, self.config.heads, self.first_norm.weight
        rows, t = room.rows, room.positions
        wide, deep = (
            new_past(like, rows=rows, heads=heads, positions=t, channels=d // heads)
            for heads in (self.config.wide_heads, h)
        )
        convolutions = like.new_zeros(10 + t, rows, d), like.new_zeros(6 + t, rows, 2 * d)
        return EvolvedState(wide, deep, *convolutions, *(new_memory(like, room, h, d // h) for _ in range(2)))

    def step(self, x: Tensor, state: EvolvedState, rows: Rows) -> Tensor:
        """Transform one new position per row; equal to that position of `forward`.

        Args:
            x: (n, d).
            state: state of this block; advanced by one position.
            rows: positions and contexts of the rows.

        Returns:
            (n, d).
        """
        normed = self.first_norm(x)
        to_context = self.first_encoder_attention.step(normed, state.first_memory, rows)
        x = x + (self.wide_attention.step(normed, state.wide, rows) + to_context)
        x = x + self.branches.step(self.branches_norm(x), state.past, state.past_both, rows)
        x = x + self.deep_attention.step(self.deep_norm(x), state.deep, rows)
        x = x + self.second_encoder_attention.step(self.second_norm(x), state.second_memory, rows)
        stepped: Tensor = x + self.feed_forward(self.feed_forward_norm(x))
        return stepped


class VanillaEncoderBlock(nn.Module):
    """Self-attention, feed-forward.

    Args:
        config: sizes and dropout.

    Source: Vaswani et al. 2017, arXiv:1706.03762, with the norm first as in Tensor2Tensor.
    """

    def __init__(self, config: MeenaConfig) -> None:
        super().__init__()
        d, dropout = config.hidden_size, config.dropout
        self.attention_norm = Norm(d)
        self.attention = SelfAttention(d, config.heads, dropout=dropout, causal=False)
        self.feed_forward_norm, self.feed_forward = Norm(d), FeedForward(d, dropout=dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, is_real: Tensor) -> Tensor:
        """Transform whole contexts: (n, s, d), mask (n, s) → (n, s, d)."""
        x = x + self.dropout(self.attention(self.attention_norm(x), is_real))
        x = x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))
        return x


@dataclass(frozen=True)
class VanillaState:
    """The state of a `VanillaDecoderBlock` between tokens.

    Attributes:
        past: keys and values of the self-attention as from `decoding_state.new_past`.
        memory: keys and values of the contexts as from `decoding_state.new_memory`.
    """

    past: Tensor
    memory: Tensor

    def tensors(self) -> Sequence[Tensor]:
        """All tensors of the state."""
        return self.past, self.memory

    def row_tensors(self, shortest: int, longest: int) -> Sequence[Tensor]:
        """Tensors whose first axis is the row."""
        return (by_row(self.past, longest),)

    def context_tensors(self) -> Sequence[Tensor]:
        """Tensors whose first axis is the context, in the order of `VanillaDecoderBlock.memory`."""
        return (by_context(self.memory),)


class VanillaDecoderBlock(nn.Module):
    """Causal self-attention, encoder attention, feed-forward.

    Args:
        config: sizes and dropout.

    Source: Vaswani et al. 2017, arXiv:1706.03762, with the norm first as in Tensor2Tensor.
    """

    def __init__(self, config: MeenaConfig) -> None:
        super().__init__()
        d, dropout = config.hidden_size, config.dropout
        self.config = config
        self.attention_norm = Norm(d)
        self.attention = SelfAttention(d, config.heads, dropout=dropout, causal=True)
        self.encoder_attention_norm = Norm(d)
        self.encoder_attention = EncoderAttention(d, config.heads, dropout=dropout)
        self.feed_forward_norm, self.feed_forward = Norm(d), FeedForward(d, dropout=dropout)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, encoded: Tensor, context_is_real: Tensor) -> Tensor:
        """Transform whole responses: (n, t, d), the contexts (n, s, d) and their mask (n, s) → (n, t, d)."""
        (memory,) = self.memory(encoded)
        x = x + self.dropout(self.attention(self.attention_norm(x)))
        x = x + self.dropout(self.encoder_attention(self.encoder_attention_norm(x), memory, context_is_real))
        x = x + self.dropout(self.feed_forward(self.feed_forward_norm(x)))
        return x

    def memory(self, encoded: Tensor) -> tuple[Tensor]:
        """Keys and values for the encoder attention: (c, s, d) → (c, s, 2, h, e)."""
        return (self.encoder_attention.memory(encoded),)

    def new_state(self, room: Room) -> VanillaState:
        """Allocate an empty state for a decoding batch, on the block's device and in its type."""
        d, h, like = self.config.hidden_size, self.config.heads, self.attention_norm.weight
        past = new_past(like, rows=room.rows, heads=h, positions=room.positions, channels=d // h)
        return VanillaState(past, new_memory(like, room, h, d // h))

    def step(self, x: Tensor, state: VanillaState, rows: Rows) -> Tensor:
        """Transform one new position per row, (n, d) → (n, d); equal to that position of `forward`."""
        x = x + self.attention.step(self.attention_norm(x), state.past, rows)
        x = x + self.encoder_attention.step(self.encoder_attention_norm(x), state.memory, rows)
        stepped: Tensor = x + self.feed_forward(self.feed_forward_norm(x))
        return stepped
