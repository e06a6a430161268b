"""GRUs over sequences of uneven length, without a computation for padding.

Shapes: u sequences, t positions, p real positions of all sequences, b sequences that reach a position,
d width, h size of the state. In a `PackedSequence` the real positions stand position by position, longest
sequence first.

Latent variables: normal distributions with a diagonal covariance.

Shapes: n variables, z numbers of each.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import linear, softplus
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

KEEP = 2.0
"""Initial bias of the update gate: at first, the state is mostly kept."""


def gru(inputs: int, size: int, *, bidirectional: bool = False) -> nn.GRU:
    """Create one GRU layer with orthogonal recurrent weights per gate, which at first keeps its state.

    Args:
        inputs: width of its input.
        size: size of its state, in each direction.
        bidirectional: True for a second layer that reads from the end.
    """
    made = nn.GRU(inputs, size, batch_first=True, bidirectional=bidirectional)
    with torch.no_grad():
        for name, parameter in made.named_parameters():
            if name.startswith("weight_hh"):
                for gate in parameter.chunk(3):
                    nn.init.orthogonal_(gate)
            elif name.startswith("weight_ih"):
                nn.init.xavier_uniform_(parameter)
            else:
                nn.init.zeros_(parameter)
            if name.startswith("bias_hh"):
                parameter.chunk(3)[1].fill_(KEEP)  # reset, update, new
    return made


def pack(values: Tensor, lengths: Tensor) -> PackedSequence:
    """Pack the real positions, without padding.

    Args:
        values: padded on the right, (u, t) or (u, t, d).
        lengths: real positions of each, at least 1, on the CPU, (u,).
    """
    return pack_padded_sequence(values, lengths, batch_first=True, enforce_sorted=False)


def repacked(data: Tensor, like: PackedSequence) -> PackedSequence:
    """Pack other values, (p, d), for the same positions."""
    return PackedSequence(data, like.batch_sizes, like.sorted_indices, like.unsorted_indices)


def run(layer: nn.GRU, packed: PackedSequence, first: Tensor | None = None) -> tuple[PackedSequence, Tensor]:
    """Compute the same as `layer(packed, first)`, with gradients.

    On the CPU it uses `PackedGRU`: PyTorch's backward pass of packed sequences fills a tensor of all
    positions with zeros at every position, which takes a third of a training step of a small model.

    Args:
        layer: one layer of one or two directions.
        packed: its input.
        first: the states before, (u, h), for a layer of one direction; default: zeros.

    Returns:
        The states after each position, and after each sequence, (u, h) or (u, 2h).
    """
    if packed.data.is_cuda:
        outputs, last = layer(packed, None if first is None else first.unsqueeze(0))
        return outputs, last.transpose(0, 1).flatten(1)
    sizes = packed.batch_sizes.tolist()
    start = packed.data.new_zeros(sizes[0], layer.hidden_size) if first is None else first
    if first is not None and packed.sorted_indices is not None:
        start = first[packed.sorted_indices]
    results = []
    for suffix in ("", "_reverse")[: 2 if layer.bidirectional else 1]:
        weights = [
            getattr(layer, f"{name}_l0{suffix}") for name in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
        ]
        inputs = linear(packed.data, weights[0], weights[2])
        results.append(_apply(inputs, start, weights[1], weights[3], sizes, bool(suffix)))
    outputs = torch.cat([each[0] for each in results], dim=1) if len(results) > 1 else results[0][0]
    last = torch.cat([each[1] for each in results], dim=1) if len(results) > 1 else results[0][1]
    if packed.unsorted_indices is not None:
        last = last[packed.unsorted_indices]
    return repacked(outputs, packed), last


class PackedGRU(torch.autograd.Function):
    """The recurrent part of a GRU over packed sequences, in one direction.

    Only one product and the gates run position by position. The inputs of the gates' gradients and the
    gradients of the weights are computed for all positions at once.
    """

    @staticmethod
    def forward(
        ctx: Any,
        inputs: Tensor,
        first: Tensor,
        weight: Tensor,
        bias: Tensor,
        sizes: list[int],
        backwards: bool,
    ) -> tuple[Tensor, Tensor]:
        """Run over all positions.

        Args:
            ctx: storage for the backward pass.
            inputs: the input after its product, (p, 3h): reset, update, new.
            first: the states before, longest sequence first, (u, h).
            weight: recurrent, (3h, h).
            bias: bias of that product, (3h,).
            sizes: b of each position.
            backwards: True to read from the end.

        Returns:
            The states after each position, (p, h), and after each sequence, (u, h).
        """
        h = first.size(1)
        state = first.clone()
        before, after = inputs.new_empty(len(inputs), h), inputs.new_empty(len(inputs), h)
        gates, recurrent_new = inputs.new_empty(len(inputs), 3 * h), inputs.new_empty(len(inputs), h)
        transposed = weight.t()
        for place, size in _places(sizes, backwards=backwards):
            here = slice(place, place + size)
            now = state[:size]
            before[here] = now
            recurrent = torch.addmm(bias, now, transposed)
            gate = gates[here]
            torch.add(inputs[here, : 2 * h], recurrent[:, : 2 * h], out=gate[:, : 2 * h]).sigmoid_()
            recurrent_new[here] = recurrent[:, 2 * h :]
            new = torch.addcmul(inputs[here, 2 * h :], gate[:, :h], recurrent[:, 2 * h :]).tanh_()
            gate[:, 2 * h :] = new
            torch.lerp(new, now, gate[:, h : 2 * h], out=after[here])
            state[:size] = after[here]
        ctx.save_for_backward(weight, before, gates, recurrent_new)
        ctx.sizes, ctx.backwards = sizes, backwards
        return after, state

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_after: Tensor, of_last: Tensor) -> tuple[Tensor | None, ...]:
        """Compute the gradients of inputs, first states, weight and bias."""
        weight, before, gates, recurrent_new = ctx.saved_tensors
        h = before.size(1)
        reset, update, new = gates.chunk(3, dim=1)
        to_new = (1 - update).mul_(1 - new.square())
        to_update = (before - new).mul_(update * (1 - update))
        to_reset = recurrent_new * reset * (1 - reset)
        of_inputs, of_recurrent = torch.empty_like(gates), torch.empty_like(gates)
        of_state = of_last.clone()
        for place, size in _places(ctx.sizes, backwards=not ctx.backwards):
            here = slice(place, place + size)
            of_now = of_state[:size]
            of_now += of_after[here]
            gate, recurrent = of_inputs[here], of_recurrent[here]
            of_new = torch.mul(of_now, to_new[here], out=gate[:, 2 * h :])
            torch.mul(of_now, to_update[here], out=gate[:, h : 2 * h])
            torch.mul(of_new, to_reset[here], out=gate[:, :h])
            recurrent[:, : 2 * h] = gate[:, : 2 * h]
            torch.mul(of_new, reset[here], out=recurrent[:, 2 * h :])
            of_now *= update[here]
            of_now.addmm_(recurrent, weight)
        return of_inputs, of_state, of_recurrent.t() @ before, of_recurrent.sum(dim=0), None, None


_apply: Any = PackedGRU.apply  # PyTorch leaves it without types


def _places(sizes: list[int], *, backwards: bool) -> list[tuple[int, int]]:
    """Start of each position and number of sequences that reach it, in reading order."""
    places, place = [], 0
    for size in sizes:
        places.append((place, size))
        place += size
    return places[::-1] if backwards else places


def states(layer: nn.GRU, packed: PackedSequence, first: Tensor | None = None) -> Tensor:
    """Return the state after each position, padded with zeros, (u, t, h)."""
    padded: Tensor = pad_packed_sequence(run(layer, packed, first)[0], batch_first=True)[0]
    return padded


LEAST_VARIANCE = 1e-6
"""Added to every variance, so that its logarithm is finite."""


class Normal(NamedTuple):
    """Independent normal distributions.

    Attributes:
        mean: (n, z).
        variance: above 0, (n, z).
    """

    mean: Tensor
    variance: Tensor

    def at(self, noise: Tensor) -> Tensor:
        """Transform standard normal numbers, (n, z), to a draw; gradients reach mean and variance."""
        return self.mean + self.variance.sqrt() * noise

    def log_density(self, value: Tensor) -> Tensor:
        """Log density of each variable, summed over its numbers, in nats, (n,)."""
        squared = (value - self.mean).square() / self.variance
        return -0.5 * (squared + self.variance.log() + math.log(2 * math.pi)).sum(dim=-1)


def standard_normal(like: Tensor) -> Normal:
    """Normal with mean 0 and variance 1, in the shape of a tensor."""
    return Normal(torch.zeros_like(like), torch.ones_like(like))


def divergence(posterior: Normal, prior: Normal) -> Tensor:
    """Kullback-Leibler divergence of the prior from the posterior, in nats, (n,).

    Source: Kingma and Welling 2014, arXiv:1312.6114, appendix B, for two normals.
    """
    ratio = posterior.variance / prior.variance
    shift = (posterior.mean - prior.mean).square() / prior.variance
    return 0.5 * (ratio + shift - 1 - ratio.log()).sum(dim=-1)


class NormalOf(nn.Module):
    """A normal distribution that depends on a vector: layers with Tanh, then mean and variance.

    Args:
        inputs: width of the vector.
        hidden: size of each layer.
        latent: z.
        layers: number of layers.
    """

    def __init__(self, inputs: int, hidden: int, latent: int, *, layers: int) -> None:
        super().__init__()
        widths = [inputs] + [hidden] * layers
        self.hidden = nn.Sequential(
            *(step for before, after in pairwise(widths) for step in (nn.Linear(before, after), nn.Tanh()))
        )
        self.mean = nn.Linear(hidden, latent)
        self.variance = nn.Linear(hidden, latent)

    def forward(self, inputs: Tensor) -> Normal:
        """Compute the distributions for vectors (n, d)."""
        hidden = self.hidden(inputs)
        return Normal(self.mean(hidden), softplus(self.variance(hidden)) + LEAST_VARIANCE)
