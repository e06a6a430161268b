"""A hierarchical model on disk: the files of `chatbots.training.checkpoint`, with `vocabulary.json`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from chatbots.hierarchical.config import HierarchicalConfig
from chatbots.hierarchical.model import Hierarchical
from chatbots.training.checkpoint import (
    VOCABULARY,
    Training,
    load_weights,
    read_config_of,
    read_vocabulary,
    write_checkpoint,
)
from chatbots.training.vocabulary import Vocabulary


def save_checkpoint(
    folder: Path,
    *,
    config: HierarchicalConfig,
    weights: Mapping[str, Tensor],
    vocabulary: Vocabulary,
    training: Training | None = None,
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
    words = {VOCABULARY: vocabulary.to_json()}
    write_checkpoint(folder, config=config, weights=weights, words=words, training=training)


def load_checkpoint(folder: Path, *, device: torch.device | None = None) -> tuple[Hierarchical, Vocabulary]:
    """Read a model for use: in evaluation mode and float32, with its vocabulary.

    Args:
        folder: what `save_checkpoint` wrote.
        device: where to put it; the CPU if not told.

    Raises:
        CheckpointError: files are missing, or configuration, weights and vocabulary do not fit together.
    """
    config = read_config(folder)
    vocabulary = read_vocabulary(folder, config.vocabulary_size)
    with torch.device("meta"):
        model = Hierarchical(config)
    load_weights(model, folder)
    return model.to(device or torch.device("cpu")).eval().requires_grad_(False), vocabulary


def read_config(folder: Path) -> HierarchicalConfig:
    """The shape of the model in that folder."""
    return read_config_of(HierarchicalConfig, folder, "hierarchical model")
