"""The training loop: reads turns, writes checkpoints.

As in the paper: stochastic gradient descent, gradients clipped, the rate halved if some epochs bring no lower
perplexity on the validation conversations, and an end if more epochs do not. `best` in the run's folder is
the model of the lowest perplexity.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

import torch
from tqdm import tqdm

from chatbots.knowledge.batching import Batch, Batches
from chatbots.knowledge.config import TopicalChatConfig
from chatbots.knowledge.evaluation import nats, perplexity
from chatbots.knowledge.model import FILES, TopicalChatModel, read_config
from chatbots.training.checkpoint import VOCABULARY, CheckpointError, read_weights
from chatbots.training.settings import check_least, check_rate
from chatbots.training.vocabulary import Vocabulary
from chatbots.training.word_run import WordRun

LEAST = {"epochs": 1, "patience": 1, "stop": 1, "clip": 0, "seed": 0, "checkpoint_every": 1, "keep": 1}
MUST_STAY = ("optimizer", "learning_rate", "patience", "clip", "seed", "batch", "turns", "initial")
BEST = "best"


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """Settings of training.

    Attributes:
        epochs: passes over all turns, at most.
        optimizer: "sgd" (the paper's) or "adam".
        learning_rate: the initial one; the paper does not give its value.
        patience: epochs without a lower perplexity after which the rate is halved.
        stop: epochs without a lower perplexity after which training ends.
        clip: largest norm of the gradient; 0 for none.
        seed: seed of weights, order and dropout.
        checkpoint_every: steps between checkpoints; one more after each epoch.
        keep: newest checkpoints kept.

    Raises:
        ValueError: a number out of its range.
    """

    epochs: int = 100
    optimizer: Literal["sgd", "adam"] = "sgd"
    learning_rate: float = 1.0
    patience: int = 3
    stop: int = 10
    clip: float = 0.1
    seed: int = 0
    checkpoint_every: int = 1_000
    keep: int = 2

    def __post_init__(self) -> None:
        check_least(self, LEAST)
        check_rate(self.learning_rate)

    def rate(self, perplexities: Sequence[float]) -> float:
        """Learning rate after epochs with these perplexities: halved after each `patience` epochs in vain."""
        rate, best, in_vain = self.learning_rate, math.inf, 0
        for value in perplexities:
            in_vain = 0 if value < best else in_vain + 1
            best = min(best, value)
            if in_vain == self.patience:
                rate, in_vain = rate / 2, 0
        return rate

    def ended(self, perplexities: Sequence[float]) -> bool:
        """True if training is over after epochs with these perplexities."""
        done = len(perplexities)
        since = done - 1 - perplexities.index(min(perplexities)) if done else 0
        return done >= self.epochs or since >= self.stop


@dataclass(frozen=True)
class Initial:
    """Weights to begin with, for instance after pre-training on other conversations.

    Attributes:
        folder: a checkpoint with the same shape and vocabulary, with or without knowledge.
    """

    folder: Path

    def give_to(self, model: TopicalChatModel, vocabulary: Vocabulary) -> None:
        """Copy the weights into a model.

        Raises:
            CheckpointError: the weights have another shape or vocabulary, or cannot be read.
        """
        read_config(self.folder)
        if (self.folder / VOCABULARY).read_bytes() != vocabulary.to_json():
            raise CheckpointError(
                f"{self.folder} was trained with another vocabulary. Build the corpus with --vocabulary-of "
                "the corpus that it was trained on."
            )
        try:
            model.load_state_dict(read_weights(self.folder))
        except RuntimeError as error:
            raise CheckpointError(f"{self.folder} has another shape. Use its preset. {error}") from None


class Trainer(WordRun[TopicalChatConfig, TopicalChatModel]):
    """One run, new or resumed.

    Args:
        run: folder of its logs and checkpoints; training continues from the latest one.
        config: shape of the model.
        vocabulary: vocabulary of the corpus.
        settings: settings of training.
        train: batches to learn from.
        validation: batches that decide on the rate and the end.
        device: to compute on.
        initial: weights to begin with, instead of random ones.

    Raises:
        CheckpointError: the run was begun with another configuration, vocabulary, data or settings.
        ValueError: there are no turns for training, or none for validation.
    """

    settings: TrainingSettings

    def __init__(
        self,
        run: Path,
        *,
        config: TopicalChatConfig,
        vocabulary: Vocabulary,
        settings: TrainingSettings,
        train: Batches,
        validation: Batches,
        device: torch.device,
        initial: Initial | None = None,
    ) -> None:
        if not len(train) or not len(validation):
            raise ValueError(
                "Training needs turns to learn from and turns to validate on; one of them has none."
            )
        self.batches, self.validation, self.initial = train, validation, initial
        self.batch_in_epoch = 0
        self.perplexities: list[float] = []
        optimizer = torch.optim.Adam if settings.optimizer == "adam" else torch.optim.SGD
        super().__init__(
            run,
            files=FILES,
            config=config,
            vocabulary=vocabulary,
            settings=settings,
            device=device,
            make_optimizer=partial(optimizer, lr=settings.learning_rate),
        )
        if initial and not self.is_resumed:
            initial.give_to(self.model, vocabulary)

    @property
    def epoch(self) -> int:
        """Number of finished epochs."""
        return len(self.perplexities)

    def train(self) -> None:
        """Train until the last epoch, or until perplexity stops falling.

        Raises:
            TrainingDivergedError: a loss or a gradient is not finite; nothing of that step is stored.
        """
        while not self.settings.ended(self.perplexities):
            self.model.train()
            rate = self.settings.rate(self.perplexities)
            left = self.batches.epoch(self.epoch, skip=self.batch_in_epoch)
            for batch in tqdm(
                left,
                desc=f"epoch {self.epoch + 1}",
                initial=self.batch_in_epoch,
                total=len(self.batches),
                disable=None,
            ):
                started = time.perf_counter()
                nats = self.update(batch.to(self.device))
                speed = batch.words / (time.perf_counter() - started)
                self.log("train.csv", nats=nats, words=batch.words, rate=rate, per_second=speed)
                if self.step % self.settings.checkpoint_every == 0 and self.batch_in_epoch < len(
                    self.batches
                ):
                    self.save()
            self._end_epoch()

    def update(self, batch: Batch) -> float:
        """Take one step of the optimiser; return nats per word."""
        loss = nats(self.model, batch).sum() / batch.words
        self.descend(loss, self.settings.rate(self.perplexities))
        self.batch_in_epoch += 1
        return float(loss.detach())

    def _end_epoch(self) -> None:
        measured = perplexity(self.model, self.validation.in_order())
        self.perplexities.append(measured.value)
        self.batch_in_epoch = 0
        self.log("validation.csv", epoch=self.epoch, perplexity=measured.value, words=measured.words)
        if measured.value <= min(self.perplexities):
            self.save_model(BEST)
        self.save()

    def progress(self) -> dict[str, Any]:
        """Progress of the run, as checkpoints store it."""
        return {"batch_in_epoch": self.batch_in_epoch, "perplexities": self.perplexities}

    def restore_progress(self, stored: Mapping[str, Any]) -> None:
        """Continue from stored progress."""
        self.batch_in_epoch, self.perplexities = stored["batch_in_epoch"], list(stored["perplexities"])

    def conditions(self) -> dict[str, Any]:
        """Settings and data that a resumed run is compared with."""
        data = {"batch": self.batches.size, "turns": len(self.batches.answers)}
        return asdict(self.settings) | data | {"initial": str(self.initial.folder) if self.initial else None}

    def fixed_conditions(self) -> Iterable[str]:
        """Names of the conditions that a resumed run may not change."""
        return MUST_STAY
