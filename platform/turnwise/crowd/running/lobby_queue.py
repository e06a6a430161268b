"""Lobby: workers who wait for a partner, and their matching.

    a tab opens ── enter ──▶ waiting ── match ──▶ asked ── answer, by both ──▶ over
                                ▲                   │
                                └── no answer in time: the other worker keeps waiting

The server asks each tab repeatedly whether it is still there. Only the browser can answer, so dead
connections and crashed browsers are detected. Before two workers are matched, both browsers must confirm once
more. Matching runs under one database lock per study, so several web processes can attempt it at the same
time without leaving two workers unmatched.
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

# A worker whose tab has not answered for this long is absent. Tabs are asked every ASK_SECONDS.
PRESENCE_TIMEOUT = timedelta(seconds=10)
ASK_SECONDS = 3.0
# Time in which both browsers must confirm a match: one round trip over a slow connection.
ANSWER_TIMEOUT = timedelta(seconds=4)

_MEETING = ("meeting", "asked_at", "answered")


@dataclass(frozen=True, slots=True)
class MeetingRequest:
    """Request to a worker's browser to confirm its presence, as a partner was found."""

    assignment_id: int
    meeting: UUID


@transaction.atomic
def enter(assignment: Assignment, *, tab: UUID, now: datetime) -> Waiting | None:
    """Start waiting in this tab, which replaces any other tab of the worker. Idempotent.

    Returns:
        None, with nothing changed, if the worker has a partner already.
    """
    _lock(assignment.study_id)
    if not Assignment.objects.filter(pk=assignment.pk, outcome="", seat=None).exists():
        return None
    waiting, _ = Waiting.objects.select_for_update().get_or_create(
        assignment=assignment, defaults={"study_id": assignment.study_id, "seen_at": now}
    )
    waiting.tab, waiting.seen_at, waiting.over_at = tab, now, None
    _forget_meeting(waiting)
    waiting.save()
    return waiting


def mark_present(assignment_id: int, tab: UUID, *, now: datetime) -> Waiting | None:
    """Record that the worker is present; None if they no longer wait in this tab."""
    rows = Waiting.objects.filter(assignment=assignment_id, tab=tab, over_at=None)
    is_waiting = rows.update(
        # The time since the last sign counts as waiting, up to the presence timeout.
        waited=F("waited") + Least(now - F("seen_at"), PRESENCE_TIMEOUT),
        seen_at=now,
    )
    return rows.filter(assignment__outcome="").first() if is_waiting else None


def mark_absent(assignment_id: int, tab: UUID) -> None:
    """Record that the tab was closed, unless another tab has replaced it."""
    Waiting.objects.filter(assignment=assignment_id, tab=tab, over_at=None).update(
        tab=None, meeting=None, asked_at=None, answered=False
    )


@transaction.atomic
def match(study_id: int, *, now: datetime) -> list[MeetingRequest]:
    """Pair the waiting workers, longest wait first, and return the requests to confirm presence.

    Workers who did not answer an earlier request in time count as absent until their browser answers again.
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
    pairs = zip(free[::2], free[1::2], strict=False)
    return [request for pair in pairs for request in _request_meeting(pair, now)]


def _request_meeting(pair: Iterable[Waiting], now: datetime) -> Iterator[MeetingRequest]:
    meeting = uuid4()
    for row in pair:
        row.meeting, row.asked_at = meeting, now
        row.save(update_fields=_MEETING)
        yield MeetingRequest(row.assignment_id, meeting)


def answer(assignment_id: int, tab: UUID, meeting: UUID, *, now: datetime) -> Sequence[Assignment]:
    """Confirm one side of a match, in the transaction that then creates the dialogue.

    Returns:
        Both assignments, longest wait first, if the other side has confirmed before; their wait is then
        over. Otherwise empty.
    """
    waiting = Waiting.objects.filter(assignment=assignment_id).first()
    if waiting is None:
        return ()
    _lock(waiting.study_id)
    both = list(_waiting(waiting.study_id).filter(meeting=meeting).order_by("pk").select_for_update())
    mine = next((each for each in both if each.assignment_id == assignment_id and each.tab == tab), None)
    if mine is None or len(both) != 2 or mine.asked_at is None or mine.asked_at <= now - ANSWER_TIMEOUT:
        return ()
    mine.answered = True
    mine.save(update_fields=["answered"])
    if not all(each.answered for each in both):
        return ()
    for each in both:
        _end(each, now)
    keys = [each.assignment_id for each in both]
    assignments = Assignment.objects.select_related("participation").in_bulk(keys)
    return [assignments[key] for key in keys]


def stop(assignment_id: int, *, now: datetime) -> bool:
    """End a wait without a partner, in the caller's transaction; False if it is over or a match is tried."""
    waiting = Waiting.objects.filter(assignment=assignment_id, over_at=None).first()
    if waiting is None:
        return False
    _lock(waiting.study_id)
    waiting.refresh_from_db()
    if waiting.over_at or waiting.meeting:
        return False
    _end(waiting, now)
    return True


def _end(waiting: Waiting, now: datetime) -> None:
    waiting.over_at, waiting.tab = now, None
    _forget_meeting(waiting)
    waiting.save()


def _forget_meeting(waiting: Waiting) -> None:
    waiting.meeting, waiting.asked_at, waiting.answered = None, None, False


def _waiting(study_id: int) -> QuerySet[Waiting]:
    """Current waits in a study, without assignments that have ended."""
    return Waiting.objects.filter(study=study_id, over_at=None, assignment__outcome="")


def _lock(study_id: int) -> None:
    """Lock the study's lobby until the transaction ends: matching, answering and stopping wait for it."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s, %s)", [WAITING, study_id])
