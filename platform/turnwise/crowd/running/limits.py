"""Time limits per message and per session, by the server's clock.

A clock starts only when the worker's browser has been shown that it is their turn. When it expires, the
assignment ends as timed out, the worker is paid for the time spent, and the place is free.
"""

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Literal

from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from turnwise.crowd.models import Assignment, Outcome, Pause
from turnwise.crowd.places import ending
from turnwise.live.frames import RefusedError

Of = Literal["message", "session"]

# Warning before the end, when the worker can ask for more time (WCAG 2.2.1: at least 20 seconds).
WARN_MESSAGE = timedelta(seconds=30)
WARN_SESSION = timedelta(minutes=2)
# Workers may ask for more time at the last moment, over a slow connection.
GRACE = timedelta(seconds=3)

NO_MORE_TIME = _(
    "You have used all the extra time that this study gives. What you answer or send before your time runs "
    "out is saved."
)
NO_LIMIT = _("There is no time limit here: take as long as you need.")


def _open(assignment_id: int) -> QuerySet[Assignment]:
    return Assignment.objects.filter(pk=assignment_id, outcome="")


def _minutes(assignment: Assignment, of: Of) -> timedelta:
    study = assignment.participation.study
    return timedelta(minutes=study.message_minutes if of == "message" else study.session_minutes)


def update_clocks(assignment_id: int, *, waits: bool, anew: bool, now: datetime | None = None) -> None:
    """Start or stop the clock of the current message, and start the session's clock if it does not run.

    Args:
        assignment_id: the assignment.
        waits: True if it is the worker's turn.
        anew: True restarts the clock after a step; False lets a running clock continue, as after a reload.
        now: start of the clocks.
    """
    now = now or timezone.now()
    assignment = _open(assignment_id).select_related("study").first()
    if assignment is None:
        return
    changed: dict[str, datetime | None] = {}
    if (whole := _minutes(assignment, "session")) and assignment.due_at is None:
        changed["due_at"] = now + whole
    step = _minutes(assignment, "message")
    if step and not waits and assignment.step_due_at is not None:
        changed["step_due_at"] = None
    elif step and waits and (anew or assignment.step_due_at is None):
        changed["step_due_at"] = now + step
    if changed:
        _open(assignment_id).update(**changed)


def extend(assignment_id: int, of: Of, *, now: datetime | None = None) -> None:
    """Extend the limit of the message or the session by its full length, at the worker's request.

    Raises:
        RefusedError: the work has ended, has no limit, or all extensions are used.
    """
    now = now or timezone.now()
    assignment = _open(assignment_id).select_related("study").first()
    if assignment is None:
        raise RefusedError("ended")
    field = "step_due_at" if of == "message" else "due_at"
    until, more = getattr(assignment, field), _minutes(assignment, of)
    if until is None or not more:
        raise RefusedError("no_limit", NO_LIMIT)
    # The condition is part of the statement, so two simultaneous requests use two extensions.
    extensible = _open(assignment_id).filter(extensions__lt=assignment.study.extensions)
    begins = now if of == "message" else max(until, now)
    if not extensible.update(extensions=F("extensions") + 1, **{field: begins + more}):
        raise RefusedError("no_more_time", NO_MORE_TIME)


def overdue(now: datetime) -> QuerySet[Assignment]:
    """Open assignments whose time is over, except those on hold."""
    held = Pause.objects.filter(ended_at=None, holds=True).values("study")
    is_late = Q(due_at__lte=now - GRACE) | Q(step_due_at__lte=now - GRACE)
    return Assignment.objects.filter(is_late, outcome="").exclude(study__in=held)


def end_overdue(*, only: Collection[int] | None = None, now: datetime | None = None) -> int:
    """End overdue assignments and free their places. Idempotent, also when called concurrently.

    Args:
        only: keys of assignments to check; None checks all.
        now: current time.

    Returns:
        Number of assignments ended.
    """
    now = now or timezone.now()
    late = overdue(now) if only is None else overdue(now).filter(pk__in=only)
    return sum(_end(pk, now) for pk in late.values_list("pk", flat=True))


@transaction.atomic
def _end(assignment_id: int, now: datetime) -> bool:
    # Checked again under the row's lock, so that a last-moment extension counts.
    late = overdue(now).select_for_update(of=("self",)).filter(pk=assignment_id).first()
    return late is not None and ending.end(late.participation_id, Outcome.TIMED_OUT, now=now)


def postpone_deadlines(study_id: int, by: timedelta) -> None:
    """Move the deadlines of all running clocks in a study by this duration, after a hold."""
    running = Assignment.objects.filter(study=study_id, outcome="")
    running.filter(due_at__isnull=False).update(due_at=F("due_at") + by)
    running.filter(step_due_at__isnull=False).update(step_due_at=F("step_due_at") + by)
