"""Reserve a place with a bot from *Start* until the first message, which makes it permanent.

*Start* reserves a place, and an open page holds it for a while (`reservation.LOADING`, `READING`). The first
typed character makes it permanent. Workers who return to a closed page, or begin to write after all places
were taken, are told so before they have written anything. See docs/decisions/places-by-the-first-word.md.
"""

from datetime import datetime
from enum import Enum, auto

from django.db import connection, transaction
from django.utils import timezone

from turnwise.crowd.models import Assignment
from turnwise.crowd.places import pilot
from turnwise.crowd.places.assignment import lock_participation
from turnwise.crowd.places.reservation import HOLD, LOADING, has_begun, keep_place, occupied_places
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.live.batches import BatchedStep
from turnwise.studies.models import Study, StudyBot

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
