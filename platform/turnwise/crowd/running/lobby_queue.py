"""People who wait for another person to talk with.

    a tab opens ── enter ──▶ waiting ── match ──▶ asked ── answer, by both ──▶ over
                                ▲                   │
                                └── no answer in time: the other goes on waiting

A tab is asked again and again whether somebody is there. Only its browser can answer, so a dead line or a
crashed browser is noticed. Before two people are brought together both browsers are asked once more: nobody
talks with somebody who has gone. Matching is one step for each study, under a lock of the database, so any
number of web processes may try it at the same moment, and no two are left waiting.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from django.db import connection, transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Least

from turnwise.crowd.models import Assignment, Waiting
from turnwise.live.jobs import WAITING

# Who has not been heard of for so long is not there. A tab is asked every few seconds (ASK_SECONDS).
PRESENCE_TIMEOUT = timedelta(seconds=10)
ASK_SECONDS = 3.0
# Within this time both browsers have to answer that they are there: a round trip, on a slow line.
ANSWER_TIMEOUT = timedelta(seconds=4)

_MEETING = ("meeting", "asked_at", "answered")


@dataclass(frozen=True, slots=True)
class MeetingRequest:
    """Somebody who is to say that they are there, since a partner has been found."""

    assignment_id: int
    meeting: UUID


@transaction.atomic
def enter(assignment: Assignment, *, tab: UUID, now: datetime) -> Waiting | None:
    """Wait in this tab, which replaces any other one of the same person. Safe to repeat.

    Returns:
        None, with nothing changed, if they have somebody to talk with already.
    """
    _lock(assignment.study_id)
    if not Assignment.objects.filter(pk=assignment.pk, outcome="", seat=None).exists():
        return None
    own, _ = Waiting.objects.select_for_update().get_or_create(
        assignment=assignment, defaults={"study_id": assignment.study_id, "seen_at": now}
    )
    own.tab, own.seen_at, own.over_at = tab, now, None
    _forget_meeting(own)
    own.save()
    return own


def mark_present(assignment_id: int, tab: UUID, *, now: datetime) -> Waiting | None:
    """Note that somebody is there; None if they do not wait in this tab any more."""
    own = Waiting.objects.filter(assignment=assignment_id, tab=tab, over_at=None)
    is_waiting = own.update(
        # What passed since they were heard of counts as waiting, unless they were away.
        waited=F("waited") + Least(now - F("seen_at"), PRESENCE_TIMEOUT),
        seen_at=now,
    )
    return own.filter(assignment__outcome="").first() if is_waiting else None


def mark_absent(assignment_id: int, tab: UUID) -> None:
    """The tab was closed: nobody is there, unless another tab has replaced it."""
    Waiting.objects.filter(assignment=assignment_id, tab=tab, over_at=None).update(
        tab=None, meeting=None, asked_at=None, answered=False
    )


@transaction.atomic
def match(study_id: int, *, now: datetime) -> list[MeetingRequest]:
    """Have every two who wait asked whether they are there, longest wait first.

    Who was asked before and did not answer in time is not there until their browser is heard of again.
    """
    _lock(study_id)
    rows = list(_waiting(study_id).filter(tab__isnull=False).select_for_update(of=("self",)).order_by("pk"))
    sides = Counter(row.meeting for row in rows)
    for row in rows:
        is_late = row.asked_at is not None and row.asked_at <= now - ANSWER_TIMEOUT
        if row.meeting and (is_late or sides[row.meeting] < 2):  # the other side has gone
            if is_late and not row.answered:
                row.seen_at = now - PRESENCE_TIMEOUT
            _forget_meeting(row)
            row.save(update_fields=[*_MEETING, "seen_at"])
    free = [row for row in rows if row.meeting is None and row.seen_at > now - PRESENCE_TIMEOUT]
    return [asked for two in zip(free[::2], free[1::2], strict=False) for asked in _ask(two, now)]


def _ask(two: Iterable[Waiting], now: datetime) -> Iterator[MeetingRequest]:
    meeting = uuid4()
    for row in two:
        row.meeting, row.asked_at = meeting, now
        row.save(update_fields=_MEETING)
        yield MeetingRequest(row.assignment_id, meeting)


def answer(assignment_id: int, tab: UUID, meeting: UUID, *, now: datetime) -> Sequence[Assignment]:
    """Note that this side of a meeting is there; call it in a transaction, which goes on to seat the two.

    Returns:
        The two, who wait no longer, the longer wait first, if the other side has answered before; else
        nobody.
    """
    own = Waiting.objects.filter(assignment=assignment_id).first()
    if own is None:
        return ()
    _lock(own.study_id)
    both = list(_waiting(own.study_id).filter(meeting=meeting).order_by("pk").select_for_update())
    mine = next((each for each in both if each.assignment_id == assignment_id and each.tab == tab), None)
    if mine is None or len(both) != 2 or mine.asked_at is None or mine.asked_at <= now - ANSWER_TIMEOUT:
        return ()
    mine.answered = True
    mine.save(update_fields=["answered"])
    if not all(each.answered for each in both):
        return ()
    for each in both:
        _end(each, now)
    two = Assignment.objects.select_related("participation").in_bulk([each.assignment_id for each in both])
    return [two[each.assignment_id] for each in both]


def stop(assignment_id: int, *, now: datetime) -> bool:
    """End a wait that led to nobody, in the caller's transaction; False if it is over, or somebody came."""
    own = Waiting.objects.filter(assignment=assignment_id, over_at=None).first()
    if own is None:
        return False
    _lock(own.study_id)
    own.refresh_from_db()
    if own.over_at or own.meeting:
        return False
    _end(own, now)
    return True


def _end(own: Waiting, now: datetime) -> None:
    own.over_at, own.tab = now, None
    _forget_meeting(own)
    own.save()


def _forget_meeting(own: Waiting) -> None:
    own.meeting, own.asked_at, own.answered = None, None, False


def _waiting(study_id: int) -> QuerySet[Waiting]:
    """Those of a study who wait; an assignment that was ended meanwhile is none."""
    return Waiting.objects.filter(study=study_id, over_at=None, assignment__outcome="")


def _lock(study_id: int) -> None:
    """Until the end of the transaction, nobody else matches, answers or stops waiting in this study."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [WAITING, study_id])
