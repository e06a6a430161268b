"""A Meena on disk: the files of `chatbots.training.checkpoint`, with `tokenizer.model`."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from chatbots.meena.config import MeenaConfig
from chatbots.meena.model import Meena
from chatbots.meena.tokenizer import Tokenizer
from chatbots.training.checkpoint import (
    CheckpointError,
    Training,
    load_weights,
    read_config_of,
    write_checkpoint,
)


def save_checkpoint(
    folder: Path,
    *,
    config: MeenaConfig,
    weights: Mapping[str, Tensor],
    tokenizer: Tokenizer,
    training: Training | None = None,
) -> None:
    """Write a checkpoint so that it is complete or absent; an older one of that name stays until then.

    Args:
        folder: the checkpoint to be.
        config: shape of the model.
        weights: its parameters by name.
        tokenizer: the one it was trained with.
        training: tensors and plain values needed to go on.

    Raises:
        OSError: no space is left, for instance; nothing is left behind.
    """
    words = {"tokenizer.model": tokenizer.model}
    write_checkpoint(folder, config=config, weights=weights, words=words, training=training)


def load_checkpoint(
    folder: Path, *, device: torch.device | None = None, dtype: torch.dtype = torch.float32
) -> tuple[Meena, Tokenizer]:
    """Read a model for use: in evaluation mode, with its tokenizer.

    Args:
        folder: what `save_checkpoint` wrote.
        device: where to put it; the CPU if not told.
        dtype: type of the weights in memory.

    Raises:
        CheckpointError: files are missing, or configuration, weights and tokenizer do not fit together.
    """
    config = read_config(folder)
    tokenizer = read_tokenizer(folder, config)
    with torch.device("meta"):
        model = Meena(config)
    load_weights(model, folder, dtype)
    model.reset_positions()
    return model.to(device or torch.device("cpu")).eval().requires_grad_(False), tokenizer


def read_config(folder: Path) -> MeenaConfig:
    """The shape of the model in that folder.

    Raises:
        CheckpointError: there is none, or its configuration cannot be read.
    """
    return read_config_of(MeenaConfig, folder, "Meena")


def read_tokenizer(folder: Path, config: MeenaConfig) -> Tokenizer:
    """The tokenizer in that folder.

    Raises:
        CheckpointError: there is none, it cannot be read, or it has another number of tokens than the model.
    """
    try:
        tokenizer = Tokenizer.load(folder / "tokenizer.model")
    except (OSError, ValueError) as error:
        raise CheckpointError(f"{folder} has no usable tokenizer.model: {error}") from error
    if len(tokenizer) != config.vocabulary_size:
        raise CheckpointError(
            f"{folder} has a vocabulary of {config.vocabulary_size} tokens, but its tokenizer has "
            f"{len(tokenizer)}. Put the tokenizer.model of its corpus beside the weights, or train again."
        )
    return tokenizer
