"""Giving a place: with the bot that is furthest from its target, or in a study without conversations."""

from collections import Counter
from collections.abc import Callable, Collection
from datetime import datetime

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from turnwise.bots.models import OPERATED, Bot
from turnwise.crowd import refusals
from turnwise.crowd.models import PAID, Assignment, Participation
from turnwise.crowd.pay import ledger
from turnwise.crowd.places import pilot, re_entry, reservation
from turnwise.crowd.places.reservation import HOLD, LOADING, UNTOUCHED, begun, counted, places_taken
from turnwise.studies.models import Study, StudyBot


@transaction.atomic
def assign(participation_id: int, *, now: datetime | None = None) -> Assignment:
    """Give the worker a place with the bot that is furthest from its target.

    The rows of the study's bots are locked, so that counting and taking a place are one step:
    a bot never has more finished and live conversations together than its target. Only workers
    who return to what they have begun after their place went back to the pool can carry it above.

    Raises:
        EntryRefusedError: the study is not open, every place is taken, or no bot that has one is running.
    """
    return _begin(participation_id, _furthest_from_target, now)


@transaction.atomic
def admit(participation_id: int, *, now: datetime | None = None) -> Assignment:
    """Give the worker of a study without conversations their place. Safe to repeat.

    Raises:
        EntryRefusedError: the study is not open, or its pilot has all that it wants.
    """
    return _begin(participation_id, lambda _participation, _now: None, now)


def _begin(
    participation_id: int, bot_for: Callable[[Participation, datetime], StudyBot | None], now: datetime | None
) -> Assignment:
    participation = lock_participation(participation_id)
    existing = Assignment.objects.filter(participation=participation).first()
    if existing:
        return _open_or_paid(existing)
    if participation.study.state != Study.State.OPEN:
        raise refusals.not_taking(participation.study)
    now = now or timezone.now()
    _join_pilot(participation, now)
    ledger.promise(participation)  # before the bots: whoever saves a study locks it before them, too
    bot = bot_for(participation, now)
    return Assignment.objects.create(
        participation=participation,
        study_id=participation.study_id,
        study_bot=bot,
        number=_next_number(bot) if bot else None,
        assigned_at=now,
        active_at=now,
        held_until=now + LOADING,
    )


def _furthest_from_target(participation: Participation, now: datetime) -> StudyBot:
    # After the study, which a pilot locks: as whoever saves a study does.
    bots = _lock_bots(participation.study_id)
    return _least_filled(re_entry.not_met(participation, bots), now)


def _join_pilot(participation: Participation, now: datetime) -> None:
    """Make whoever begins while the study is in its pilot one of its people.

    Raises:
        EntryRefusedError: it has all that it wants.
    """
    if not pilot.is_on(participation.study):
        return
    # Places are counted and taken in one step, and not while somebody goes on.
    study = Study.objects.select_for_update(no_key=True).get(pk=participation.study_id)
    if not pilot.is_on(study):
        return
    if pilot.is_full(study, now):
        raise refusals.paused()
    participation.pilot = True
    participation.save(update_fields=["pilot"])


@transaction.atomic
def give_bot(assignment_id: int, *, now: datetime) -> Assignment:
    """Have somebody who waited for another person in vain talk with a bot of the study.

    Raises:
        EntryRefusedError: every place is taken, or no bot that has one is running.
    """
    assignment = Assignment.objects.get(pk=assignment_id)
    bot = assignment.study_bot = _least_filled(_lock_bots(assignment.study_id), now)
    assignment.number = _next_number(bot)
    assignment.active_at = now
    assignment.save(update_fields=["study_bot", "number", "active_at"])
    return assignment


def _next_number(bot: StudyBot) -> int:
    """Of the place that is given next; the bot's row is locked."""
    given = bot.assignments.aggregate(highest=Max("number"))["highest"]
    return 1 + (given or 0)


def _open_or_paid(existing: Assignment) -> Assignment:
    if existing.outcome and existing.outcome not in PAID:
        raise refusals.ended()
    return existing


def lock_participation(participation_id: int) -> Participation:
    """The participation, locked, with its study and worker.

    Raises:
        EntryRefusedError: it is gone.
    """
    rows = Participation.objects.select_related("study", "worker").select_for_update(of=("self",))
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
    if not bots:  # all are switched off
        raise refusals.no_bot()
    taken = places_taken(bots, now)
    wanting = [bot for bot in bots if taken[bot.pk] < bot.target]
    if not wanting:
        later = places_taken(bots, now + HOLD)
        raise refusals.full(may_become_free=any(later[bot.pk] < bot.target for bot in bots))
    _lock_operated(wanting)
    available = reservation.admitting([bot.bot for bot in wanting], now=now)
    free = [bot for bot in wanting if bot.bot_id in available]
    if not free:
        raise refusals.no_bot()
    # Evenly, so whoever only pressed Start counts here, from wherever they came.
    waiting = counted(free).filter(UNTOUCHED, held_until__gt=now)
    live = begun(free, now) + Counter(waiting.values_list("study_bot", flat=True))
    return min(free, key=lambda bot: (live[bot.pk] / bot.target, bot.pk))


def _lock_operated(wanting: Collection[StudyBot]) -> None:
    """An operator may answer in several studies: their room is counted and taken in one step, too."""
    ids = [each.bot_id for each in wanting if each.bot.adapter == OPERATED]
    if ids:
        list(Bot.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("pk"))
