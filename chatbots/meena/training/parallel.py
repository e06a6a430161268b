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
from torch.distributed.tensor import DTensor, Replicate, distribute_tensor

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
        distributed.barrier()  # whoever leaves first would cut the others' connections while they still talk
    finally:
        distributed.destroy_process_group()


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


def whole(value: Tensor) -> Tensor:
    """A tensor put together from all processes' shards, on the CPU; all processes must call it together."""
    full: Tensor = value.full_tensor() if isinstance(value, DTensor) else value
    return full.detach().cpu()


def shard_like(parameter: Tensor, value: Tensor) -> Tensor:
    """This process's shard of something that belongs to a parameter.

    Args:
        parameter: a parameter, sharded or not.
        value: whole: new weights, or a state of the optimiser with fewer axes, which is sharded if its first
            axis is the parameter's.
    """
    if not isinstance(parameter, DTensor):
        return value
    alike = value.size(0) == parameter.size(0)
    placements = parameter.placements if alike else [Replicate()] * parameter.device_mesh.ndim
    return distribute_tensor(value, parameter.device_mesh, placements, src_data_rank=None)


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
    return whole(norm)
