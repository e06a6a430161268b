"""Latent variables: normal distributions with a diagonal covariance.

Shapes: n variables, z numbers of each.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import softplus

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
        """The draw that standard normal numbers, (n, z), stand for; gradients reach mean and variance."""
        return self.mean + self.variance.sqrt() * noise

    def log_density(self, value: Tensor) -> Tensor:
        """Of each variable, summed over its numbers, in nats, (n,)."""
        squared = (value - self.mean).square() / self.variance
        return -0.5 * (squared + self.variance.log() + math.log(2 * math.pi)).sum(dim=-1)


def standard_normal(like: Tensor) -> Normal:
    """Mean 0 and variance 1, in the shape of a tensor."""
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
        hidden: of each layer.
        latent: z.
        layers: how many.
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
        """The distributions for vectors (n, d)."""
        hidden = self.hidden(inputs)
        return Normal(self.mean(hidden), softplus(self.variance(hidden)) + LEAST_VARIANCE)
