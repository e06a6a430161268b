"""Settings of training with their ranges, the optimisers, and their learning rates.

Adafactor stores second moments as one row and one column per matrix instead of one number per weight. Steps
are counted from 0.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.distributed.tensor import DTensor, Replicate
from torch.optim import AdamW, Optimizer

from chatbots.meena.acceleration import Precision
from chatbots.training.running import Schedule, cosine
from chatbots.training.settings import check_least, check_rate

FLOOR = 1e-30
"""Added to squared gradients."""
SMALLEST_SCALE = 1e-3
"""Least size that a tensor of weights counts as, so that zeros can start to move."""


class Adafactor(Optimizer):
    """Adafactor without momentum, in the version of Tensor2Tensor.

    The rate is relative: a tensor moves by the rate times its own root mean square. PyTorch has an Adafactor
    too, but it cannot update weights that are sharded over processes.

    Args:
        parameters: to train.
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
        update = normalised(gradient, state, decay=1 - step**-0.8)
        shrink = root_mean_square(update).clamp(min=1.0)
        scale = root_mean_square(parameter).clamp(min=SMALLEST_SCALE)
        parameter.sub_(update.mul_(scale / shrink), alpha=rate)


def normalised(gradient: Tensor, state: dict[str, Any], *, decay: float) -> Tensor:
    """Divide a gradient by the root of the running mean of its squares.

    A matrix's mean is the product of its row and column means. It is never built: on a GPU, reading and
    writing tensors as large as the weights takes most of a step of the optimiser.

    Args:
        gradient: gradient of one parameter.
        state: stores the means.
        decay: weight of the stored mean, in [0, 1).

    Returns:
        A new tensor of the same shape.
    """
    squared = gradient.square()
    if squared.dim() < 2:
        return gradient * remember(state, "all", squared + FLOOR, decay).rsqrt()
    rows = remember(state, "rows", squared.mean(dim=-1) + FLOOR, decay)
    columns = remember(state, "columns", unsharded(squared.mean(dim=-2)) + FLOOR, decay)
    share = rows / rows.mean(dim=-1, keepdim=True)
    return (gradient * share.rsqrt().unsqueeze(-1)).mul_(columns.rsqrt().unsqueeze(-2))


def remember(state: dict[str, Any], name: str, new: Tensor, decay: float) -> Tensor:
    """Move the running mean of that name towards a new value, and return it."""
    mean: Tensor = state.setdefault(name, new)
    return mean if mean is new else mean.lerp_(new, 1 - decay)


def unsharded(x: Tensor) -> Tensor:
    """Return the tensor whole on every process if weights are sharded over several."""
    return x.redistribute(placements=[Replicate()] * x.device_mesh.ndim) if isinstance(x, DTensor) else x


def root_mean_square(x: Tensor) -> Tensor:
    """Root mean square of all elements, a tensor without axes.

    The norms of rows come first: one norm of all elements is a thousandth off for the largest matrices.
    """
    rows = torch.linalg.vector_norm(x, dim=-1) if x.dim() > 1 else x
    whole: Tensor = torch.linalg.vector_norm(rows)
    return whole / math.sqrt(x.numel())


OptimizerName = Literal["adafactor", "adamw"]
CONSTANT_STEPS = 10_000


def make_optimizer(
    name: OptimizerName, parameters: Iterable[nn.Parameter], *, learning_rate: float, warmup: int, steps: int
) -> tuple[Optimizer, Schedule]:
    """Create an optimiser and its schedule.

    Args:
        name: "adafactor" or "adamw".
        parameters: to train.
        learning_rate: Adafactor's relative step size (the paper: 0.01), or AdamW's peak.
        warmup: steps over which AdamW's rate rises.
        steps: after which AdamW's rate is zero.
    """
    if name == "adafactor":
        return Adafactor(parameters, rate=learning_rate), inverse_square_root(learning_rate)
    adamw = AdamW(parameters, lr=learning_rate, betas=(0.9, 0.98), weight_decay=0.01)
    return adamw, cosine(learning_rate, warmup, steps)


def inverse_square_root(rate: float) -> Schedule:
    """The paper's schedule: constant for 10,000 steps, then falling with the inverse square root of the step.

    Args:
        rate: rate of the first steps; 0.01 in the paper.
    """
    return lambda step: rate * min(1.0, math.sqrt(CONSTANT_STEPS / (step + 1)))


MUST_STAY = (
    "optimizer", "learning_rate", "warmup", "positions", "seed", "teacher",
    "teacher_temperature", "teacher_weight",
)  # fmt: skip
LEAST = {"steps": 1, "warmup": 0, "positions": 1, "accumulation": 1, "clip": 0, "seed": 0}
LEAST |= {"validate_every": 1, "checkpoint_every": 1, "keep": 0}
"""Least values of settings."""


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """Settings of training.

    Attributes:
        steps: updates in all.
        optimizer: "adafactor" (the paper's) or "adamw".
        learning_rate: see `make_optimizer`.
        warmup: steps over which AdamW's rate rises.
        positions: most positions, padding included, of one batch of one process.
        accumulation: batches per update and process.
        precision: type of activations and matrix products; weights stay float32.
        clip: largest norm of the gradient; 0 for none.
        seed: seed of weights, order and dropout.
        validate_every: steps between measurements on held-out pairs.
        checkpoint_every: steps between checkpoints.
        keep: newest checkpoints kept; 0 keeps all.
        compile: True to compile the model first.
        recompute: True to store only the inputs of blocks and recompute the rest in the backward pass: less
            memory, a third more time, the same numbers.
        teacher: hash of the weights of a further model to learn from; "" for none.
        teacher_temperature: T by which both models' scores are divided for the comparison.
        teacher_weight: share of that comparison in the loss, in [0, 1]; the rest is the likelihood.

    Raises:
        ValueError: a number out of its range.
    """

    steps: int
    optimizer: OptimizerName = "adafactor"
    learning_rate: float = 0.01
    warmup: int = 500
    positions: int = 8192
    accumulation: int = 1
    precision: Precision = "fp32"
    clip: float = 1.0
    seed: int = 0
    validate_every: int = 1000
    checkpoint_every: int = 1000
    keep: int = 3
    compile: bool = False
    recompute: bool = False
    teacher: str = ""
    teacher_temperature: float = 2.0
    teacher_weight: float = 0.5

    def __post_init__(self) -> None:
        check_least(self, LEAST)
        check_rate(self.learning_rate)
        if not 0 < self.teacher_temperature < math.inf:
            raise ValueError(f"teacher_temperature={self.teacher_temperature} must be above 0, and finite.")
        if not 0 <= self.teacher_weight <= 1:
            raise ValueError(f"teacher_weight={self.teacher_weight} must be from 0 to 1.")
