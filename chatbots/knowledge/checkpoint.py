"""A model on disk: the files of `chatbots.training.checkpoint`, with `vocabulary.json`."""

from __future__ import annotations

from pathlib import Path

import torch

from chatbots.knowledge.config import TopicalChatConfig
from chatbots.knowledge.model import TopicalChatModel
from chatbots.training.checkpoint import for_use, read_config_of, read_vocabulary
from chatbots.training.vocabulary import Vocabulary


def load_checkpoint(
    folder: Path, *, device: torch.device | None = None
) -> tuple[TopicalChatModel, Vocabulary]:
    """Read a model for use: in evaluation mode and float32, with its vocabulary.

    Args:
        folder: what `save_with_vocabulary` wrote.
        device: where to put it; the CPU if not told.

    Raises:
        CheckpointError: files are missing, or configuration, weights and vocabulary do not fit together.
    """
    config = read_config(folder)
    vocabulary = read_vocabulary(folder, config.vocabulary_size)
    return for_use(lambda: TopicalChatModel(config), folder, device=device), vocabulary


def read_config(folder: Path) -> TopicalChatConfig:
    """The shape of the model in that folder.

    Raises:
        CheckpointError: there is none, or its configuration cannot be read.
    """
    return read_config_of(TopicalChatConfig, folder, "model of Topical-Chat")
