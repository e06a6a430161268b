"""The encoder block of the Evolved Transformer: four sub-blocks, each x + dropout(f(LayerNorm(x)))."""

from __future__ import annotations

from torch import Tensor, nn

from chatbots.meena.attention import SelfAttention
from chatbots.meena.config import MeenaConfig
from chatbots.meena.convolution import EncoderBranches
from chatbots.meena.feed_forward import FeedForward, GatedLinearUnit, Norm


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
