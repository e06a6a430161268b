"""The way from *Start* to the first word: whose place with a bot it is until then, and from then on.

*Start* gives a place, and an open page holds it for a while (`places.LOADING`, `READING`); the first word,
as soon as it is typed, takes it for good. Whoever comes back to a page that was closed, or begins to write
when others have taken all places, is told so before they have written anything. See
docs/decisions/places-by-the-first-word.md.
"""

from datetime import datetime
from enum import Enum, auto

from django.db import connection, transaction
from django.utils import timezone

from turnwise.crowd.models import Assignment
from turnwise.crowd.places import pilot
from turnwise.crowd.places.assignment import lock_participation
from turnwise.crowd.places.reservation import HOLD, LOADING, has_begun, keep_place, places_taken
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.live.batches import BatchedStep
from turnwise.studies.models import Study, StudyBot

BEGIN_WITH_ROOM = BatchedStep(
    "crowd_begin_with_room",
    {"participation": "bigint", "assignment": "bigint", "now": "timestamptz"},
    is_durable=False,  # what is said then is, and this with it
)


class Claim(Enum):
    """Whose place it is now."""

    BEGUN = auto()
    HELD = auto()
    GONE = auto()


async def begin_with_room(participation_id: int, assignment_id: int) -> bool:
    """Take a place with a bot for good, as `claim` does, where there is room for all who could ask for one.

    Committed together with what others begin at this moment. False, and nothing done, if that is not
    plain: then `claim` decides.
    """
    now = timezone.now().isoformat()
    row = await BEGIN_WITH_ROOM.row(participation=participation_id, assignment=assignment_id, now=now)
    return row is not None


def claim(assignment_id: int, *, begins: bool, now: datetime | None = None) -> Claim:
    """Hold a place with a bot, or with the first word take it for good. Safe to repeat.

    A place that is gone is given up with the conversation in which nothing was said, so that its worker may
    press *Start* again.

    Args:
        assignment_id: whose.
        begins: whether they write, or else only open the page.
        now: when.
    """
    now = now or timezone.now()
    if begins and _begin(assignment_id, now):
        return Claim.BEGUN
    own = Assignment.objects.filter(pk=assignment_id).first()
    if own is None:
        return Claim.GONE
    if own.outcome or own.active_at != own.assigned_at:
        return Claim.BEGUN
    if own.study_bot_id is None:  # opposite a person: nobody can take that from them
        return Claim.BEGUN if begins else Claim.HELD
    is_held = own.held_until is not None and own.held_until > now
    return Claim.HELD if is_held and not begins else _hold_again(own, begins=begins, now=now)


def _begin(assignment_id: int, now: datetime) -> bool:
    """Take a place with a bot for good; whether there was one that they could take (sql/begin.sql)."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT crowd_begin(%s, %s, %s)", [assignment_id, now, now - HOLD])
        return bool(cursor.fetchone()[0])


@transaction.atomic
def _hold_again(own: Assignment, *, begins: bool, now: datetime) -> Claim:
    """Hold a place that was let go, if it is still there; one that is gone is given up."""
    try:
        participation = lock_participation(own.participation_id)
    except EntryRefusedError:
        return Claim.GONE
    if not Assignment.objects.filter(pk=own.pk).exists():
        return Claim.GONE
    if has_begun(participation.pk):
        keep_place(own.pk, now=now)
        return Claim.BEGUN
    if begins or not _is_there(own, participation.study, now):
        own.delete()
        participation.pilot = False
        participation.save(update_fields=["pilot"])
        return Claim.GONE
    Assignment.objects.filter(pk=own.pk).update(held_until=now + LOADING)
    return Claim.HELD


def _is_there(own: Assignment, study: Study, now: datetime) -> bool:
    """Whether the place is free for them."""
    if own.participation.pilot and pilot.is_on(study):
        study = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        if not pilot.has_room_for(own, study, now):
            return False
    assert own.study_bot_id is not None
    bots = list(StudyBot.objects.select_for_update().filter(pk=own.study_bot_id))
    # Who comes back has lost their hold, so their own is not among the places taken.
    return places_taken(bots, now)[own.study_bot_id] < bots[0].target
