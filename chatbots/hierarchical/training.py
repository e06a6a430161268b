"""The training loop: conversations in, checkpoints out."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from tqdm import tqdm

from chatbots.hierarchical.batching import Batch, Batches
from chatbots.hierarchical.config import HierarchicalConfig
from chatbots.hierarchical.model import Hierarchical, Losses, read_config
from chatbots.hierarchical.perplexity import perplexity
from chatbots.training.checkpoint import (
    CheckpointError,
    latest_checkpoint,
    read_training,
    read_weights,
    save_with_vocabulary,
)
from chatbots.training.files import append_row, forget_later
from chatbots.training.running import check_finite, cosine, drop_old, restore_training, state_of_training
from chatbots.training.settings import check_range
from chatbots.training.vocabulary import Vocabulary

LOGS = ("train.csv", "validation.csv")
LEAST = {"steps": 1, "annealing": 0, "warmup": 0, "validate_every": 1, "checkpoint_every": 1}
LEAST |= {"keep": 0, "clip": 0, "seed": 0, "emotion_weight": 0, "semantic_weight": 0, "validation_samples": 1}
MOST = 2**62
MUST_STAY = ("learning_rate", "decay", "warmup", "annealing", "seed", "emotion_weight", "semantic_weight")


@dataclass(frozen=True, kw_only=True)
class TrainingSettings:
    """How a model is trained.

    Attributes:
        steps: updates in all.
        learning_rate: Adam's.
        decay: whether the rate rises over `warmup` steps and falls along a cosine to 0, instead of staying.
        warmup: steps.
        annealing: steps over which the weight of the divergence rises from 0 to 1 in a line; 0 for 1 at once.
        emotion_weight: of the emotions' loss.
        semantic_weight: of the sentence vectors' loss.
        clip: most norm of the gradient; 0 for none.
        seed: of weights, order, draws and what is dropped.
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
        for name, least in LEAST.items():
            check_range(name, getattr(self, name), least=least, most=MOST)
        if not 0 < self.learning_rate < math.inf:
            raise ValueError(f"learning_rate={self.learning_rate} must be above 0, and finite.")

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 0."""
        return cosine(self.learning_rate, self.warmup, self.steps)(step) if self.decay else self.learning_rate

    def divergence_weight(self, step: int) -> float:
        """Of the divergence at a step, in [0, 1]."""
        return min(1.0, step / self.annealing) if self.annealing else 1.0

    def loss(self, losses: Losses, step: int) -> Tensor:
        """What is minimised: sums over the batch for words and divergence, means for what is distilled."""
        loss = losses.words + self.divergence_weight(step) * losses.divergence
        if losses.distilled.emotion is not None:
            loss = loss + self.emotion_weight * losses.distilled.emotion
        if losses.distilled.semantic is not None:
            loss = loss + self.semantic_weight * losses.distilled.semantic
        return loss


class Trainer:
    """One run, new or resumed.

    Args:
        run: folder of its logs and checkpoints; training goes on from the latest of them.
        config: shape of the model.
        vocabulary: of the corpus.
        settings: how to train.
        train: batches to learn from.
        validation: batches to measure on.
        device: where to compute.

    Raises:
        CheckpointError: the run was begun with another configuration, other settings, another vocabulary,
            another number of conversations in a batch or other targets.
    """

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
        self.run, self.config, self.vocabulary, self.settings = run, config, vocabulary, settings
        self.batches, self.validation, self.device = train, validation, device
        self.step = self.epoch = self.batch_in_epoch = 0
        if not len(train.part):
            raise ValueError("The corpus has no conversation to learn from.")
        torch.manual_seed(settings.seed)
        self.model = Hierarchical(config).to(device)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=settings.learning_rate)
        torch.manual_seed(settings.seed + 1)
        if checkpoint := latest_checkpoint(run):
            self._resume(checkpoint)
        self._forget_later_steps()

    def train(self) -> None:
        """Train to the last step.

        Raises:
            TrainingDivergedError: a loss or a gradient is no number; nothing of that step is stored.
        """
        self.model.train()
        batches = self._stream()
        left = range(self.step, self.settings.steps)
        progress = tqdm(left, initial=self.step, total=self.settings.steps, unit=" steps", disable=None)
        for _ in progress:
            batch = next(batches)
            started = time.perf_counter()
            found = self.update(batch)
            rate = batch.words / (time.perf_counter() - started)
            progress.set_postfix_str(f"{found['nats']:.3f} nats, {rate:,.0f} words/s", refresh=False)
            self._log("train.csv", step=self.step, **found, words=batch.words, per_second=rate)
            self._measure_and_save()

    def update(self, batch: Batch) -> dict[str, float]:
        """One step of the optimiser; nats per word, of words and divergence, and the heads' losses."""
        losses = self.model(batch)
        loss = self.settings.loss(losses, self.step)
        check_finite(self.run, "loss", float(loss.detach()), self.step + 1)
        self.optimizer.zero_grad(set_to_none=True)
        torch.autograd.backward(loss)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.settings.clip or math.inf)
        check_finite(self.run, "norm of the gradient", float(norm), self.step + 1)
        for group in self.optimizer.param_groups:
            group["lr"] = self.settings.rate(self.step)
        self.optimizer.step()
        self.step += 1
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
        """Batches without end, from where the run stands; keeps `epoch` and `batch_in_epoch`."""
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
            self._log("validation.csv", step=self.step, **values, words=measured.words)
        if last or self.step % self.settings.checkpoint_every == 0:
            self.save()

    def _forget_later_steps(self) -> None:
        """Take from the logs what an earlier process did after the checkpoint: it is done again."""
        for path in (self.run / name for name in LOGS):
            forget_later(path, self.step)

    def _log(self, name: str, **values: float) -> None:
        append_row(self.run / name, values)

    def save(self) -> None:
        """Write a checkpoint from which training goes on as if it had not stopped."""
        parameters = dict(self.model.named_parameters())
        plain = {
            "step": self.step,
            "epoch": self.epoch,
            "batch_in_epoch": self.batch_in_epoch,
            "settings": self._told(),
        }
        save_with_vocabulary(
            self.run / f"step-{self.step:07d}",
            config=self.config,
            weights={name: parameter.detach().cpu() for name, parameter in parameters.items()},
            vocabulary=self.vocabulary,
            training=(state_of_training(parameters, self.optimizer, self.device), plain),
        )
        drop_old(self.run, self.settings.keep)

    def _told(self) -> dict[str, Any]:
        """All that the run depends on beside configuration and vocabulary."""
        targets = self.batches.targets
        data = {"batch": self.batches.size, "conversations": len(self.batches.part)}
        return asdict(self.settings) | data | {"targets": targets.about if targets else None}

    def _resume(self, checkpoint: Path) -> None:
        if read_config(checkpoint) != self.config:
            raise CheckpointError(
                f"{checkpoint} has another configuration. Use another --output, or that one's."
            )
        if (checkpoint / "vocabulary.json").read_bytes() != self.vocabulary.to_json():
            raise CheckpointError(
                f"{checkpoint} was trained with another vocabulary than the corpus's. Use its corpus."
            )
        tensors, plain = read_training(checkpoint)
        self._check_settings(checkpoint, plain["settings"])
        self.step, self.epoch, self.batch_in_epoch = plain["step"], plain["epoch"], plain["batch_in_epoch"]
        self.model.load_state_dict(read_weights(checkpoint))
        restore_training(tensors, dict(self.model.named_parameters()), self.optimizer, self.device)

    def _check_settings(self, checkpoint: Path, before: dict[str, Any]) -> None:
        """Refuse what would change data or steps; more steps are borne where the rate stays."""
        now = self._told()
        fixed = [*MUST_STAY, "batch", "conversations", "targets", *(["steps"] if self.settings.decay else [])]
        changed = {name: (before.get(name), now[name]) for name in fixed if before.get(name) != now[name]}
        if changed:
            raise CheckpointError(f"{checkpoint} was trained with other settings (before, now): {changed}.")
