"""Training in several processes, on one machine or many, started by torchrun.

Parameters, gradients and optimiser states are sharded over the processes (FSDP). In a single process every
function here does the obvious thing.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, distributed, nn
from torch.distributed.fsdp import fully_shard

from chatbots.meena.model import Meena


@contextmanager
def process_group(device: torch.device) -> Iterator[tuple[int, int]]:
    """Join the processes that torchrun started.

    Yields:
        This process's rank, and how many there are; (0, 1) without torchrun.
    """
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if ranks == 1:
        yield 0, 1
        return
    distributed.init_process_group("nccl" if device.type == "cuda" else "gloo")
    try:
        yield distributed.get_rank(), ranks
    finally:
        distributed.destroy_process_group()


def pick_device(name: str) -> torch.device:
    """The device of that name; of several GPUs, this process's own."""
    if name == "cuda":
        return torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
    return torch.device(name)


def shard_over_processes(model: Meena, ranks: int) -> None:
    """Shard a model in place, block by block; leave it alone in a single process."""
    if ranks == 1:
        return
    # All processes must start from the same weights.
    for tensor in (*model.parameters(), *model.buffers()):
        distributed.broadcast(tensor.data, src=0)
    for block in (*model.encoder, *model.decoder):
        fully_shard(block)
    fully_shard(model)


def sum_over_processes(value: Tensor, ranks: int) -> Tensor:
    """The sum of every process's value."""
    if ranks > 1:
        distributed.all_reduce(value)
    return value


def gather_over_processes(value: Tensor, device: torch.device, ranks: int) -> list[Tensor]:
    """Every process's value, in order of rank, on the CPU.

    Args:
        value: of the same shape everywhere.
        device: where the processes exchange tensors.
        ranks: how many processes.
    """
    if ranks == 1:
        return [value]
    gathered = [torch.empty_like(value, device=device) for _ in range(ranks)]
    distributed.all_gather(gathered, value.to(device))
    return [one.cpu() for one in gathered]


def clip_gradients(model: nn.Module, most: float) -> Tensor:
    """Scale gradients so that their norm over all processes is at most `most`; return the norm before."""
    norm = nn.utils.clip_grad_norm_(model.parameters(), most)
    full: Tensor = norm.full_tensor() if hasattr(norm, "full_tensor") else norm
    return full
