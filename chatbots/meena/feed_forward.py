"""The layers that see one position at a time. Shapes: d hidden size, … any leading axes."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn.functional import layer_norm, relu, sigmoid, silu


class Norm(nn.LayerNorm):
    """Layer normalisation; of float32 in float32, also where processes exchange its weights in bf16."""

    def forward(self, x: Tensor) -> Tensor:
        """Normalise each position: (…, d) → (…, d)."""
        if x.dtype == torch.float32 != self.weight.dtype:
            return layer_norm(x, self.normalized_shape, self.weight.float(), self.bias.float(), self.eps)
        return super().forward(x)


class GatedLinearUnit(nn.Module):
    """(W_v x + b_v) · sigmoid(W_g x + b_g), (…, d) → (…, d).

    Args:
        hidden_size: d.
    """

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.value = nn.Linear(hidden_size, hidden_size)
        self.gate = nn.Linear(hidden_size, hidden_size)

    def forward(self, x: Tensor) -> Tensor:
        """Gate each channel: (…, d) → (…, d)."""
        gated: Tensor = self.value(x) * sigmoid(self.gate(x))
        return gated


class FeedForward(nn.Module):
    """Dense d → 4d, ReLU, dense 4d → d.

    Args:
        hidden_size: d.
        dropout: share of the 4d activations dropped in training.
    """

    def __init__(self, hidden_size: int, *, dropout: float) -> None:
        super().__init__()
        self.widen = nn.Linear(hidden_size, 4 * hidden_size)
        self.narrow = nn.Linear(4 * hidden_size, hidden_size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Transform each position: (…, d) → (…, d)."""
        transformed: Tensor = self.narrow(self.dropout(relu(self.widen(x))))
        return transformed


class SwishFeedForward(nn.Module):
    """Dense d → 4d, swish, LayerNorm, dense 4d → d: the Evolved Transformer's decoder.

    Args:
        hidden_size: d.
        dropout: share of the 4d activations dropped in training.
    """

    def __init__(self, hidden_size: int, *, dropout: float) -> None:
        super().__init__()
        self.widen = nn.Linear(hidden_size, 4 * hidden_size)
        self.norm = Norm(4 * hidden_size)
        self.narrow = nn.Linear(4 * hidden_size, hidden_size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor) -> Tensor:
        """Transform each position: (…, d) → (…, d)."""
        transformed: Tensor = self.narrow(self.dropout(self.norm(silu(self.widen(x)))))
        return transformed
