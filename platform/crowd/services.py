from collections.abc import Collection, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count, Q
from django.utils import timezone

from accounts.models import User
from bots import presence
from crowd import refusals
from crowd.models import Assignment, Participation, Worker
from crowd.sessions import Session
from studies.models import ConsentVersion, Study, StudyBot
from studies.services import results_changed

# A worker who is silent for this long gives their place back to the pool (they may still finish).
HOLD = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class PanelId:
    """How a panel names its worker in the entry link, such as PROLIFIC_PID=5f2c."""

    parameter: str
    value: str


@transaction.atomic
def consent(
    study: Study, version: ConsentVersion, *, known: Session | None, panel_id: PanelId | None
) -> Participation:
    """Record that someone agreed to take part, creating the worker at their first study.

    Safe to repeat: the second call returns the first participation. So is it for somebody whom a panel
    names and who has only agreed so far, yet whose browser never got the answer (a second click on the
    button, a broken line): they begin anew, and the browser of the first time is no longer known.

    Args:
        study: what they take part in.
        version: the consent text that they were shown.
        known: the session of their browser, if it has one.
        panel_id: how the panel names them in the link, if it does.

    Raises:
        EntryRefusedError: the study is not open, or this worker began the work in another browser.
    """
    if study.state != Study.State.OPEN:
        raise refusals.not_open()
    worker = _worker(known, panel_id)
    # Who agrees twice at once agrees one after the other.
    Worker.objects.select_for_update(no_key=True).get(pk=worker.pk)
    participation, is_new = Participation.objects.get_or_create(
        worker=worker, study=study, defaults={"consent": version}
    )
    if is_new or (known and participation.pk in known.participations):
        return participation
    # The id in the link is no secret: whoever knows it must not get into the work of its owner.
    Participation.objects.select_for_update().get(pk=participation.pk)
    if Assignment.objects.filter(participation=participation).exists():
        raise refusals.started_elsewhere()
    participation.delete()
    return Participation.objects.create(worker=worker, study=study, consent=version)


def _worker(known: Session | None, panel_id: PanelId | None) -> Worker:
    if panel_id:
        worker, _ = Worker.objects.get_or_create(panel=panel_id.parameter, panel_id=panel_id.value)
        return worker
    return (known and Worker.objects.filter(pk=known.worker_id).first()) or Worker.objects.create()


@transaction.atomic
def assign(participation_id: int, *, now: datetime | None = None) -> Assignment:
    """Give the worker a place with the bot that is furthest from its target.

    The rows of the study's bots are locked, so that counting and taking a place are one step:
    a bot never has more finished and live conversations together than its target. Only workers
    who return after their place went back to the pool can carry it above.

    Raises:
        EntryRefusedError: the study is not open, every place is taken, or no bot that has one is running.
    """
    participation = _lock_participation(participation_id)
    bots = _lock_bots(participation.study_id)
    existing = Assignment.objects.filter(participation=participation).first()
    if existing:
        return existing
    if participation.study.state != Study.State.OPEN:
        raise refusals.not_open()
    now = now or timezone.now()
    return Assignment.objects.create(
        participation=participation, study_bot=_least_filled(bots, now), assigned_at=now, active_at=now
    )


@transaction.atomic
def admit(participation_id: int, *, now: datetime | None = None) -> Assignment:
    """Give the worker of a study without conversations their place. Safe to repeat.

    Raises:
        EntryRefusedError: the study is not open.
    """
    participation = _lock_participation(participation_id)
    existing = Assignment.objects.filter(participation=participation).first()
    if existing:
        return existing
    if participation.study.state != Study.State.OPEN:
        raise refusals.not_open()
    now = now or timezone.now()
    return Assignment.objects.create(participation=participation, assigned_at=now, active_at=now)


def _lock_participation(participation_id: int) -> Participation:
    rows = Participation.objects.select_related("study").select_for_update(of=("self",))
    participation = rows.filter(pk=participation_id).first()
    if participation is None:  # its worker agreed once more, in another browser
        raise refusals.not_started()
    return participation


def _lock_bots(study_id: int) -> list[StudyBot]:
    return list(
        StudyBot.objects.select_for_update(of=("self",))
        .select_related("bot")
        .filter(study_id=study_id, bot__active=True)
        .order_by("pk")
    )


def _least_filled(bots: Collection[StudyBot], now: datetime) -> StudyBot:
    taken = places_taken([bot.pk for bot in bots], now)
    wanting = [bot for bot in bots if taken.get(bot.pk, 0) < bot.target]
    if not wanting:
        later = places_taken([bot.pk for bot in bots], now + HOLD)
        raise refusals.full(may_become_free=any(later.get(bot.pk, 0) < bot.target for bot in bots))
    available = presence.available([bot.bot for bot in wanting])
    free = [bot for bot in wanting if bot.bot_id in available]
    if not free:
        raise refusals.no_bot()
    return min(free, key=lambda bot: (taken.get(bot.pk, 0) / bot.target, bot.pk))


def places_taken(study_bot_ids: Iterable[int], now: datetime) -> dict[int, int]:
    """Finished and live conversations of each bot of a study."""
    holds = Q(outcome=Assignment.Outcome.COMPLETE) | Q(outcome="", active_at__gt=now - HOLD)
    counted = (
        Assignment.objects.filter(holds, study_bot__in=study_bot_ids)
        .values_list("study_bot")
        .annotate(n=Count("pk"))
    )
    return dict(counted)


def keep_place(assignment_id: int, *, now: datetime | None = None) -> None:
    """Note that the worker is at work, so that the place is not given to another."""
    Assignment.objects.filter(pk=assignment_id).update(active_at=now or timezone.now())


def complete(assignment_id: int, outcome: Assignment.Outcome, *, now: datetime) -> None:
    """End an assignment, in the caller's transaction; the worker's completion code becomes valid."""
    assignment = Assignment.objects.select_related("participation").get(pk=assignment_id)
    Assignment.objects.filter(pk=assignment_id, outcome="").update(
        outcome=outcome, ended_at=now, active_at=now
    )
    results_changed(assignment.participation.study_id)


@transaction.atomic
def set_aside(participation_id: int, *, reason: str, by: User, now: datetime | None = None) -> Participation:
    """Have the study's report show its scores without this worker, too; an empty reason takes that back.

    The worker's labels stay in every other figure, and their pay is untouched.
    """
    participation = Participation.objects.select_for_update().get(pk=participation_id)
    participation.set_aside_reason = reason.strip()[:500]
    is_aside = bool(participation.set_aside_reason)
    participation.set_aside_at = (now or timezone.now()) if is_aside else None
    participation.set_aside_by = by if is_aside else None
    participation.save(update_fields=["set_aside_reason", "set_aside_at", "set_aside_by"])
    results_changed(participation.study_id)
    return participation


@transaction.atomic
def delete_workers(worker_ids: Iterable[int]) -> None:
    """Delete workers with their conversations and labels; the reports of their studies follow."""
    workers = Worker.objects.filter(pk__in=list(worker_ids))
    studies = Participation.objects.filter(worker__in=workers).values_list("study_id", flat=True)
    touched = sorted(set(studies))
    workers.delete()
    for study_id in touched:
        results_changed(study_id)
