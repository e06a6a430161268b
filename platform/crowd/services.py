from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import Count, F, Q
from django.utils import timezone

from accounts.models import User
from bots import presence
from crowd import refusals
from crowd.addresses import hashed
from crowd.models import Assignment, Participation, Worker
from crowd.sessions import Session
from studies.models import ConsentVersion, Study, StudyBot
from studies.services import results_changed

# A worker who is silent for this long gives their place back to the pool (they may still finish).
HOLD = timedelta(hours=1)
# Before they have sent anything: else a few clicks on Start would empty a study's places for an hour.
RESERVED = timedelta(minutes=3)
# And of one network address no more than so many of these: else one person without cookies could press Start
# for all places again and again. Behind one address sits a class, too, so nobody is turned away for it: at
# worst a few of them carry a bot above its target.
MOST_RESERVED_FROM_AN_ADDRESS = 3


@dataclass(frozen=True, slots=True)
class PanelId:
    """How a panel names its worker in the entry link, such as PROLIFIC_PID=5f2c."""

    parameter: str
    value: str


@transaction.atomic
def consent(
    study: Study,
    version: ConsentVersion,
    *,
    known: Session | None,
    panel_id: PanelId | None,
    address: str = "",
) -> Participation:
    """Record that someone agreed to take part, creating the worker at their first study.

    Safe to repeat: the second call returns the first participation. So is it for somebody whom a panel
    names and who has sent nothing so far, yet whose browser never got the answer (a second click on the
    button, a broken line), or whose id somebody else used before: they begin anew, and the browser of the
    first time is no longer known.

    Args:
        study: what they take part in.
        version: the consent text that they were shown.
        known: the session of their browser, if it has one.
        panel_id: how the panel names them in the link, if it does.
        address: of the network that they came from.

    Raises:
        EntryRefusedError: the study is not open, or this worker began the work in another browser.
    """
    if study.state != Study.State.OPEN:
        raise refusals.not_open()
    worker = _worker(known, panel_id)
    agreed = {"consent": version, "address": hashed(address, study)}
    # Who agrees twice at once agrees one after the other.
    Worker.objects.select_for_update(no_key=True).get(pk=worker.pk)
    participation, is_new = Participation.objects.get_or_create(worker=worker, study=study, defaults=agreed)
    if is_new or (known and participation.pk in known.participations):
        return participation
    # The id in the link is no secret: whoever knows it must not get into the work of its owner.
    Participation.objects.select_for_update().get(pk=participation.pk)
    if _has_begun(participation):
        raise refusals.started_elsewhere()
    participation.delete()
    return Participation.objects.create(worker=worker, study=study, **agreed)


def _has_begun(participation: Participation) -> bool:
    """Whether anything would be lost with this participation.

    Of a conversation between two people that is also what the other one said, who would lose it with them.
    """
    own = Assignment.objects.filter(participation=participation)
    said = own.filter(
        seat__dialogue__turn_set__bot_version=None,
        seat__dialogue__turn_set__position__gte=F("seat__dialogue__opening_turns"),
    )
    return own.exclude(UNTOUCHED).exists() or said.exists()


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
    who return after their place went back to the pool can carry it above, and those of whom many press
    Start at one network address.

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
    wanting = [bot for bot in bots if taken[bot.pk] < bot.target]
    if not wanting:
        later = places_taken([bot.pk for bot in bots], now + HOLD)
        raise refusals.full(may_become_free=any(later[bot.pk] < bot.target for bot in bots))
    available = presence.available([bot.bot for bot in wanting])
    free = [bot for bot in wanting if bot.bot_id in available]
    if not free:
        raise refusals.no_bot()
    # Evenly, so whoever only pressed Start counts here, from wherever they came.
    live = Counter(
        Assignment.objects.filter(
            Q(outcome=Assignment.Outcome.COMPLETE) | holding(now), study_bot__in=free
        ).values_list("study_bot", flat=True)
    )
    return min(free, key=lambda bot: (live[bot.pk] / bot.target, bot.pk))


def places_taken(study_bot_ids: Collection[int], now: datetime) -> Counter[int]:
    """Finished and live conversations of each bot of a study."""
    of_bots = Assignment.objects.filter(study_bot__in=study_bot_ids)
    settled = of_bots.filter(Q(outcome=Assignment.Outcome.COMPLETE) | _at_work(now))
    taken = Counter(dict(settled.values_list("study_bot").annotate(n=Count("pk"))))
    reserved = of_bots.filter(UNTOUCHED, active_at__gt=now - RESERVED).order_by("pk")
    from_address = Counter[str]()
    for study_bot, address in reserved.values_list("study_bot", "participation__address"):
        from_address[address] += 1
        taken[study_bot] += not address or from_address[address] <= MOST_RESERVED_FROM_AN_ADDRESS
    return taken


UNTOUCHED = Q(outcome="", active_at=F("assigned_at"))
"""Assignments in which nothing was sent yet."""


def holding(now: datetime, prefix: str = "") -> Q:
    """Assignments under way whose worker was seen lately; `prefix` is the path to them."""
    return _at_work(now, prefix) | Q(**{f"{prefix}outcome": "", f"{prefix}active_at__gt": now - RESERVED})


def _at_work(now: datetime, prefix: str = "") -> Q:
    """Those of them who have sent something."""
    seen_lately = Q(**{f"{prefix}outcome": "", f"{prefix}active_at__gt": now - HOLD})
    return seen_lately & Q(**{f"{prefix}active_at__gt": F(f"{prefix}assigned_at")})


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
def exclude(participation_id: int, *, reason: str, by: User, now: datetime | None = None) -> Participation:
    """Exclude a worker from the study's analysis without them; an empty reason takes that back.

    The labels stay, and count in the analysis of all workers; the pay is untouched.
    """
    participation = Participation.objects.select_for_update().get(pk=participation_id)
    participation.excluded_reason = reason.strip()[:500]
    is_excluded = bool(participation.excluded_reason)
    participation.excluded_at = (now or timezone.now()) if is_excluded else None
    participation.excluded_by = by if is_excluded else None
    participation.save(update_fields=["excluded_reason", "excluded_at", "excluded_by"])
    results_changed(participation.study_id)
    return participation


def note_signs(study_id: int, signs: Mapping[str, str]) -> None:
    """Keep with each participation what a report found, by pseudonym; in the caller's transaction."""
    _note(study_id, "signs", signs)


def note_proposals(study_id: int, reasons: Mapping[str, str]) -> None:
    """Keep, likewise, whom the study's rules propose to exclude. Nobody is excluded by it."""
    _note(study_id, "proposed_reason", reasons)


def _note(study_id: int, field: str, said: Mapping[str, str]) -> None:
    here = Participation.objects.filter(study_id=study_id)
    here.exclude(**{field: ""}).exclude(worker__pseudonym__in=said).update(**{field: ""})
    found = list(here.filter(worker__pseudonym__in=said).select_related("worker"))
    for participation in found:
        setattr(participation, field, said[participation.worker.pseudonym])
    Participation.objects.bulk_update(found, [field], batch_size=500)


@transaction.atomic
def delete_workers(worker_ids: Iterable[int]) -> None:
    """Delete workers with their conversations and labels; the reports of their studies follow."""
    workers = Worker.objects.filter(pk__in=list(worker_ids))
    studies = Participation.objects.filter(worker__in=workers).values_list("study_id", flat=True)
    touched = sorted(set(studies))
    workers.delete()
    for study_id in touched:
        results_changed(study_id)
