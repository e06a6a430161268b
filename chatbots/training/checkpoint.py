"""Weights on disk: safetensors and JSON, never pickles.

A checkpoint is a folder: `model.safetensors`, `config.json`, the vocabulary or tokenizer, and, to resume
training, `training.safetensors` and `training.json`. It is written under another name and renamed when
complete.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Generic, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from chatbots.errors import ChatbotError
from chatbots.training.settings import ModelConfig, WordModelConfig
from chatbots.training.vocabulary import Vocabulary

Config = TypeVar("Config", bound=ModelConfig)
Model = TypeVar("Model", bound=torch.nn.Module)
WordConfig = TypeVar("WordConfig", bound="WordModelConfig")
WordModel = TypeVar("WordModel", bound=torch.nn.Module)
Training = tuple[Mapping[str, Tensor], Mapping[str, Any]]
"""Tensors and plain values needed to resume a run."""
VOCABULARY = "vocabulary.json"


class CheckpointError(ChatbotError):
    """A checkpoint that cannot be used; the message says why and what to do."""


def write_checkpoint(
    folder: Path,
    *,
    config: ModelConfig,
    weights: Mapping[str, Tensor],
    words: Mapping[str, bytes],
    training: Training | None = None,
) -> None:
    """Write a checkpoint so that it is complete or absent; an older one of that name stays until then.

    Args:
        folder: folder of the new checkpoint.
        config: shape of the model.
        weights: its parameters by name.
        words: file name and content of its vocabulary or tokenizer.
        training: tensors and plain values needed to resume.

    Raises:
        OSError: for instance, the disk is full; no partial files remain.
    """
    tensors = {"model.safetensors": weights}
    files = {"config.json": json.dumps(config.to_dict(), indent=1).encode(), **words}
    if training:
        tensors["training.safetensors"] = training[0]
        files["training.json"] = json.dumps(training[1], indent=1).encode()
    write_folder(folder, tensors=tensors, files=files)


def save_with_vocabulary(
    folder: Path,
    *,
    config: ModelConfig,
    weights: Mapping[str, Tensor],
    vocabulary: Vocabulary,
    training: Training | None = None,
) -> None:
    """Call `write_checkpoint` for a word-level model, with its vocabulary."""
    words = {VOCABULARY: vocabulary.to_json()}
    write_checkpoint(folder, config=config, weights=weights, words=words, training=training)


def for_use(make: Callable[[], Model], folder: Path, *, device: torch.device | None = None) -> Model:
    """Load a model with the weights of a folder: in evaluation mode and float32, without gradients.

    Args:
        make: creates the model with any weights; called on the meta device, without memory.
        folder: a checkpoint.
        device: device of the model; default: the CPU.

    Raises:
        CheckpointError: the weights are missing, cannot be read, or do not fit the model.
    """
    with torch.device("meta"):
        model = make()
    load_weights(model, folder)
    return model.to(device or torch.device("cpu")).eval().requires_grad_(False)


def write_folder(
    folder: Path, *, tensors: Mapping[str, Mapping[str, Tensor]], files: Mapping[str, bytes]
) -> None:
    """Write a folder so that it is complete or absent; an older one of that name stays until then.

    Args:
        folder: the new folder.
        tensors: tensors of each safetensors file, by its name.
        files: contents of the other files.

    Raises:
        OSError: for instance, the disk is full; no partial files remain.
    """
    with complete_or_absent(folder) as unfinished:
        fill_folder(unfinished, tensors=tensors, files=files)


def fill_folder(
    folder: Path, *, tensors: Mapping[str, Mapping[str, Tensor]], files: Mapping[str, bytes]
) -> None:
    """Write files into a folder; arguments as for `write_folder`."""
    for name, values in tensors.items():
        save_file({key: value.contiguous() for key, value in values.items()}, folder / name)
    for name, content in files.items():
        (folder / name).write_bytes(content)


def unfinished_of(folder: Path) -> Path:
    """Name of a folder until it is complete."""
    return folder.with_name(folder.name + ".part")


@contextmanager
def complete_or_absent(folder: Path) -> Iterator[Path]:
    """Context of a new folder to write into, which gets its name when complete.

    Raises:
        OSError: for instance, the disk is full; no partial files remain.
    """
    unfinished = unfinished_of(folder)
    shutil.rmtree(unfinished, ignore_errors=True)
    try:
        unfinished.mkdir(parents=True)
        yield unfinished
        shutil.rmtree(folder, ignore_errors=True)
        os.replace(unfinished, folder)
    except (OSError, SafetensorError) as error:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise OSError(
            f"The checkpoint {folder} could not be written: {error}. Older ones are intact."
        ) from error


def load_weights(model: torch.nn.Module, folder: Path, dtype: torch.dtype = torch.float32) -> None:
    """Load the weights of a folder, in this type, into a model created without any.

    Raises:
        CheckpointError: the weights are missing, cannot be read, or do not fit the model.
    """
    weights = {name: weight.to(dtype) for name, weight in read_weights(folder).items()}
    try:
        model.load_state_dict(weights, assign=True)
    except RuntimeError as error:
        raise CheckpointError(f"{folder}: the weights do not fit config.json. {error}") from error


def read_config_of(kind: type[Config], folder: Path, name: str) -> Config:
    """Read the shape of the model in a folder.

    Args:
        kind: kind of the configuration.
        folder: a checkpoint.
        name: name of the kind of model, for the error.

    Raises:
        CheckpointError: there is no model, or it is of another kind.
    """
    path = folder / "config.json"
    if not path.exists():
        raise CheckpointError(f"{folder} is not a checkpoint: it has no config.json.")
    try:
        return kind.from_dict(json.loads(path.read_text("utf-8")))
    except (ValueError, TypeError) as error:
        raise CheckpointError(f"{path} cannot be read as of a {name}: {error}") from error


@dataclass(frozen=True)
class WordModelFiles(Generic[WordConfig, WordModel]):
    """Reader of the checkpoints of one kind of word-level model.

    Attributes:
        config_type: class of its configurations.
        make_model: creates a model of a configuration, with any weights.
        title: name of the kind of model, for errors.
    """

    config_type: type[WordConfig]
    make_model: Callable[[WordConfig], WordModel]
    title: str

    def read_config(self, folder: Path) -> WordConfig:
        """Read the shape of the model in that folder.

        Raises:
            CheckpointError: there is no model, or its configuration cannot be read.
        """
        return read_config_of(self.config_type, folder, self.title)

    def load(self, folder: Path, *, device: torch.device | None = None) -> tuple[WordModel, Vocabulary]:
        """Read a model for use: in evaluation mode and float32, with its vocabulary.

        Args:
            folder: written by `save_with_vocabulary`.
            device: device of the model; default: the CPU.

        Raises:
            CheckpointError: files are missing, or configuration, weights and vocabulary do not fit together.
        """
        config = self.read_config(folder)
        vocabulary = read_vocabulary(folder, config.vocabulary_size)
        return for_use(lambda: self.make_model(config), folder, device=device), vocabulary


def read_vocabulary(folder: Path, size: int) -> Vocabulary:
    """Read the vocabulary in that folder, checked against the number of words in its configuration."""
    try:
        vocabulary = Vocabulary.from_json((folder / VOCABULARY).read_bytes())
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{folder} has no usable {VOCABULARY}: {error}") from error
    if len(vocabulary) != size:
        raise CheckpointError(
            f"{folder} is of {size} words, but its vocabulary has {len(vocabulary)}. "
            f"Put the {VOCABULARY} of its corpus beside the weights, or train again."
        )
    return vocabulary


def read_weights(folder: Path, name: str = "model.safetensors") -> dict[str, Tensor]:
    """Read the tensors of one of a checkpoint's files, to the CPU."""
    try:
        return load_file(folder / name)
    except (OSError, SafetensorError) as error:
        raise CheckpointError(f"{folder / name} cannot be read: {error}. Use an older checkpoint.") from error


def read_training(folder: Path) -> tuple[dict[str, Tensor], dict[str, Any]]:
    """Read the tensors and plain values needed to resume training.

    Raises:
        CheckpointError: the checkpoint was published for use only.
    """
    plain = read_progress(folder)
    return read_weights(folder, "training.safetensors"), plain


def read_progress(folder: Path) -> dict[str, Any]:
    """Read the plain values needed to resume training.

    Raises:
        CheckpointError: the checkpoint was published for use only.
    """
    path = folder / "training.json"
    if not path.exists():
        raise CheckpointError(
            f"{folder} holds no state of training. Start a new run, or use its original folder."
        )
    progress: dict[str, Any] = json.loads(path.read_text())
    return progress


def latest_checkpoint(run: Path) -> Path | None:
    """Find the complete checkpoint of the highest step in a run's folder, if there is one."""
    return max(
        (path for path in run.glob("step-*") if path.suffix != ".part"), default=None, key=lambda p: p.name
    )
