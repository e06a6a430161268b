"""Celery tasks that run a bot over a set of contexts in slices. Repeated requests keep their seed."""

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from celery import shared_task
from django.utils import timezone
from typing_extensions import override

from chatbots.base import Context, Passage
from turnwise.bots.hosting import client
from turnwise.live.jobs import RUNS, ChunkedJob
from turnwise.responses import services
from turnwise.responses.bot_jobs import JobWork, take_up, work_slice
from turnwise.responses.bulk_replies import SLICE_SECONDS, Trouble
from turnwise.responses.models import ResponseRun, Source
from turnwise.responses.services import Missing


def seed_of(run_seed: int, key: str, repetition: int) -> int:
    """The seed of one response: 31 bits, the same on every machine.

    Args:
        run_seed: seed of the run.
        key: key of the context, which is stable between versions of a set.
        repetition: number of the repetition, from 1.
    """
    digest = hashlib.sha256(f"{run_seed}\n{repetition}\n{key}".encode()).digest()
    return int.from_bytes(digest[:4], "big") >> 1


def answer_slice(run_id: int, *, seconds: float = SLICE_SECONDS) -> bool:
    """Work on a run for a limited time, like `work_slice`."""
    return work_slice("Run", RUNS, run_id, _begun, seconds=seconds)


def _begun(run_id: int) -> "_Run | None":
    run = services.begin(run_id, now=timezone.now())
    return _Run(run) if run else None


@dataclass(slots=True)
class _Run(JobWork[Missing, ResponseRun]):
    @override
    def missing(self, most: int) -> list[Missing]:
        return services.missing(self.job, most=most)

    @override
    def request(self, missing: Missing) -> tuple[int, Context]:
        run, context = self.job, missing.context
        assert run.bot_id is not None
        assert run.seed is not None
        seed = seed_of(run.seed, context.key, missing.repetition)
        material = tuple(Passage(sentence) for sentence in context.material)
        asked = Context.from_texts(context.turns, seed)
        return run.bot_id, replace(asked, material=material, drawing=run.drawing)

    @override
    def record(
        self,
        answered: Sequence[tuple[Missing, client.Reply]],
        failed: Sequence[tuple[Missing, Trouble]],
    ) -> None:
        services.record(self.job, answered, failed, now=timezone.now())

    @override
    def conclude(self) -> None:
        services.conclude(self.job.pk, now=timezone.now())

    @override
    def note_waiting(self, why: str) -> None:
        services.note_waiting(self.job, why, now=timezone.now())


_SLICES = ChunkedJob("responses.run", RUNS)


@shared_task
def answer(run_id: int) -> None:
    """Run one slice of a run; other jobs get their turn before the next one."""
    _SLICES.mark_received(run_id)
    if answer_slice(run_id):
        send(run_id)


@shared_task
def take_up_runs() -> None:
    """Send the runs whose process has died to a worker again."""
    take_up(ResponseRun.objects.filter(source=Source.BOT), _SLICES, answer)


def send(run_id: int) -> bool:
    """Send the run to a worker; False if it was sent already."""
    return _SLICES.send(run_id, answer)


def send_all(runs: Iterable[ResponseRun]) -> None:
    for run in runs:
        send(run.pk)
