"""A training run of a word-level model on one device, shared by hierarchical and Topical-Chat models."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Generic, Protocol

import torch
from torch import Tensor, nn
from torch.optim import Optimizer

from chatbots.training.checkpoint import (
    VOCABULARY,
    CheckpointError,
    Training,
    WordConfig,
    WordModel,
    WordModelFiles,
    latest_checkpoint,
    read_training,
    read_weights,
    save_with_vocabulary,
)
from chatbots.training.files import append_row, forget_later
from chatbots.training.running import (
    check_finite,
    drop_old,
    refuse_other_config,
    refuse_other_settings,
    restore_training,
    set_rate,
    state_of_training,
)
from chatbots.training.vocabulary import Vocabulary

LOGS = ("train.csv", "validation.csv")


class RunSettings(Protocol):
    """The settings that every run needs.

    Attributes:
        clip: largest norm of the gradient; 0 for none.
        seed: seed of weights, order, draws and dropout.
        keep: newest checkpoints kept; 0 keeps all.
    """

    @property
    def clip(self) -> float:
        """Norm to which gradients are clipped."""

    @property
    def seed(self) -> int:
        """Seed of the run."""

    @property
    def keep(self) -> int:
        """Number of checkpoints that are kept."""


class WordRun(ABC, Generic[WordConfig, WordModel]):
    """One run, new or resumed. Subclasses must set their batches before calling `__init__`.

    Args:
        run: folder of its logs and checkpoints; training continues from the latest one.
        files: reader of its checkpoints.
        config: shape of the model.
        vocabulary: vocabulary of the corpus.
        settings: settings of training.
        device: to compute on.
        make_optimizer: creates the optimiser of the model's parameters.

    Attributes:
        step: number of finished steps.
        is_resumed: True if the run continues from a checkpoint.

    Raises:
        CheckpointError: the run was begun with another configuration, vocabulary, data or settings.
    """

    settings: RunSettings

    def __init__(
        self,
        run: Path,
        *,
        files: WordModelFiles[WordConfig, WordModel],
        config: WordConfig,
        vocabulary: Vocabulary,
        settings: RunSettings,
        device: torch.device,
        make_optimizer: Callable[[Iterable[nn.Parameter]], Optimizer],
    ) -> None:
        self.run, self.config, self.vocabulary = run, config, vocabulary
        self.settings, self.device = settings, device
        self.step = 0
        torch.manual_seed(settings.seed)
        self.model = files.make_model(config).to(device)
        self.optimizer = make_optimizer(self.model.parameters())
        torch.manual_seed(settings.seed + 1)
        checkpoint = latest_checkpoint(run)
        self.is_resumed = checkpoint is not None
        if checkpoint:
            self._resume(checkpoint, files.read_config(checkpoint))
        # An earlier process may have logged steps after the checkpoint; they are done again.
        for name in LOGS:
            forget_later(run / name, self.step)

    @abstractmethod
    def progress(self) -> dict[str, Any]:
        """The run's position in its data, as JSON; `restore_progress` reads it back."""

    @abstractmethod
    def restore_progress(self, stored: Mapping[str, Any]) -> None:
        """Continue from the position that `progress` returned."""

    @abstractmethod
    def conditions(self) -> dict[str, Any]:
        """Settings and data on which the run depends, besides configuration and vocabulary."""

    @abstractmethod
    def fixed_conditions(self) -> Iterable[str]:
        """Names of the conditions that must not change when the run is resumed."""

    def descend(self, loss: Tensor, rate: float) -> None:
        """Take one step of the optimiser.

        Raises:
            TrainingDivergedError: the loss or its gradient is not finite; nothing was changed.
        """
        check_finite(self.run, "loss", float(loss.detach()), self.step + 1)
        self.optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip or math.inf)
        check_finite(self.run, "norm of the gradient", float(norm), self.step + 1)
        set_rate(self.optimizer, rate)
        self.optimizer.step()
        self.step += 1

    def log(self, name: str, **values: float) -> None:
        """Add a row about the latest step to one of the `LOGS`."""
        append_row(self.run / name, {"step": self.step, **values})

    def save(self) -> None:
        """Write a checkpoint from which training continues as if it had not stopped."""
        plain = {"step": self.step, **self.progress(), "settings": self.conditions()}
        state = state_of_training(dict(self.model.named_parameters()), self.optimizer, self.device)
        self.save_model(f"step-{self.step:07d}", (state, plain))
        drop_old(self.run, self.settings.keep)

    def save_model(self, name: str, training: Training | None = None) -> None:
        """Write the model to a folder of this name in the run's folder."""
        save_with_vocabulary(
            self.run / name,
            config=self.config,
            weights={key: weight.detach().cpu() for key, weight in self.model.named_parameters()},
            vocabulary=self.vocabulary,
            training=training,
        )

    def _resume(self, checkpoint: Path, config: WordConfig) -> None:
        refuse_other_config(checkpoint, config, self.config)
        if (checkpoint / VOCABULARY).read_bytes() != self.vocabulary.to_json():
            raise CheckpointError(
                f"{checkpoint} was trained with another vocabulary than the corpus's. Use its corpus."
            )
        tensors, plain = read_training(checkpoint)
        refuse_other_settings(checkpoint, plain["settings"], self.conditions(), self.fixed_conditions())
        self.step = plain["step"]
        self.restore_progress(plain)
        self.model.load_state_dict(read_weights(checkpoint))
        restore_training(tensors, dict(self.model.named_parameters()), self.optimizer, self.device)
