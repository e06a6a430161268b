"""Jobs of judge runs, in slices of time, and their daily checks. Repeated requests keep their seed."""

from collections.abc import Sequence
from dataclasses import dataclass

from celery import shared_task
from django.utils import timezone
from typing_extensions import override

from chatbots.base import Context
from turnwise.bots.hosting import client
from turnwise.judges import requests, services
from turnwise.judges.drift_checks import services as drift_checks
from turnwise.judges.models import JudgeRun
from turnwise.judges.requests import Missing
from turnwise.live.jobs import JUDGES, ChunkedJob, exclusive_lock
from turnwise.responses.bot_jobs import JobWork, take_up, work_slice
from turnwise.responses.bulk_replies import SLICE_SECONDS, Trouble


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
        return services.affordable(self.job, most=most)

    @override
    def request(self, missing: Missing) -> tuple[int, Context]:
        bot_id = self.job.judge.bot_id
        assert bot_id  # runs of other judges are never at work
        return bot_id, requests.context_of(self.job, missing)

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


@shared_task
def watch_judges() -> None:
    """Start the daily check of every judge that is due."""
    for run_id in drift_checks.runs_due():
        check_drift.delay(run_id)


@shared_task
def check_drift(run_id: int) -> None:
    """Have a judge answer its fixed items again, unless an earlier queued job has done it already."""
    with exclusive_lock(JUDGES, run_id) as ours:
        if ours and run_id in drift_checks.runs_due():
            drift_checks.check(run_id)
