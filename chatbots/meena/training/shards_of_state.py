"""Weights and states of training on disk, each process its own part (PyTorch's distributed checkpoints).

The files are safetensors. A tensor may be spread over several of them, and is put together, or cut otherwise,
when other processes read it.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor, distributed
from torch.distributed.checkpoint.api import CheckpointException
from torch.distributed.checkpoint.hf_storage import HuggingFaceStorageReader, HuggingFaceStorageWriter
from torch.distributed.checkpoint.metadata import TensorStorageMetadata
from torch.distributed.checkpoint.state_dict_loader import load
from torch.distributed.checkpoint.state_dict_saver import save

from chatbots.training.checkpoint import CheckpointError

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
        OSError: one of them could not.
    """
    with _plain_errors(folder, OSError):
        save(dict(tensors), storage_writer=HuggingFaceStorageWriter(str(folder), save_distributed=True))


def write_whole(folder: Path, tensors: Mapping[str, Tensor]) -> Path:
    """The same in one file in a folder of its own, which the first process puts together on disk."""
    writer = HuggingFaceStorageWriter(str(folder), save_distributed=True, enable_consolidation=True)
    with _plain_errors(folder, OSError):
        save(dict(tensors), storage_writer=writer)
    return folder / "model-00001-of-00001.safetensors"


def read_shards(folder: Path, tensors: Mapping[str, Tensor]) -> None:
    """Fill this process's part of tensors from the files in a folder.

    Raises:
        CheckpointError: they are not there, cannot be read, or have other shapes.
    """
    with _plain_errors(folder, CheckpointError):
        alone = not distributed.is_initialized()
        load(dict(tensors), storage_reader=HuggingFaceStorageReader(str(folder)), no_dist=alone)


def shapes_in(folder: Path) -> dict[str, tuple[torch.Size, torch.dtype]]:
    """Sizes and types of the whole tensors whose parts are in a folder, by name."""
    with _plain_errors(folder, CheckpointError):
        found = HuggingFaceStorageReader(str(folder)).read_metadata().state_dict_metadata
        return {
            name: (told.size, told.properties.dtype)
            for name, told in found.items()
            if isinstance(told, TensorStorageMetadata)
        }


def read_plain(path: Path) -> dict[str, Tensor]:
    """Counters and states of random generators, which are whole in one file."""
    with _plain_errors(path, CheckpointError), safe_open(path, framework="pt") as file:
        names = [name for name in file.keys() if name.startswith("random|")]  # noqa: SIM118 -- no mapping
        names += [name for name in file.keys() if not file.get_slice(name).get_shape()]  # noqa: SIM118
        return {name: file.get_tensor(name) for name in names}
