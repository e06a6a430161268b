"""Jobs that ask a bot for many replies in slices: response runs, audits, self-play."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Generic, TypeVar

from celery import Task
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from typing_extensions import override

from turnwise.live.jobs import ChunkedJob, exclusive_lock
from turnwise.responses.bulk_replies import SLICE_SECONDS, BotChangedError, M, Slice, Work, run_slice

MOST_ATTEMPTS = 3
"""Attempts at a reply; after that, only a retry of the job asks for it again."""

SILENCE_TIMEOUT = timedelta(minutes=15)
"""Time after which a job gives up a silent bot; loading a bot or serving workers may take minutes."""

QUEUED, RUNNING = "queued", "running"
AT_WORK = (QUEUED, RUNNING)


class BotJob(models.Model):
    """A job of a bot, with its state, its progress and the reason of its end."""

    state = models.CharField(max_length=10, default=QUEUED)  # subclasses define the choices
    reason = models.TextField(blank=True, help_text=_("Why it stopped."))
    created_at = models.DateTimeField(auto_now_add=True)
    active_at = models.DateTimeField(null=True, blank=True, help_text=_("When a job last worked on it."))
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True


J = TypeVar("J", bound=BotJob)
Row = TypeVar("Row", bound=models.Model)


def begin(jobs: models.QuerySet[J], pk: int, *, now: datetime) -> J | None:
    """Mark a job as running; None if it has ended."""
    found = jobs.filter(pk=pk, state__in=AT_WORK)
    found.filter(state=QUEUED).update(state=RUNNING, active_at=now)
    return found.first()


def is_at_work(job: BotJob) -> bool:
    return _at_work(job).exists()


def resume(model: type[J], pk: int, *, now: datetime) -> None:
    """Record that a job continues after its process died, so that the bot is not blamed for the gap."""
    model._default_manager.filter(pk=pk, state=RUNNING).update(active_at=now)


def take_up(jobs: models.QuerySet[J], chunks: ChunkedJob, task: "Task[[int], None]") -> None:
    """Send the jobs among these to a worker again whose process has died."""
    for pk in jobs.filter(state__in=AT_WORK).values_list("pk", flat=True):
        if chunks.send_if_abandoned(pk, task):
            resume(jobs.model, pk, now=timezone.now())


def end(job: BotJob, state: str, reason: str, *, now: datetime) -> bool:
    """End a job; False if it had ended before."""
    ended = _at_work(job).update(state=state, reason=reason[:2000], finished_at=now)
    return bool(ended)


def note_waiting(job: BotJob, why: str, *, silence: str, now: datetime) -> None:
    """Store why a job does not move; fail it if its bot has been silent for too long.

    Args:
        job: the job.
        why: the bot's last message.
        silence: reason of the failure, with placeholders `{minutes}` and `{why}`.
        now: current time.
    """
    if reason := why_give_up(_at_work(job), why, silence=silence, now=now):
        end(job, "failed", reason, now=now)


def why_give_up(waiting: models.QuerySet[Row], why: str, *, silence: str, now: datetime) -> str:
    """Reason to give up the row that waits for a bot; empty, and stored as waiting, if it is not time yet."""
    active_at = waiting.values_list("active_at", flat=True).first()
    if now - (active_at or now) > SILENCE_TIMEOUT:
        return silence.format(minutes=SILENCE_TIMEOUT.seconds // 60, why=why)
    waiting.update(reason=why[:2000])
    return ""


def pin_version(row: models.Model, field: str, seen: set[int], *, refusal: str) -> None:
    """Store the version of a bot that answered first, and refuse any other.

    Args:
        row: row of the job.
        field: name of the foreign key to the version.
        seen: keys of the versions that have answered now.
        refusal: message if another version answered.

    Raises:
        BotChangedError: another version answered.
    """
    pinned: Any = type(row)._default_manager.select_for_update().get(pk=row.pk)
    if getattr(pinned, f"{field}_id") is None:
        setattr(pinned, f"{field}_id", min(seen))
        pinned.save(update_fields=[field])
    if seen != {getattr(pinned, f"{field}_id")}:
        raise BotChangedError(refusal)


def _at_work(job: BotJob) -> models.QuerySet[BotJob]:
    return type(job)._default_manager.filter(pk=job.pk, state__in=AT_WORK)


@dataclass(slots=True)
class JobWork(Work[M], Generic[M, J]):
    """Replies that a job wants from a bot."""

    job: J

    @override
    def has_ended(self) -> bool:
        return not is_at_work(self.job)

    @override
    def give_up(self, why: str) -> None:
        end(self.job, "failed", why, now=timezone.now())


def work_slice(
    name: str,
    lock: int,
    pk: int,
    find_work: Callable[[int], JobWork[Any, Any] | None],
    *,
    seconds: float = SLICE_SECONDS,
) -> bool:
    """Work on a job for a limited time; does nothing if another process works on it. Safe to repeat.

    Args:
        name: name of this kind of job, for the log.
        lock: under which one process works on a job (`turnwise.live.jobs`).
        pk: key of the job.
        find_work: returns the work of the job with this key; None if it has ended.
        seconds: duration of the slice.

    Returns:
        True if there is more to do.
    """
    with exclusive_lock(lock, pk) as ours:
        work = find_work(pk) if ours else None
        if work is None:
            return False
        return run_slice(f"{name} {pk}", Slice(work, time.monotonic() + seconds).work(), work.give_up)
