"""The blocks of the Transformer of 2017, pre-norm: what the Evolved Transformer is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from chatbots.meena.attention import EncoderAttention, SelfAttention
from chatbots.meena.config import MeenaConfig
from chatbots.meena.feed_forward import FeedForward, Norm
from chatbots.meena.memory import Room, by_context, by_row, new_memory, new_past
from chatbots.meena.rows import Rows


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
    """What a `VanillaDecoderBlock` remembers between tokens.

    Attributes:
        past: keys and values of the self-attention as of `memory.new_past`.
        memory: keys and values of the contexts as of `memory.new_memory`.
    """

    past: Tensor
    memory: Tensor

    def tensors(self) -> Sequence[Tensor]:
        """All of it."""
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
        """An empty memory for a decoding batch, on the block's device and of its type."""
        d, h, like = self.config.hidden_size, self.config.heads, self.attention_norm.weight
        past = new_past(like, rows=room.rows, heads=h, positions=room.positions, channels=d // h)
        return VanillaState(past, new_memory(like, room, h, d // h))

    def step(self, x: Tensor, state: VanillaState, rows: Rows) -> Tensor:
        """Transform one new position per row, (n, d) → (n, d); equal to that position of `forward`."""
        x = x + self.attention.step(self.attention_norm(x), state.past, rows)
        x = x + self.encoder_attention.step(self.encoder_attention_norm(x), state.memory, rows)
        stepped: Tensor = x + self.feed_forward(self.feed_forward_norm(x))
        return stepped
