"""Optimisers and how their learning rate runs. Steps are counted from 0."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Literal

from torch import nn
from torch.optim import AdamW, Optimizer

from chatbots.meena.training.adafactor import Adafactor
from chatbots.training.schedules import Schedule, cosine

OptimizerName = Literal["adafactor", "adamw"]
CONSTANT_STEPS = 10_000


def make_optimizer(
    name: OptimizerName, parameters: Iterable[nn.Parameter], *, learning_rate: float, warmup: int, steps: int
) -> tuple[Optimizer, Schedule]:
    """An optimiser and its schedule.

    Args:
        name: "adafactor" or "adamw".
        parameters: what is trained.
        learning_rate: Adafactor's relative step size (the paper: 0.01), or AdamW's peak.
        warmup: steps over which AdamW's rate rises.
        steps: where AdamW's rate reaches zero.
    """
    if name == "adafactor":
        return Adafactor(parameters, rate=learning_rate), inverse_square_root(learning_rate)
    adamw = AdamW(parameters, lr=learning_rate, betas=(0.9, 0.98), weight_decay=0.01)
    return adamw, cosine(learning_rate, warmup, steps)


def inverse_square_root(rate: float) -> Schedule:
    """The paper's schedule: constant for 10,000 steps, then falling with the inverse square root of the step.

    Args:
        rate: of the first steps; 0.01 in the paper.
    """
    return lambda step: rate * min(1.0, math.sqrt(CONSTANT_STEPS / (step + 1)))
