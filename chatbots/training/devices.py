"""Where a model computes."""

from __future__ import annotations

import os

import torch


def pick_device(name: str) -> torch.device:
    """The device of that name; of several GPUs, this process's own.

    Raises:
        ValueError: this machine or this PyTorch does not have it.
    """
    try:
        device = torch.device(name)
        if device.type == "cuda":
            index = int(os.environ.get("LOCAL_RANK", "0")) if device.index is None else device.index
            device = torch.device("cuda", index)
            torch.cuda.set_device(device)  # first of all, or every process takes memory of the first GPU
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        first_line = str(error).partition("\n")[0]
        raise ValueError(f"device={name} cannot be used: {first_line} Use cpu, cuda or cuda:1.") from None
    return device
