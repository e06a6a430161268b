"""Assign places, with or without a bot; hold them from *Start* until the first message keeps them."""

from collections import Counter
from collections.abc import Callable, Collection
from datetime import datetime
from enum import Enum, auto

from django.db import connection, transaction
from django.db.models import Max
from django.utils import timezone

from turnwise.accounts import erasures
from turnwise.accounts.models import Erasure
from turnwise.bots.models import OPERATED, Bot
from turnwise.crowd import refusals
from turnwise.crowd.models import PAID, Assignment, Participation
from turnwise.crowd.pay import ledger
from turnwise.crowd.places import pilot, re_entry, reservation
from turnwise.crowd.places.conditions import count_places
from turnwise.crowd.places.reservation import (
    HOLD,
    LOADING,
    UNTOUCHED,
    count_begun,
    counted_assignments,
    has_begun,
    keep_place,
    occupied_places,
)
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.live.sockets.batches import BatchedStep
from turnwise.studies.conditions.factors import Condition
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
    return _least_filled(re_entry.bots_for(participation, bots), now, participation.condition)


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


def _least_filled(bots: Collection[StudyBot], now: datetime, condition: Condition | None = None) -> StudyBot:
    """The bot furthest from its target, within the participant's condition if the study has factors."""
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
    # To distribute evenly, workers who only pressed Start count here too, from any address.
    waiting = counted_assignments(free).filter(UNTOUCHED, held_until__gt=now)
    live = count_begun(free, now) + Counter(waiting.values_list("study_bot", flat=True))
    within = count_places(free, condition, now) if condition else live
    return min(free, key=lambda bot: (within[bot.pk] / bot.target, live[bot.pk] / bot.target, bot.pk))


def _lock_operated(unfilled: Collection[StudyBot]) -> None:
    """Lock bots with human operators, whose capacity is shared by several studies."""
    ids = [each.bot_id for each in unfilled if each.bot.adapter == OPERATED]
    if ids:
        list(Bot.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("pk"))


CLAIM_PLACE_FAST = BatchedStep(
    "crowd_begin_with_room",
    {"participation": "bigint", "assignment": "bigint", "now": "timestamptz"},
    is_durable=False,  # the first message is durable, and includes this step
)


class PlaceState(Enum):
    """State of a reserved place."""

    BEGUN = auto()
    HELD = auto()
    GONE = auto()


async def claim_place_fast(participation_id: int, assignment_id: int) -> bool:
    """Make a place permanent in a database batch, if there are surely enough places for everyone.

    Returns:
        False, with nothing changed, if that is not certain: then call `claim_place`.
    """
    now = timezone.now().isoformat()
    row = await CLAIM_PLACE_FAST.row(participation=participation_id, assignment=assignment_id, now=now)
    return row is not None


def claim_place(assignment_id: int, *, begins: bool, now: datetime | None = None) -> PlaceState:
    """Hold a place with a bot, or make it permanent with the first message. Idempotent.

    If the place is gone, its assignment and empty conversation are deleted, so that the worker may press
    *Start* again.

    Args:
        assignment_id: assignment that holds the place.
        begins: True if the worker starts to write, False if they only open the page.
        now: current time.
    """
    now = now or timezone.now()
    if begins and _take_place(assignment_id, now):
        return PlaceState.BEGUN
    assignment = Assignment.objects.filter(pk=assignment_id).first()
    if assignment is None:
        return PlaceState.GONE
    if assignment.outcome or assignment.active_at != assignment.assigned_at:
        return PlaceState.BEGUN
    if assignment.study_bot_id is None:  # the partner is a person: no other worker can take the place
        return PlaceState.BEGUN if begins else PlaceState.HELD
    is_held = assignment.held_until is not None and assignment.held_until > now
    return PlaceState.HELD if is_held and not begins else _renew_hold(assignment, begins=begins, now=now)


def _take_place(assignment_id: int, now: datetime) -> bool:
    """Make the place permanent; True if it was still available (sql/begin.sql)."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT crowd_begin(%s, %s, %s)", [assignment_id, now, now - HOLD])
        return bool(cursor.fetchone()[0])


@transaction.atomic
def _renew_hold(assignment: Assignment, *, begins: bool, now: datetime) -> PlaceState:
    """Hold a released place again if it is still free; otherwise delete the assignment."""
    try:
        participation = lock_participation(assignment.participation_id)
    except EntryRefusedError:
        return PlaceState.GONE
    if not Assignment.objects.filter(pk=assignment.pk).exists():
        return PlaceState.GONE
    if has_begun(participation.pk):
        keep_place(assignment.pk, now=now)
        return PlaceState.BEGUN
    if begins or not _is_place_free(assignment, participation.study, now):
        erasures.begin(Erasure.Reason.RELEASED, study_id=participation.study_id)
        assignment.delete()
        participation.pilot = False
        participation.save(update_fields=["pilot"])
        return PlaceState.GONE
    Assignment.objects.filter(pk=assignment.pk).update(held_until=now + LOADING)
    return PlaceState.HELD


def _is_place_free(assignment: Assignment, study: Study, now: datetime) -> bool:
    """True if the bot of this assignment still has a free place."""
    if assignment.participation.pilot and pilot.is_on(study):
        study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        if not pilot.has_place_for(assignment, study, now):
            return False
    assert assignment.study_bot_id is not None
    bots = list(StudyBot.objects.select_for_update().filter(pk=assignment.study_bot_id))
    # The returning worker's hold has expired, so this assignment is not counted as occupied.
    return occupied_places(bots, now)[assignment.study_bot_id] < bots[0].target
