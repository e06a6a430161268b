"""Weights on disk: safetensors and JSON, never pickles.

A checkpoint is a folder: `model.safetensors`, `config.json`, `vocabulary.json`, and for going on with
training `training.safetensors` and `training.json`. It appears under its name only when complete.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from chatbots.hierarchical.config import HierarchicalConfig
from chatbots.hierarchical.model import Hierarchical
from chatbots.hierarchical.vocabulary import Vocabulary
from chatbots.meena.checkpoint import CheckpointError, load_weights, write_folder


def save_checkpoint(
    folder: Path,
    *,
    config: HierarchicalConfig,
    weights: Mapping[str, Tensor],
    vocabulary: Vocabulary,
    training: tuple[Mapping[str, Tensor], Mapping[str, Any]] | None = None,
) -> None:
    """Write a checkpoint so that it is complete or absent; an older one of that name stays until then.

    Args:
        folder: the checkpoint to be.
        config: shape of the model.
        weights: its parameters by name.
        vocabulary: the one it was trained with.
        training: tensors and plain values needed to go on.

    Raises:
        OSError: no space is left, for instance; nothing is left behind.
    """
    tensors = {"model.safetensors": weights}
    files = {
        "config.json": json.dumps(config.to_dict(), indent=1).encode(),
        "vocabulary.json": vocabulary.to_json(),
    }
    if training:
        tensors["training.safetensors"] = training[0]
        files["training.json"] = json.dumps(training[1], indent=1).encode()
    write_folder(folder, tensors=tensors, files=files)


def load_checkpoint(folder: Path, *, device: torch.device | None = None) -> tuple[Hierarchical, Vocabulary]:
    """Read a model for use: in evaluation mode and float32, with its vocabulary.

    Args:
        folder: what `save_checkpoint` wrote.
        device: where to put it; the CPU if not told.

    Raises:
        CheckpointError: files are missing, or configuration, weights and vocabulary do not fit together.
    """
    config = read_config(folder)
    vocabulary = read_vocabulary(folder, config)
    with torch.device("meta"):
        model = Hierarchical(config)
    load_weights(model, folder)
    return model.to(device or torch.device("cpu")).eval().requires_grad_(False), vocabulary


def read_config(folder: Path) -> HierarchicalConfig:
    """The shape of the model in that folder."""
    path = folder / "config.json"
    if not path.exists():
        raise CheckpointError(f"{folder} is no checkpoint: it has no config.json.")
    try:
        return HierarchicalConfig.from_dict(json.loads(path.read_text("utf-8")))
    except (ValueError, TypeError) as error:
        raise CheckpointError(f"{path} cannot be read as of a hierarchical model: {error}") from error


def read_vocabulary(folder: Path, config: HierarchicalConfig) -> Vocabulary:
    """The vocabulary in that folder, checked against the configuration."""
    try:
        vocabulary = Vocabulary.from_json((folder / "vocabulary.json").read_bytes())
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{folder} has no usable vocabulary.json: {error}") from error
    if len(vocabulary) != config.vocabulary_size:
        raise CheckpointError(
            f"{folder} is of {config.vocabulary_size} words, but its vocabulary has {len(vocabulary)}. "
            "Put the vocabulary.json of its corpus beside the weights, or train again."
        )
    return vocabulary
