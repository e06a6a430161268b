"""Helpers of training runs: devices, learning rates, checks for finite numbers, state and checkpoints.

Steps are counted from 0.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from chatbots.errors import ChatbotError
from chatbots.training.checkpoint import CheckpointError, latest_checkpoint
from chatbots.training.settings import ModelConfig


class DeviceError(ChatbotError, ValueError):
    """A device that this machine or its PyTorch lacks; the message says what to use."""


def pick_device(name: str) -> torch.device:
    """Return the device of that name for training; with several GPUs, this process's own.

    Raises:
        DeviceError: this machine or this PyTorch does not have it.
    """
    try:
        device = torch.device(name)
        if device.type == "cuda":
            index = int(os.environ.get("LOCAL_RANK", "0")) if device.index is None else device.index
            device = torch.device("cuda", index)
            torch.cuda.set_device(device)  # must come first, or every process takes memory of the first GPU
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise _refused(name, error, "Use cpu, cuda or cuda:1.") from None
    return device


def device_of_bot(name: str) -> torch.device:
    """Return the device of that name for a bot that is being loaded.

    Raises:
        DeviceError: this machine or this PyTorch does not have it.
    """
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        raise _refused(name, error, "Use cpu, or another host.") from None


def _refused(name: str, error: Exception, cure: str) -> DeviceError:
    first_line = str(error).partition("\n")[0].rstrip(".")
    return DeviceError(f"device={name} cannot be used: {first_line}. {cure}")


Schedule = Callable[[int], float]
"""From a step to its learning rate."""


def cosine(peak: float, warmup: int, steps: int) -> Schedule:
    """Schedule that rises linearly, then falls to 0 along a cosine (arXiv:1608.03983, one period).

    Args:
        peak: the largest rate, above 0.
        warmup: steps until the peak, from 0.
        steps: after which the rate stays 0.
    """

    def rate(step: int) -> float:
        if step < warmup:
            return peak * (step + 1) / warmup
        done = min(1.0, (step - warmup) / max(1, steps - warmup))
        return peak * 0.5 * (1 + math.cos(math.pi * done))

    return rate


class TrainingDivergedError(Exception):
    """Loss, gradient or weights are not finite; names the step and the last good checkpoint."""


def set_rate(optimizer: Optimizer, rate: float) -> None:
    """Give an optimiser its learning rate."""
    for group in optimizer.param_groups:
        group["lr"] = rate


def refuse_other_config(checkpoint: Path, before: ModelConfig, now: ModelConfig) -> None:
    """Refuse to resume a run of another model.

    Raises:
        CheckpointError: the configurations differ.
    """
    if before != now:
        raise CheckpointError(f"{checkpoint} has another configuration. Use another --output, or that one's.")


def refuse_other_settings(
    checkpoint: Path, before: Mapping[str, Any], now: Mapping[str, Any], fixed: Iterable[str]
) -> None:
    """Refuse to resume a run under other settings.

    Args:
        checkpoint: to resume from.
        before: settings of the run.
        now: settings to resume with.
        fixed: names of settings that must be the same.

    Raises:
        CheckpointError: names each setting that differs, with both values.
    """
    changed = {name: (before.get(name), now[name]) for name in fixed if before.get(name) != now[name]}
    if changed:
        raise CheckpointError(f"{checkpoint} was trained with other settings (before, now): {changed}.")


def check_finite(run: Path, what: str, value: float, step: int) -> None:
    """Stop a run whose loss or gradient is not finite.

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
    """Collect the state of the optimiser and of the random generators, of a run in one process."""
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
    """Restore optimiser and random generators from `state_of_training`."""
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
