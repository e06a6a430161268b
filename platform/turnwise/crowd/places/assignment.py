"""Assign places: with the bot furthest from its target, or in a study without conversations."""

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
from turnwise.crowd.places.reservation import (
    HOLD,
    LOADING,
    UNTOUCHED,
    count_begun,
    counted_assignments,
    occupied_places,
)
from turnwise.studies.models import Study, StudyBot


@transaction.atomic
def assign(participation_id: int, *, now: datetime | None = None) -> Assignment:
    """Assign the worker to the bot that is furthest from its target.

    The rows of the study's bots are locked, so counting and assigning are one step: finished and live
    conversations of a bot never exceed its target. The only exception: workers who return to a conversation
    after their place was released.

    Raises:
        EntryRefusedError: the study is not open, all places are occupied, or no bot with a place is running.
    """
    return _begin(participation_id, _furthest_from_target, now)


@transaction.atomic
def admit(participation_id: int, *, now: datetime | None = None) -> Assignment:
    """Create the assignment of a worker in a study without conversations. Idempotent.

    Raises:
        EntryRefusedError: the study is not open, or its pilot is full.
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
    ledger.promise(participation)  # before the bots: saving a study locks the study first, too
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
    # After the study, which a pilot locks: saving a study locks in this order, too.
    bots = _lock_bots(participation.study_id)
    return _least_filled(re_entry.bots_not_met(participation, bots), now)


def _join_pilot(participation: Participation, now: datetime) -> None:
    """Add the worker to the study's pilot while the pilot is running.

    Raises:
        EntryRefusedError: the pilot is full.
    """
    if not pilot.is_on(participation.study):
        return
    # Counting and taking a place are one step, never during the end of the pilot.
    study = Study.objects.select_for_update(no_key=True).get(pk=participation.study_id)
    if not pilot.is_on(study):
        return
    if pilot.is_full(study, now):
        raise refusals.paused()
    participation.pilot = True
    participation.save(update_fields=["pilot"])


@transaction.atomic
def assign_bot_instead(assignment_id: int, *, now: datetime) -> Assignment:
    """Assign a bot to a worker for whom no partner was found.

    Raises:
        EntryRefusedError: all places are occupied, or no bot with a place is running.
    """
    assignment = Assignment.objects.get(pk=assignment_id)
    bot = assignment.study_bot = _least_filled(_lock_bots(assignment.study_id), now)
    assignment.number = _next_number(bot)
    assignment.active_at = now
    assignment.save(update_fields=["study_bot", "number", "active_at"])
    return assignment


def _next_number(bot: StudyBot) -> int:
    """Number of the bot's next assignment; the caller has locked the bot's row."""
    highest = bot.assignments.aggregate(highest=Max("number"))["highest"]
    return 1 + (highest or 0)


def _open_or_paid(existing: Assignment) -> Assignment:
    if existing.outcome and existing.outcome not in PAID:
        raise refusals.ended()
    return existing


def lock_participation(participation_id: int) -> Participation:
    """Lock a participation and return it with its study and worker.

    Raises:
        EntryRefusedError: the participation no longer exists.
    """
    rows = Participation.objects.select_related("study", "worker").select_for_update(of=("self",))
    participation = rows.filter(pk=participation_id).first()
    if participation is None:  # the worker consented again in another browser
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
    occupied = occupied_places(bots, now)
    unfilled = [bot for bot in bots if occupied[bot.pk] < bot.target]
    if not unfilled:
        later = occupied_places(bots, now + HOLD)
        raise refusals.full(may_become_free=any(later[bot.pk] < bot.target for bot in bots))
    _lock_operated(unfilled)
    available = reservation.bots_admitting([bot.bot for bot in unfilled], now=now)
    free = [bot for bot in unfilled if bot.bot_id in available]
    if not free:
        raise refusals.no_bot()
    # To distribute evenly, workers who only pressed Start count here too, whatever their address.
    waiting = counted_assignments(free).filter(UNTOUCHED, held_until__gt=now)
    live = count_begun(free, now) + Counter(waiting.values_list("study_bot", flat=True))
    return min(free, key=lambda bot: (live[bot.pk] / bot.target, bot.pk))


def _lock_operated(unfilled: Collection[StudyBot]) -> None:
    """Lock bots with human operators, whose capacity is shared by several studies."""
    ids = [each.bot_id for each in unfilled if each.bot.adapter == OPERATED]
    if ids:
        list(Bot.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("pk"))
