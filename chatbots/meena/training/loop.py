"""The training loop: reads pairs, writes checkpoints."""

from __future__ import annotations

import json
import math
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from tqdm import tqdm

from chatbots.meena.config import MeenaConfig
from chatbots.meena.model import Meena, read_config, read_tokenizer, save_checkpoint
from chatbots.meena.tokenizer import Tokenizer
from chatbots.meena.training.batching import Batch, Batches
from chatbots.meena.training.distillation import Teacher, soft_loss
from chatbots.meena.training.parallel import (
    SHARDS,
    clip_gradients,
    empty_state,
    exchange_gradients,
    gather_over_processes,
    read_plain,
    read_shards,
    shapes_in,
    shard_over_processes,
    sum_over_processes,
    wait_for_all,
    whole,
    write_shards,
    write_whole,
)
from chatbots.meena.training.perplexity import negative_log_likelihood, perplexity
from chatbots.meena.training.settings import MUST_STAY, TrainingSettings, make_optimizer
from chatbots.training.checkpoint import (
    CheckpointError,
    complete_or_absent,
    fill_folder,
    latest_checkpoint,
    read_progress,
    unfinished_of,
)
from chatbots.training.files import append_row, forget_later
from chatbots.training.running import (
    check_finite,
    drop_old,
    refuse_other_config,
    refuse_other_settings,
    set_rate,
)


