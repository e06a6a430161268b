"""Optimisers and how their learning rate runs."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Literal

from torch import nn
from torch.optim import AdamW, Optimizer
from torch.optim.lr_scheduler import LambdaLR

from chatbots.meena.training.adafactor import Adafactor

OptimizerName = Literal["adafactor", "adamw"]


def make_optimizer(
    name: OptimizerName, parameters: Iterable[nn.Parameter], *, learning_rate: float, warmup: int, steps: int
) -> tuple[Optimizer, LambdaLR]:
    """An optimiser and the schedule that is stepped with it.

    Adafactor is the paper's and lowers its own rate. AdamW warms up, then falls to zero along a cosine.

    Args:
        name: "adafactor" or "adamw".
        parameters: what is trained.
        learning_rate: Adafactor's relative step size (the paper: 0.01), or AdamW's peak.
        warmup: steps over which AdamW's rate rises; Adafactor needs none.
        steps: where AdamW's rate reaches zero.
    """
    if name == "adafactor":
        adafactor = Adafactor(parameters, rate=learning_rate)
        return adafactor, LambdaLR(adafactor, constant)
    adamw = AdamW(parameters, lr=learning_rate, betas=(0.9, 0.98), weight_decay=0.01)
    return adamw, LambdaLR(adamw, cosine(warmup, steps))


def constant(_step: int) -> float:
    """1: Adafactor lowers its own rate."""
    return 1.0


def cosine(warmup: int, steps: int) -> Callable[[int], float]:
    """Factor of the peak rate: up in a line over `warmup` steps, then down along a cosine to 0 at `steps`."""

    def factor(step: int) -> float:
        if step < warmup:
            return (step + 1) / warmup
        done = min(1.0, (step - warmup) / max(1, steps - warmup))
        return 0.5 * (1 + math.cos(math.pi * done))

    return factor
