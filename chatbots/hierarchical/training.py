"""The training loop: reads conversations, writes checkpoints."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm

from chatbots.hierarchical.batching import Batch, Batches
from chatbots.hierarchical.config import HierarchicalConfig
from chatbots.hierarchical.model import FILES, Hierarchical, Losses
from chatbots.hierarchical.perplexity import perplexity
from chatbots.training.running import cosine
from chatbots.training.settings import check_least, check_rate
from chatbots.training.vocabulary import Vocabulary
from chatbots.training.word_run import WordRun

LEAST = {"steps": 1, "annealing": 0, "warmup": 0, "validate_every": 1, "checkpoint_every": 1}
LEAST |= {"keep": 0, "clip": 0, "seed": 0, "emotion_weight": 0, "semantic_weight": 0, "validation_samples": 1}
MUST_STAY = ("learning_rate", "decay", "warmup", "annealing", "seed", "emotion_weight", "semantic_weight")


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """Settings of training.

    Attributes:
        steps: updates in all.
        learning_rate: Adam's.
        decay: True if the rate rises over `warmup` steps and falls along a cosine to 0; False if it is
            constant.
        warmup: steps.
        annealing: steps over which the weight of the divergence rises linearly from 0 to 1; 0 for 1 at once.
        emotion_weight: weight of the emotions' loss.
        semantic_weight: weight of the sentence vectors' loss.
        clip: largest norm of the gradient; 0 for none.
        seed: seed of weights, order, draws and dropout.
        validate_every: steps between measurements.
        validation_samples: draws of the latent variables in these.
        checkpoint_every: steps between checkpoints.
        keep: newest checkpoints kept; 0 keeps all.

    Raises:
        ValueError: a number out of its range.
    """

    steps: int
    learning_rate: float = 1e-4
    decay: bool = False
    warmup: int = 0
    annealing: int = 25_000
    emotion_weight: float = 0.0
    semantic_weight: float = 0.0
    clip: float = 1.0
    seed: int = 0
    validate_every: int = 1_000
    validation_samples: int = 1
    checkpoint_every: int = 1_000
    keep: int = 3

    def __post_init__(self) -> None:
        check_least(self, LEAST)
        check_rate(self.learning_rate)

    def rate(self, step: int) -> float:
        """Learning rate of a step, counted from 0."""
        return cosine(self.learning_rate, self.warmup, self.steps)(step) if self.decay else self.learning_rate

    def divergence_weight(self, step: int) -> float:
        """Weight of the divergence at a step, in [0, 1]."""
        return min(1.0, step / self.annealing) if self.annealing else 1.0

    def loss(self, losses: Losses, step: int) -> Tensor:
        """The minimised loss: sums over the batch for words and divergence, means for distilled values."""
        loss = losses.words + self.divergence_weight(step) * losses.divergence
        if losses.distilled.emotion is not None:
            loss = loss + self.emotion_weight * losses.distilled.emotion
        if losses.distilled.semantic is not None:
            loss = loss + self.semantic_weight * losses.distilled.semantic
        return loss


class Trainer(WordRun[HierarchicalConfig, Hierarchical]):
    """One run, new or resumed.

    Args:
        run: folder of its logs and checkpoints; training continues from the latest one.
        config: shape of the model.
        vocabulary: vocabulary of the corpus.
        settings: settings of training.
        train: batches to learn from.
        validation: batches to measure on.
        device: to compute on.

    Raises:
        CheckpointError: the run was begun with another configuration, other settings, another vocabulary,
            another number of conversations in a batch or other targets.
    """

    settings: TrainingSettings

    def __init__(
        self,
        run: Path,
        *,
        config: HierarchicalConfig,
        vocabulary: Vocabulary,
        settings: TrainingSettings,
        train: Batches,
        validation: Batches,
        device: torch.device,
    ) -> None:
        if not len(train.part):
            raise ValueError("The corpus has no conversation to learn from.")
        self.batches, self.validation = train, validation
        self.epoch = self.batch_in_epoch = 0
        super().__init__(
            run,
            files=FILES,
            config=config,
            vocabulary=vocabulary,
            settings=settings,
            device=device,
            make_optimizer=partial(torch.optim.Adam, lr=settings.learning_rate),
        )

    def train(self) -> None:
        """Train to the last step.

        Raises:
            TrainingDivergedError: a loss or a gradient is not finite; nothing of that step is stored.
        """
        self.model.train()
        batches = self._stream()
        left = range(self.step, self.settings.steps)
        progress = tqdm(left, initial=self.step, total=self.settings.steps, unit=" steps", disable=None)
        for _ in progress:
            batch = next(batches)
            started = time.perf_counter()
            figures = self.update(batch)
            rate = batch.words / (time.perf_counter() - started)
            progress.set_postfix_str(f"{figures['nats']:.3f} nats, {rate:,.0f} words/s", refresh=False)
            self.log("train.csv", **figures, words=batch.words, per_second=rate)
            self._measure_and_save()

    def update(self, batch: Batch) -> dict[str, float]:
        """Take one step of the optimiser; return losses in nats per word, and the heads' losses."""
        losses = self.model(batch)
        loss = self.settings.loss(losses, self.step)
        self.descend(loss, self.settings.rate(self.step))
        distilled = {
            name: float(value.detach())
            for name, value in losses.distilled._asdict().items()
            if value is not None
        }
        return {
            "nats": float(losses.words.detach()) / batch.words,
            "divergence": float(losses.divergence.detach()) / batch.words,
            **distilled,
        }

    def _stream(self) -> Iterator[Batch]:
        """Yield batches without end from the run's position; maintains `epoch` and `batch_in_epoch`."""
        while True:
            for batch in self.batches.epoch(self.epoch, skip=self.batch_in_epoch):
                self.batch_in_epoch += 1
                yield batch.to(self.device)
            self.epoch, self.batch_in_epoch = self.epoch + 1, 0

    def _measure_and_save(self) -> None:
        last = self.step == self.settings.steps
        if (last or self.step % self.settings.validate_every == 0) and len(self.validation.part):
            measured = perplexity(
                self.model, self.validation.in_order(), samples=self.settings.validation_samples
            )
            values = {"perplexity": measured.value, "divergence": measured.divergence}
            self.log("validation.csv", **values, words=measured.words)
        if last or self.step % self.settings.checkpoint_every == 0:
            self.save()

    def progress(self) -> dict[str, Any]:
        """Progress of the run, as checkpoints store it."""
        return {"epoch": self.epoch, "batch_in_epoch": self.batch_in_epoch}

    def restore_progress(self, stored: Mapping[str, Any]) -> None:
        """Continue from stored progress."""
        self.epoch, self.batch_in_epoch = stored["epoch"], stored["batch_in_epoch"]

    def conditions(self) -> dict[str, Any]:
        """Settings and data that a resumed run is compared with."""
        targets = self.batches.targets
        data = {"batch": self.batches.size, "conversations": len(self.batches.part)}
        return asdict(self.settings) | data | {"targets": targets.about if targets else None}

    def fixed_conditions(self) -> Iterable[str]:
        # More steps are allowed if the learning rate does not depend on their number.
        """Names of the conditions that a resumed run may not change."""
        steps = ["steps"] if self.settings.decay else []
        return [*MUST_STAY, "batch", "conversations", "targets", *steps]
