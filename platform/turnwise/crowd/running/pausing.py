"""Pause and resume studies, and send messages to their active workers.

A paused study admits no new workers. Workers in it can finish, or are on hold: the server accepts none of
their steps until the study resumes, and their clocks stand still.
"""

from dataclasses import dataclass
from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _

from turnwise.crowd.models import Assignment, Notice, Pause
from turnwise.crowd.places.reservation import HOLD
from turnwise.crowd.running import limits
from turnwise.crowd.worker_task import WorkerTask
from turnwise.studies.models import Study
from turnwise.studies.tasks import task_of

State = Study.State
LONGEST_NOTICE = 300
MOST_SHOWN = 20


@transaction.atomic
def pause(study_id: int, *, holds: bool, by: str, now: datetime | None = None) -> Study:
    """Pause a study. For a paused study: change whether its workers are on hold.

    Args:
        study_id: the study.
        holds: True puts workers who have started on hold, too; otherwise they can finish.
        by: name of the person who pauses it.
        now: start of the pause.

    Raises:
        ValidationError: the study has no workers, or is not open.
    """
    now = now or timezone.now()
    study = Study.objects.select_for_update().get(pk=study_id)
    if not isinstance(task_of(study), WorkerTask):
        raise ValidationError(
            _("No worker takes part in “%(title)s”, so it cannot be paused.") % {"title": study.title}
        )
    if study.state not in (State.OPEN, State.PAUSED):
        raise ValidationError(_("“%(title)s” is not open, so it cannot be paused.") % {"title": study.title})
    _end_pause(study, by=by, now=now)
    Pause.objects.create(study=study, began_at=now, began_by=by, holds=holds)
    study.state = State.PAUSED
    study.save(update_fields=["state"])
    return study


@transaction.atomic
def resume(study_id: int, *, by: str, now: datetime | None = None) -> Study:
    """Resume a paused study; workers on hold continue.

    Raises:
        ValidationError: the study is not paused.
    """
    study = Study.objects.select_for_update().get(pk=study_id)
    if study.state != State.PAUSED:
        raise ValidationError(_("“%(title)s” is not paused.") % {"title": study.title})
    _end_pause(study, by=by, now=now or timezone.now())
    study.state = State.OPEN
    study.save(update_fields=["state"])
    return study


def _end_pause(study: Study, *, by: str, now: datetime) -> None:
    ended = current_pause(study)
    if ended is None:
        return
    ended.ended_at, ended.ended_by = now, by
    ended.save(update_fields=["ended_at", "ended_by"])
    if ended.holds:
        limits.postpone_deadlines(study.pk, now - ended.began_at)
        # The hold does not count as silence: workers with a place at its start keep it.
        at_work = Assignment.objects.filter(study=study, outcome="")
        at_work.filter(active_at__gt=ended.began_at - HOLD).exclude(active_at=F("assigned_at")).update(
            active_at=now
        )


@dataclass(frozen=True, slots=True)
class RunningState:
    """Current and past pauses and messages of a study, newest first."""

    study: Study
    pause: Pause | None
    pauses: list[Pause]
    notice: Notice | None
    notices: list[Notice]

    @property
    def in_progress(self) -> int:
        return Assignment.objects.filter(study=self.study, outcome="").count()


def running_state(study: Study) -> RunningState:
    """Read the current and past pauses and messages of a study."""
    pauses = list(Pause.objects.filter(study=study)[:MOST_SHOWN])
    notices = list(Notice.objects.filter(study=study)[:MOST_SHOWN])
    return RunningState(
        study=study,
        pause=next((each for each in pauses if each.ended_at is None), None),
        pauses=[each for each in pauses if each.ended_at],
        notice=next((each for each in notices if each.ended_at is None), None),
        notices=notices,
    )


def current_pause(study: Study) -> Pause | None:
    """Current pause of a study; None if it is not paused."""
    return Pause.objects.filter(study=study, ended_at=None).first()


def is_held(study_id: int) -> bool:
    """True if the study's active workers are on hold."""
    return Pause.objects.filter(study=study_id, ended_at=None, holds=True).exists()


def count_turned_away(study: Study) -> None:
    """Count a visit that was refused because of the pause."""
    Pause.objects.filter(study=study, ended_at=None).update(turned_away=F("turned_away") + 1)


@transaction.atomic
def publish_notice(study_id: int, text: str, *, by: str, now: datetime | None = None) -> Notice | None:
    """Show a message to all active workers of a study, in place of the earlier one.

    Args:
        study_id: the study.
        text: one line; empty removes the current message.
        by: name of the person who sends it.
        now: time of the message.

    Raises:
        ValidationError: the text is too long.
    """
    text = " ".join(text.replace("\x00", "").split())
    if len(text) > LONGEST_NOTICE:
        raise ValidationError(
            _("The message has %(n)d characters; it can have up to %(most)d. Shorten it.")
            % {"n": len(text), "most": LONGEST_NOTICE}
        )
    now = now or timezone.now()
    Study.objects.select_for_update().get(pk=study_id)
    Notice.objects.filter(study=study_id, ended_at=None).update(ended_at=now)
    return Notice.objects.create(study_id=study_id, text=text, at=now, by=by) if text else None
