"""Adafactor: second moments kept as one row and one column per matrix instead of one number per weight."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, Replicate
from torch.optim import Optimizer

FLOOR = 1e-30
"""Added to squared gradients."""
SMALLEST_SCALE = 1e-3
"""Least size that a tensor of weights counts as, so that zeros can start to move."""


class Adafactor(Optimizer):
    """Adafactor without momentum, in the version of Tensor2Tensor.

    The rate is relative: a tensor moves by the rate times its own root mean square. PyTorch has an Adafactor
    too, but it cannot update weights that are sharded over processes.

    Args:
        parameters: what is trained.
        rate: relative step size.

    Source: Shazeer and Stern 2018, arXiv:1804.04235, algorithms 4 and 5.
    """

    def __init__(self, parameters: Iterable[nn.Parameter], *, rate: float) -> None:
        super().__init__(parameters, {"lr": rate})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> None:  # type: ignore[override]
        """Update every parameter that has a gradient; there is no closure to call."""
        for group in self.param_groups:
            for parameter in group["params"]:
                if parameter.grad is not None:
                    self._update(parameter, parameter.grad, group["lr"])

    def _update(self, parameter: nn.Parameter, gradient: Tensor, rate: float) -> None:
        state = self.state[parameter]
        state["step"] = state.get("step", torch.tensor(0.0)) + 1
        step = int(state["step"])
        update = gradient * running_variance(gradient, state, decay=1 - step**-0.8).rsqrt()
        update = update / root_mean_square(update).clamp(min=1.0)
        scale = root_mean_square(parameter).clamp(min=SMALLEST_SCALE)
        parameter.sub_(update * scale * rate)


def running_variance(gradient: Tensor, state: dict[str, Any], *, decay: float) -> Tensor:
    """Running mean of squared gradients; of a matrix, as the product of its row and column means.

    Args:
        gradient: of one parameter.
        state: where the means are remembered.
        decay: weight of what is remembered, in [0, 1).
    """
    squared = gradient.square() + FLOOR
    if squared.dim() < 2:
        return remember(state, "all", squared, decay)
    rows = remember(state, "rows", squared.mean(dim=-1), decay)
    columns = remember(state, "columns", unsharded(squared.mean(dim=-2)), decay)
    share = rows / rows.mean(dim=-1, keepdim=True)
    return share.unsqueeze(-1) * columns.unsqueeze(-2)


def remember(state: dict[str, Any], name: str, new: Tensor, decay: float) -> Tensor:
    """Move the running mean of that name towards a new value, and return it."""
    state[name] = state[name] * decay + new * (1 - decay) if name in state else new
    mean: Tensor = state[name]
    return mean


def unsharded(x: Tensor) -> Tensor:
    """The same on every process, if weights are sharded over several."""
    return x.redistribute(placements=[Replicate()] * x.device_mesh.ndim) if isinstance(x, DTensor) else x


def root_mean_square(x: Tensor) -> Tensor:
    """Of all elements, a tensor without axes."""
    return x.square().mean().sqrt()