class Trainer:
    """One run, new or resumed.

    Args:
        run: folder of its log and checkpoints; training continues from the latest one.
        config: shape of the model.
        tokenizer: tokenizer of the corpus.
        settings: settings of training.
        train: batches to learn from.
        heldout: batches to measure on.
        device: device of this process.
        teacher: a further model to learn from, as the settings say; None: the pairs alone.
        begin_with: a checkpoint with the first weights of a new run; ignored by a resumed run.

    Raises:
        CheckpointError: the run, or the checkpoint that it begins with, has another configuration, other
            settings or another tokenizer.
    """

    def __init__(
        self,
        run: Path,
        *,
        config: MeenaConfig,
        tokenizer: Tokenizer,
        settings: TrainingSettings,
        train: Batches,
        heldout: Batches,
        device: torch.device,
        teacher: Teacher | None = None,
        begin_with: Path | None = None,
    ) -> None:
        self.teacher = teacher
        self.run, self.config, self.tokenizer, self.settings = run, config, tokenizer, settings
        self.train_batches, self.heldout, self.device = train, heldout, device
        self.step = self.epoch = self.batch_in_epoch = 0
        torch.manual_seed(settings.seed)
        with device:  # not through the CPU, whose memory all processes of a machine share
            self.model = Meena(config)
        self.model.recompute = settings.recompute
        shard_over_processes(self.model, train.ranks, settings.precision)
        self.optimizer, self.schedule = make_optimizer(
            settings.optimizer,
            self.model.parameters(),
            learning_rate=settings.learning_rate,
            warmup=settings.warmup,
            steps=settings.steps,
        )
        # Dropout must differ between processes.
        torch.manual_seed(settings.seed + 1 + train.rank)
        if checkpoint := latest_checkpoint(run):
            self._resume(checkpoint)
        elif begin_with:
            self._begin_with(begin_with)
        if not train.rank:
            self._forget_later_steps()
        if settings.compile:
            self.model.compile()

    def train(self) -> None:
        """Train to the last step.

        Raises:
            TrainingDivergedError: the loss, the gradient or a weight is not finite.
            OSError: a checkpoint could not be written; older ones are intact.
        """
        with tqdm(total=self.settings.steps, initial=self.step, unit=" steps", disable=self._quiet) as bar:
            for loss, rate in self.steps():
                bar.update()
                bar.set_postfix(loss=f"{loss:.3f}", tokens_per_s=f"{rate:.0f}")

    def steps(self) -> Iterator[tuple[float, float]]:
        """Train step by step, with log and checkpoints.

        Yields:
            Mean loss per token in nats (with a teacher, of both parts), and tokens per second, of each step.
        """
        self.model.train()
        batches = self._stream()
        while self.step < self.settings.steps:
            started = time.perf_counter()
            loss, tokens = self.update([next(batches) for _ in range(self.settings.accumulation)])
            self.step += 1
            rate = tokens / (time.perf_counter() - started)
            self._log(
                "train.csv", step=self.step, epoch=self.epoch, loss=loss, tokens=tokens, per_second=rate
            )
            self._measure_and_save()
            yield loss, rate

    @property
    def _quiet(self) -> bool | None:
        return True if self.train_batches.rank else None  # None: only on a terminal

    def _stream(self) -> Iterator[Batch]:
        """Yield batches without end from the run's position; maintains `epoch` and `batch_in_epoch`."""
        while True:
            has_batch = False
            for batch in self.train_batches.epoch(self.epoch, skip=self.batch_in_epoch):
                has_batch = True
                self.batch_in_epoch += 1
                yield batch.to(self.device)
            if not has_batch and not self.batch_in_epoch:
                raise ValueError(
                    "The corpus has too few pairs for one batch per process. Use fewer processes."
                )
            self.epoch, self.batch_in_epoch = self.epoch + 1, 0

    def update(self, batches: Sequence[Batch]) -> tuple[float, int]:
        """Take one optimiser step; return mean nats per token, and tokens, over all processes."""
        ranks = self.train_batches.ranks
        tokens = sum_over_processes(
            torch.tensor(sum(batch.tokens for batch in batches), device=self.device), ranks
        )
        self.optimizer.zero_grad(set_to_none=True)
        loss = torch.zeros((), device=self.device)
        for index, batch in enumerate(batches):
            exchange_gradients(self.model, now=index + 1 == len(batches))
            share = self._loss(batch) / tokens
            # FSDP averages gradients over processes; training needs their sum.
            torch.autograd.backward(share * ranks)
            loss += share.detach()
        mean = float(sum_over_processes(loss, ranks))
        norm = clip_gradients(self.model, self.settings.clip or math.inf)
        check_finite(self.run, "loss", mean, self.step + 1)
        check_finite(self.run, "norm of the gradient", float(norm), self.step + 1)
        set_rate(self.optimizer, self.schedule(self.step))
        self.optimizer.step()
        return mean, int(tokens)

    def _loss(self, batch: Batch) -> Tensor:
        with self._precision():
            scores = self.model(batch.contexts, batch.inputs)
            taught = self.teacher.scores(batch) if self.teacher else None
        likelihood = negative_log_likelihood(scores, batch.targets)
        if taught is None:
            return likelihood
        of_teacher = soft_loss(scores, taught, batch.targets, self.settings.teacher_temperature)
        return likelihood.lerp(of_teacher, self.settings.teacher_weight)

    def _precision(self) -> torch.autocast:
        return torch.autocast(self.device.type, torch.bfloat16, enabled=self.settings.precision == "bf16")

    def _measure_and_save(self) -> None:
        last = self.step == self.settings.steps
        if last or self.step % self.settings.validate_every == 0:
            with self._precision():
                measured = perplexity(self.model, self.heldout.in_order(), self.device)
            self._log("heldout.csv", step=self.step, perplexity=measured.value, tokens=measured.tokens)
        if last or self.step % self.settings.checkpoint_every == 0:
            self.save()

    def _forget_later_steps(self) -> None:
        """Remove log rows of steps after the checkpoint, which are repeated."""
        for path in (self.run / "train.csv", self.run / "heldout.csv"):
            forget_later(path, self.step)

    def _log(self, name: str, **values: float) -> None:
        if self.train_batches.rank:
            return
        append_row(self.run / name, values)

    def save(self) -> None:
        """Write a checkpoint from which training continues as if it had not stopped."""
        weights = {name: parameter.detach() for name, parameter in self.model.named_parameters()}
        for name, weight in weights.items():
            check_finite(self.run, f"sum of the weights {name}", float(whole(weight.sum())), self.step)
        folder, ranks = self.run / f"step-{self.step:07d}", self.train_batches.ranks
        states, random = self._states(), self._random_states()
        if ranks == 1:
            save_checkpoint(
                folder,
                config=self.config,
                weights=weights,
                tokenizer=self.tokenizer,
                training=(states | random, self._progress()),
            )
        else:
            self._save_together(folder, weights, states, random)
        if not self.train_batches.rank:
            drop_old(self.run, self.settings.keep)

    def _save_together(
        self, folder: Path, weights: dict[str, Tensor], states: dict[str, Tensor], random: dict[str, Tensor]
    ) -> None:
        """Write each process's part; the first process joins the weights, on disk, for use."""
        ranks, first = self.train_batches.ranks, not self.train_batches.rank
        with complete_or_absent(folder) if first else nullcontext(unfinished_of(folder)) as part:
            wait_for_all(ranks)  # wait until the folder exists
            write_shards(part / SHARDS, {name: state for name, state in states.items() if state.dim()})
            whole_weights = write_whole(part / "parts", weights)
            if first:
                whole_weights.rename(part / "model.safetensors")
                shutil.rmtree(part / "parts")
                counters = {name: state for name, state in states.items() if not state.dim()}
                files = {"config.json": json.dumps(self.config.to_dict(), indent=1).encode()}
                files |= {"tokenizer.model": self.tokenizer.model}
                files |= {"training.json": json.dumps(self._progress(), indent=1).encode()}
                fill_folder(part, tensors={"training.safetensors": counters | random}, files=files)

    def _progress(self) -> dict[str, Any]:
        return {
            "step": self.step,
            "epoch": self.epoch,
            "batch_in_epoch": self.batch_in_epoch,
            "processes": self.train_batches.ranks,
            "settings": asdict(self.settings),
        }

    def _states(self) -> dict[str, Tensor]:
        """This process's part of the optimiser's state."""
        return {
            f"{name}|{key}": value
            for name, parameter in self.model.named_parameters()
            for key, value in self.optimizer.state[parameter].items()
        }

    def _random_states(self) -> dict[str, Tensor]:
        """States of the random generators of every process."""
        states = {"cpu": torch.get_rng_state()}
        if self.device.type == "cuda":
            states["cuda"] = torch.cuda.get_rng_state(self.device)
        ranks = self.train_batches.ranks
        return {
            f"random|{name}|{rank}": state
            for name, value in states.items()
            for rank, state in enumerate(gather_over_processes(value, self.device, ranks))
        }

    def _resume(self, checkpoint: Path) -> None:
        refuse_other_config(checkpoint, read_config(checkpoint), self.config)
        if (checkpoint / "tokenizer.model").read_bytes() != self.tokenizer.model:
            raise CheckpointError(
                f"{checkpoint} was trained with another tokenizer than the corpus. Use its corpus."
            )
        plain = read_progress(checkpoint)
        self.step, self.epoch, self.batch_in_epoch = plain["step"], plain["epoch"], plain["batch_in_epoch"]
        self._check_settings(checkpoint, plain["settings"], plain.get("processes", 1))
        self._restore_weights(checkpoint)
        self._restore_states(checkpoint)

    def _begin_with(self, checkpoint: Path) -> None:
        """Copy the weights of another run; dropout and the longest lengths may differ."""
        stored, config = read_config(checkpoint), self.config
        alike = replace(
            stored,
            dropout=config.dropout,
            context_length=config.context_length,
            response_length=config.response_length,
        )
        if alike != config:
            raise CheckpointError(
                f"--begin-with {checkpoint} has the configuration {stored.to_dict()}, not "
                f"{config.to_dict()}. Give its shape."
            )
        if read_tokenizer(checkpoint, stored).model != self.tokenizer.model:
            raise CheckpointError(
                f"--begin-with {checkpoint} has another tokenizer than the corpus. Build the corpus with "
                f"--tokenizer {checkpoint / 'tokenizer.model'}."
            )
        self._restore_weights(checkpoint)

    def _restore_weights(self, checkpoint: Path) -> None:
        read_shards(checkpoint, {name: weight.detach() for name, weight in self.model.named_parameters()})

    def _restore_states(self, checkpoint: Path) -> None:
        """Restore the optimiser and the random generators."""
        parameters = dict(self.model.named_parameters())
        for folder in filter(Path.is_dir, (checkpoint, checkpoint / SHARDS)):
            states = {
                name: empty_state(parameters[name.partition("|")[0]], size, dtype)
                for name, (size, dtype) in shapes_in(folder).items()
                if name.partition("|")[0] in parameters and "|" in name and size
            }
            read_shards(folder, states)
            self._remember(states)
        plain = read_plain(checkpoint / "training.safetensors")
        # Counters of steps stay on the CPU, where the optimisers read them.
        self._remember({name: value for name, value in plain.items() if not value.dim()})
        self._restore_random(plain)

    def _remember(self, states: dict[str, Tensor]) -> None:
        parameters = dict(self.model.named_parameters())
        for name, state in states.items():
            owner, _, key = name.partition("|")
            self.optimizer.state[parameters[owner]][key] = state

    def _check_settings(self, checkpoint: Path, before: dict[str, Any], processes: int) -> None:
        """Refuse settings that would change the order of the data or the meaning of a step.

        Another number of processes is accepted if an update has as many batches as before. More steps are
        accepted: with Adafactor at any time; with AdamW, whose rate ends at zero, after the last one.
        """
        now = asdict(self.settings)
        ended = self.step == before["steps"] or now["optimizer"] == "adafactor"
        fixed = MUST_STAY if ended and now["steps"] >= self.step else (*MUST_STAY, "steps")
        before = asdict(TrainingSettings(steps=self.step)) | before  # runs begun before a setting existed
        ranks = self.train_batches.ranks
        batches = before["accumulation"] * processes
        if batches != now["accumulation"] * ranks:
            raise CheckpointError(
                f"{checkpoint} was trained in {processes} processes with --accumulation "
                f"{before['accumulation']}, so on {batches} batches per update, and not on "
                f"{now['accumulation'] * ranks}. Use as many processes, or others whose number times "
                f"--accumulation is {batches}."
            )
        self.batch_in_epoch = self.batch_in_epoch * processes // ranks
        refuse_other_settings(checkpoint, before, now, fixed)

    def _restore_random(self, tensors: dict[str, Tensor]) -> None:
        rank = self.train_batches.rank
        if f"random|cpu|{rank}" not in tensors:
            return  # the run began with fewer processes: this one starts a new sequence
        torch.set_rng_state(tensors[f"random|cpu|{rank}"])
        if self.device.type == "cuda" and f"random|cuda|{rank}" in tensors:
            torch.cuda.set_rng_state(tensors[f"random|cuda|{rank}"], self.device)
