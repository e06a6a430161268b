"""What a run of training needs beside its model: where it stood, and whether its numbers are still any."""

from __future__ import annotations

import math
import shutil
from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from chatbots.training.checkpoint import latest_checkpoint


class TrainingDivergedError(Exception):
    """Loss, gradient or weights are no numbers any more; says at which step, and which checkpoint is good."""


def check_finite(run: Path, what: str, value: float, step: int) -> None:
    """Stop a run whose loss or gradient is infinite or no number.

    Raises:
        TrainingDivergedError: names the step and the last good checkpoint.
    """
    if not math.isfinite(value):
        raise TrainingDivergedError(
            f"The {what} is {value} at step {step}. The last good checkpoint is "
            f"{latest_checkpoint(run) or 'none'}. Start a run with a lower --learning-rate."
        )


def state_of_training(
    parameters: Mapping[str, nn.Parameter], optimizer: Optimizer, device: torch.device
) -> dict[str, Tensor]:
    """The optimiser's tensors and the states of the random generators, of a run in one process."""
    tensors = {
        f"{name}|{key}": value.detach().cpu()
        for name, parameter in parameters.items()
        for key, value in optimizer.state[parameter].items()
    }
    tensors["random|cpu"] = torch.get_rng_state()
    if device.type == "cuda":
        tensors["random|cuda"] = torch.cuda.get_rng_state(device)
    return tensors


def restore_training(
    tensors: Mapping[str, Tensor],
    parameters: Mapping[str, nn.Parameter],
    optimizer: Optimizer,
    device: torch.device,
) -> None:
    """Give optimiser and random generators what `state_of_training` found."""
    for name, state in tensors.items():
        owner, _, key = name.partition("|")
        if owner in parameters:
            # Adam's counters of steps stay on the CPU.
            optimizer.state[parameters[owner]][key] = state if state.dim() == 0 else state.to(device)
    torch.set_rng_state(tensors["random|cpu"])
    if device.type == "cuda" and "random|cuda" in tensors:
        torch.cuda.set_rng_state(tensors["random|cuda"], device)


def drop_old(run: Path, keep: int) -> None:
    """Delete all but the newest `keep` checkpoints of a run; 0 keeps all."""
    if keep:
        for old in sorted(run.glob("step-???????"))[:-keep]:
            shutil.rmtree(old)
