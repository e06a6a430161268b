"""Training in several processes, on one machine or many, started by torchrun.

Parameters, gradients and optimiser states are sharded over the processes (FSDP). In a single process every
function here is trivial.

On disk, each process writes its own part of weights and states (PyTorch's distributed checkpoints, as
safetensors). A tensor may be spread over several files; other processes join or divide it when they read it.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, distributed, nn
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter
from torch.distributed.checkpoint.metadata import TensorStorageMetadata
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save
from torch.distributed.fsdp import FSDPModule, MixedPrecisionPolicy, fully_shard
from torch.distributed.tensor import DTensor, Replicate
from torch.distributed.tensor import empty as distributed_empty

from chatbots.meena.acceleration import Precision
from chatbots.meena.model import Meena
from chatbots.training.checkpoint import CheckpointError


@contextmanager
def process_group(device: torch.device) -> Iterator[tuple[int, int]]:
    """Join the processes that torchrun started, or none.

    Yields:
        This process's rank, and the number of processes; (0, 1) without torchrun.
    """
    ranks = int(os.environ.get("WORLD_SIZE", "1"))
    if ranks == 1:
        yield 0, 1
        return
    if device.type == "cuda":
        # Checkpoints are coordinated through the CPU.
        distributed.init_process_group("cpu:gloo,cuda:nccl", device_id=device)
    else:
        distributed.init_process_group("gloo")
    try:
        yield distributed.get_rank(), ranks
        distributed.barrier()  # the first process to leave would cut connections that others still use
    finally:
        distributed.destroy_process_group()


def shard_over_processes(model: Meena, ranks: int, precision: Precision) -> None:
    """Shard a model in place, block by block; does nothing in a single process.

    In bf16 the processes send each other the blocks' weights in bf16, half as much; what is sharded, and sums
    of gradients, stay in float32, and so do embedding and softmax.
    """
    if ranks == 1:
        return
    # All processes must start from the same weights.
    for tensor in (*model.parameters(), *model.buffers()):
        distributed.broadcast(tensor.data, src=0)
    policy = MixedPrecisionPolicy(
        param_dtype=torch.bfloat16 if precision == "bf16" else None,
        reduce_dtype=torch.float32,
        cast_forward_inputs=False,
    )
    for block in (*model.encoder, *model.decoder):
        fully_shard(block, mp_policy=policy)
    fully_shard(model)


def exchange_gradients(model: nn.Module, *, now: bool) -> None:
    """Choose if the next backward pass sums gradients over processes; else each adds up its own."""
    if isinstance(model, FSDPModule):
        model.set_requires_gradient_sync(now)


def whole(value: Tensor) -> Tensor:
    """Join a tensor from all processes' shards, on the CPU; all processes must call it together."""
    full: Tensor = value.full_tensor() if isinstance(value, DTensor) else value
    return full.detach().cpu()


def empty_state(parameter: Tensor, size: torch.Size, dtype: torch.dtype) -> Tensor:
    """Allocate this process's share of a state of the optimiser.

    Args:
        parameter: parameter of the state, sharded or not.
        size: size of the whole state, which may have fewer axes; sharded if its first one is the parameter's.
        dtype: dtype of the state.
    """
    if not isinstance(parameter, DTensor):
        return torch.empty(size, dtype=dtype, device=parameter.device)
    alike = size[0] == parameter.size(0)
    placements = parameter.placements if alike else [Replicate()] * parameter.device_mesh.ndim
    mesh = parameter.device_mesh
    return distributed_empty(*size, dtype=dtype, device_mesh=mesh, placements=placements)


def sum_over_processes(value: Tensor, ranks: int) -> Tensor:
    """Sum the values of all processes."""
    if ranks > 1:
        distributed.all_reduce(value)
    return value


def gather_over_processes(value: Tensor, device: torch.device, ranks: int) -> list[Tensor]:
    """Collect every process's value, in order of rank, on the CPU.

    Args:
        value: tensor of the same shape on every process.
        device: on which the processes exchange tensors.
        ranks: number of processes.
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


def wait_for_all(ranks: int) -> None:
    """Wait until every process has arrived here."""
    if ranks > 1:
        distributed.barrier()


SHARDS = "training"
"""The folder in a checkpoint where each process writes its share of the optimiser's state."""


@contextmanager
def _plain_errors(folder: Path, kind: type[Exception]) -> Iterator[None]:
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="torch.distributed is disabled, unavailable")
            yield
    except (CheckpointException, SafetensorError, OSError, KeyError, RuntimeError, ValueError) as error:
        cure = " Use an older checkpoint." if kind is CheckpointError else ""
        raise kind(f"{folder} cannot be read or written: {error}.{cure}") from error


def write_shards(folder: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write this process's part of tensors; all processes must call it together.

    Raises:
        OSError: a process could not write.
    """
    with _plain_errors(folder, OSError):
        save(dict(tensors), storage_writer=HuggingFaceStorageWriter(str(folder), save_distributed=True))


def write_whole(folder: Path, tensors: Mapping[str, Tensor]) -> Path:
    """Write tensors to one file in a separate folder; the first process joins them on disk."""
    writer = HuggingFaceStorageWriter(str(folder), save_distributed=True, enable_consolidation=True)
    with _plain_errors(folder, OSError):
        save(dict(tensors), storage_writer=writer)
    return folder / "model-00001-of-00001.safetensors"


def read_shards(folder: Path, tensors: Mapping[str, Tensor]) -> None:
    """Fill this process's part of tensors from the files in a folder.

    Raises:
        CheckpointError: the files are missing, cannot be read, or have other shapes.
    """
    with _plain_errors(folder, CheckpointError):
        alone = not distributed.is_initialized()
        load(dict(tensors), storage_reader=HuggingFaceStorageReader(str(folder)), no_dist=alone)


def shapes_in(folder: Path) -> dict[str, tuple[torch.Size, torch.dtype]]:
    """Sizes and types of the whole tensors whose parts are in a folder, by name."""
    with _plain_errors(folder, CheckpointError):
        tensors = HuggingFaceStorageReader(str(folder)).read_metadata().state_dict_metadata
        return {
            name: (metadata.size, metadata.properties.dtype)
            for name, metadata in tensors.items()
            if isinstance(metadata, TensorStorageMetadata)
        }


def read_plain(path: Path) -> dict[str, Tensor]:
    """Read counters and states of random generators, which are whole in one file."""
    with _plain_errors(path, CheckpointError), safe_open(path, framework="pt") as file:
        names = [name for name in file.keys() if name.startswith("random|")]  # noqa: SIM118 -- no mapping
        names += [name for name in file.keys() if not file.get_slice(name).get_shape()]  # noqa: SIM118
        return {name: file.get_tensor(name) for name in names}
