"""How a model is trained: every number with its range."""

from __future__ import annotations

import math
from dataclasses import dataclass

from chatbots.meena.precision import Precision
from chatbots.meena.training.optimizing import OptimizerName
from chatbots.training.settings import check_range

MUST_STAY = (
    "optimizer", "learning_rate", "warmup", "positions", "seed", "teacher",
    "teacher_temperature", "teacher_weight",
)  # fmt: skip
LEAST = {"steps": 1, "warmup": 0, "positions": 1, "accumulation": 1, "clip": 0, "seed": 0}
LEAST |= {"validate_every": 1, "checkpoint_every": 1, "keep": 0}
"""Least values of settings."""
LARGEST = 2**62


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """How a model is trained.

    Attributes:
        steps: updates in all.
        optimizer: "adafactor" (the paper's) or "adamw".
        learning_rate: see `make_optimizer`.
        warmup: steps over which AdamW's rate rises.
        positions: most positions, padding included, of one batch of one process.
        accumulation: batches per update and process.
        precision: type of activations and matrix products; weights stay float32.
        clip: most norm of the gradient; 0 for none.
        seed: of weights, order and dropout.
        validate_every: steps between measurements on held-out pairs.
        checkpoint_every: steps between checkpoints.
        keep: newest checkpoints kept; 0 keeps all.
        compile: whether to compile the model first.
        recompute: whether to remember the inputs of blocks alone and compute the rest again on the way back:
            less memory, a third more time, the same numbers.
        teacher: hash of the weights of the model that is learnt from, too; "": none.
        teacher_temperature: T by which both models' scores are divided where they are compared.
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
        for name, least in LEAST.items():
            check_range(name, getattr(self, name), least=least, most=LARGEST)
        if not 0 < self.learning_rate < math.inf:
            raise ValueError(f"learning_rate={self.learning_rate} must be above 0, and finite.")
        if not 0 < self.teacher_temperature < math.inf:
            raise ValueError(f"teacher_temperature={self.teacher_temperature} must be above 0, and finite.")
        if not 0 <= self.teacher_weight <= 1:
            raise ValueError(f"teacher_weight={self.teacher_weight} must be from 0 to 1.")
