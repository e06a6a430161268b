"""Layers of single positions, and the convolution branches of the Evolved Transformer.

Shapes: d hidden size, … any leading axes; for convolutions n sequences, t positions, w width.
"""

from __future__ import annotations

from contextlib import nullcontext

import torch
from torch import Tensor, nn
from torch.nn.functional import conv2d, layer_norm, pad, relu, sigmoid, silu

from chatbots.meena.decoding_state import Rows


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


def pad_positions(x: Tensor, before: int, after: int) -> Tensor:
    """Add zeros around the positions: (n, t, d) → (n, before + t + after, d)."""
    return pad(x, (0, 0, before, after))


def pad_channels(x: Tensor, channels: int) -> Tensor:
    """Add zeros after the channels: (…, k) → (…, channels)."""
    return pad(x, (0, channels - x.size(-1)))


def convolve_channels(padded: Tensor, weight: Tensor) -> Tensor:
    """Convolve each channel with its own weights.

    Args:
        padded: (n, w - 1 + t, channels).
        weight: (w, channels).

    Returns:
        (n, t, channels).
    """
    # As an image of height 1 with channels last, the input needs no copy. On the CPU autocast is off: the
    # backward pass takes twice as long in bf16 as in float32. On a GPU it takes half as long.
    device = padded.device.type
    with torch.autocast(device, enabled=False) if device == "cpu" else nullcontext():
        image = padded.to(weight.dtype).transpose(1, 2).unsqueeze(2)
        kernel = weight.t()[:, None, None, :]
        return conv2d(image, kernel, groups=weight.size(1)).squeeze(2).transpose(1, 2)


class SeparableConvolution(nn.Module):
    """A convolution per channel without bias, then a dense layer across channels with one.

    Its input must be padded by w - 1 positions: on the left for a causal convolution, evenly to keep
    positions.

    Args:
        inputs: channels in.
        outputs: channels out.
        width: w.
    """

    def __init__(self, inputs: int, outputs: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.depthwise = nn.Parameter(torch.empty(width, inputs))
        self.pointwise = nn.Linear(inputs, outputs)
        nn.init.uniform_(self.depthwise, -((3 / width) ** 0.5), (3 / width) ** 0.5)

    def forward(self, padded: Tensor) -> Tensor:
        """Convolve whole sequences: (n, w - 1 + t, inputs) → (n, t, outputs)."""
        convolved: Tensor = self.pointwise(convolve_channels(padded, self.depthwise))
        return convolved

    def step(self, window: Tensor) -> Tensor:
        """Convolve the last w inputs of each row: (w, n, inputs) → (n, outputs)."""
        if window.device.type != "cpu":
            # On a GPU, calling eleven kernels takes longer than what they compute.
            mixed = (window * self.depthwise.unsqueeze(1)).sum(dim=0, dtype=window.dtype)
            of_all: Tensor = self.pointwise(mixed)
            return of_all
        inputs, weights = window.unbind(), self.depthwise.unbind()
        mixed = inputs[0] * weights[0]
        # Added up in place: all products at once do not fit a core's cache.
        for one, weight in zip(inputs[1:], weights[1:], strict=True):
            mixed.addcmul_(one, weight)
        convolved: Tensor = self.pointwise(mixed)
        return convolved


class EncoderBranches(nn.Module):
    """A dense layer and a convolution side by side, then a separable convolution over their sum.

    Args:
        hidden_size: d.
    """

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.left = nn.Linear(hidden_size, 4 * hidden_size)
        self.right = nn.Conv1d(hidden_size, hidden_size // 2, kernel_size=3, padding=1)
        self.norm = Norm(4 * hidden_size)
        self.last = SeparableConvolution(4 * hidden_size, hidden_size // 2, width=9)

    def forward(self, x: Tensor, is_real: Tensor) -> Tensor:
        """Mix each position with its neighbours.

        Args:
            x: normed input, (n, t, d).
            is_real: False at padding, which is zeroed before every convolution, (n, t).

        Returns:
            (n, t, d), the upper half of the channels zero.
        """
        real = is_real.unsqueeze(-1)
        left = relu(self.left(x))  # (n, t, 4d)
        right = relu(self.right((x * real).transpose(1, 2)).transpose(1, 2))  # (n, t, d / 2)
        both = self.norm(left + pad_channels(right, left.size(-1))) * real
        return pad_channels(self.last(pad_positions(both, before=4, after=4)), x.size(-1))


class DecoderBranches(nn.Module):
    """Two separable convolutions side by side, then a third over their sum; all causal.

    Args:
        hidden_size: d.
    """

    def __init__(self, hidden_size: int) -> None:
        super().__init__()
        self.left = SeparableConvolution(hidden_size, 2 * hidden_size, width=11)
        self.right = SeparableConvolution(hidden_size, hidden_size // 2, width=7)
        self.norm = Norm(2 * hidden_size)
        self.last = SeparableConvolution(2 * hidden_size, hidden_size, width=7)

    def forward(self, x: Tensor) -> Tensor:
        """Mix each position with earlier ones: normed input (n, t, d) → (n, t, d)."""
        left = relu(self.left(pad_positions(x, before=10, after=0)))  # (n, t, 2d)
        right = self.right(pad_positions(x, before=6, after=0))  # (n, t, d / 2)
        both = self.norm(left + pad_channels(right, left.size(-1)))
        convolved: Tensor = self.last(pad_positions(both, before=6, after=0))
        return convolved

    def step(self, x: Tensor, past: Tensor, past_both: Tensor, rows: Rows) -> Tensor:
        """Mix one new position per row with the ones before it.

        Args:
            x: normed input of the new position, (n, d).
            past: inputs of the first two convolutions at earlier positions behind 10 zeros,
                (10 + capacity, ≥ n, d); the new one is written into it.
            past_both: inputs of the last convolution behind 6 zeros, (6 + capacity, ≥ n, 2d); likewise.
            rows: which positions are new.

        Returns:
            (n, d).
        """
        window = rows.window(past, x, width=11)  # (11, n, d)
        left = relu(self.left.step(window))  # (n, 2d)
        right = self.right.step(window[-7:])  # (n, d / 2)
        left[:, : right.size(-1)].add_(right)  # the sum of `forward`, without zeros
        both = self.norm(left)
        return self.last.step(rows.window(past_both, both, width=7))
