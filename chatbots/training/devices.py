"""Where a model computes."""

from __future__ import annotations

import os

import torch

from chatbots.errors import ChatbotError


class DeviceError(ChatbotError, ValueError):
    """A device that this machine, or its PyTorch, does not have; the message says what to use."""


def pick_device(name: str) -> torch.device:
    """The device of that name for training; of several GPUs, this process's own.

    Raises:
        DeviceError: this machine or this PyTorch does not have it.
    """
    try:
        device = torch.device(name)
        if device.type == "cuda":
            index = int(os.environ.get("LOCAL_RANK", "0")) if device.index is None else device.index
            device = torch.device("cuda", index)
            torch.cuda.set_device(device)  # first of all, or every process takes memory of the first GPU
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise _refused(name, error, "Use cpu, cuda or cuda:1.") from None
    return device


def device_of_bot(name: str) -> torch.device:
    """The device of that name for a bot that is being loaded.

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
