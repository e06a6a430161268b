"""How long people may take: for each message, and for the whole. The server's clock decides.

A clock runs only while somebody's browser was shown that it is their turn. When it is over their work ends as
timed out, which pays for the time they were at it, and their place is free.
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

# Before the end: so early somebody is warned and can ask for more (WCAG 2.2.1 wants 20 seconds at least).
WARN_MESSAGE = timedelta(seconds=30)
WARN_SESSION = timedelta(minutes=2)
# A warned worker presses at the last moment, on a slow line.
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
    """Start or stop the clock of somebody's present message, and start that of the whole if it does not run.

    Args:
        assignment_id: whose.
        waits: whether it is their turn; else nobody waits for them.
        anew: whether something has moved on; else a clock that runs goes on, as after a reload.
        now: since when.
    """
    now = now or timezone.now()
    own = _open(assignment_id).select_related("study").first()
    if own is None:
        return
    changed: dict[str, datetime | None] = {}
    if (whole := _minutes(own, "session")) and own.due_at is None:
        changed["due_at"] = now + whole
    step = _minutes(own, "message")
    if step and not waits and own.step_due_at is not None:
        changed["step_due_at"] = None
    elif step and waits and (anew or own.step_due_at is None):
        changed["step_due_at"] = now + step
    if changed:
        _open(assignment_id).update(**changed)


def extend(assignment_id: int, of: Of, *, now: datetime | None = None) -> None:
    """Give somebody the same time once more, as they asked.

    Raises:
        RefusedError: their work has ended, nothing limits it, or they have used all their extensions.
    """
    now = now or timezone.now()
    own = _open(assignment_id).select_related("study").first()
    if own is None:
        raise RefusedError("ended")
    field = "step_due_at" if of == "message" else "due_at"
    until, more = getattr(own, field), _minutes(own, of)
    if until is None or not more:
        raise RefusedError("no_limit", NO_LIMIT)
    # A condition of the statement, so that two tabs at the same moment use two extensions.
    left = _open(assignment_id).filter(extensions__lt=own.study.extensions)
    begins = now if of == "message" else max(until, now)
    if not left.update(extensions=F("extensions") + 1, **{field: begins + more}):
        raise RefusedError("no_more_time", NO_MORE_TIME)


def overdue(now: datetime) -> QuerySet[Assignment]:
    """Those whose time is over and who are not held."""
    held = Pause.objects.filter(ended_at=None, holds=True).values("study")
    is_late = Q(due_at__lte=now - GRACE) | Q(step_due_at__lte=now - GRACE)
    return Assignment.objects.filter(is_late, outcome="").exclude(study__in=held)


def end_overdue(*, only: Collection[int] | None = None, now: datetime | None = None) -> int:
    """End the work of those whose time is over, and free their places. Safe to repeat, by several at once.

    Args:
        only: keys of assignments; None: all.
        now: at what time.

    Returns:
        How many were ended.
    """
    now = now or timezone.now()
    late = overdue(now) if only is None else overdue(now).filter(pk__in=only)
    return sum(_end(pk, now) for pk in late.values_list("pk", flat=True))


@transaction.atomic
def _end(assignment_id: int, now: datetime) -> bool:
    # Under the lock of their row: an extension of the last moment counts.
    own = overdue(now).select_for_update(of=("self",)).filter(pk=assignment_id).first()
    return own is not None and ending.end(own.participation_id, Outcome.TIMED_OUT, now=now)


def postpone_deadlines(study_id: int, by: timedelta) -> None:
    """Put off the end of all clocks that run in a study, which stood still for so long."""
    running = Assignment.objects.filter(study=study_id, outcome="")
    running.filter(due_at__isnull=False).update(due_at=F("due_at") + by)
    running.filter(step_due_at__isnull=False).update(step_due_at=F("step_due_at") + by)
