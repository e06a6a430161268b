"""Jobs of judge runs, in slices of time. Repeated requests keep their seed."""

from collections.abc import Sequence
from dataclasses import dataclass

from celery import shared_task
from django.utils import timezone
from typing_extensions import override

from chatbots.base import Context
from evaluation.machine_judges.template import prompt
from turnwise.bots.hosting import client
from turnwise.judges import services
from turnwise.judges.models import JudgeRun
from turnwise.judges.services import Missing
from turnwise.live.jobs import JUDGES, ChunkedJob
from turnwise.responses.bot_jobs import JobWork, take_up, work_slice
from turnwise.responses.bulk_replies import SLICE_SECONDS, Trouble
from turnwise.responses.tasks import seed_of


def judge_slice(run_id: int, *, seconds: float = SLICE_SECONDS) -> bool:
    """Work on a run for a limited time, like `work_slice`."""
    return work_slice("Judge run", JUDGES, run_id, _begin_work, seconds=seconds)


def _begin_work(run_id: int) -> "_JudgeWork | None":
    run = services.begin(run_id, now=timezone.now())
    return _JudgeWork(run) if run else None


@dataclass(slots=True)
class _JudgeWork(JobWork[Missing, JudgeRun]):
    @override
    def missing(self, most: int) -> list[Missing]:
        return services.missing(self.job, most=most)

    @override
    def request(self, missing: Missing) -> tuple[int, Context]:
        judge = self.job.judge
        key = f"{missing.key} swapped" if missing.is_swapped else missing.key
        seed = seed_of(self.job.seed, key, missing.draw)
        return judge.bot_id, Context.from_texts([prompt(judge.instructions, missing.text)], seed)

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


_SLICES = ChunkedJob("judges.run", JUDGES)


@shared_task
def judge(run_id: int) -> None:
    """Run one slice of a run; other jobs get their turn before the next one."""
    _SLICES.mark_received(run_id)
    if judge_slice(run_id):
        send(run_id)


@shared_task
def take_up_judge_runs() -> None:
    """Send the runs whose process has died to a worker again."""
    take_up(JudgeRun.objects.all(), _SLICES, judge)


def send(run_id: int) -> bool:
    """Send the run to a worker; False if it was sent already."""
    return _SLICES.send(run_id, judge)
