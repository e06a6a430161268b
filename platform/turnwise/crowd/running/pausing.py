"""A study that is paused, and what the research team tells those who are at work in it.

Paused, a study admits nobody new. Those in it go on, or are held: nothing of theirs is taken until it goes
on, and their clocks stand still.
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
    """Admit nobody new from now on. Of a paused study: say anew whether those in it are held.

    Args:
        study_id: which study.
        holds: whether those who have begun are held, too; else they go on.
        by: who pauses it.
        now: when.

    Raises:
        ValidationError: no worker takes part in it, or it is not open.
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
    """Admit people again; whoever was held goes on where they were.

    Raises:
        ValidationError: it is not paused.
    """
    study = Study.objects.select_for_update().get(pk=study_id)
    if study.state != State.PAUSED:
        raise ValidationError(_("“%(title)s” is not paused.") % {"title": study.title})
    _end_pause(study, by=by, now=now or timezone.now())
    study.state = State.OPEN
    study.save(update_fields=["state"])
    return study


def _end_pause(study: Study, *, by: str, now: datetime) -> None:
    own = current_pause(study)
    if own is None:
        return
    own.ended_at, own.ended_by = now, by
    own.save(update_fields=["ended_at", "ended_by"])
    if own.holds:
        limits.postpone_deadlines(study.pk, now - own.began_at)
        # Being held is no silence: whoever had a place when it began keeps it.
        at_work = Assignment.objects.filter(study=study, outcome="")
        at_work.filter(active_at__gt=own.began_at - HOLD).exclude(active_at=F("assigned_at")).update(
            active_at=now
        )


@dataclass(frozen=True, slots=True)
class RunningState:
    """What there is to say of a study that runs, beside its work; the newest first."""

    study: Study
    pause: Pause | None
    pauses: list[Pause]
    notice: Notice | None
    notices: list[Notice]

    @property
    def in_progress(self) -> int:
        return Assignment.objects.filter(study=self.study, outcome="").count()


def running_state(study: Study) -> RunningState:
    """How a study runs."""
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
    """The pause in which a study is."""
    return Pause.objects.filter(study=study, ended_at=None).first()


def is_held(study_id: int) -> bool:
    """Whether those in the study are held at the moment."""
    return Pause.objects.filter(study=study_id, ended_at=None, holds=True).exists()


def count_turned_away(study: Study) -> None:
    """Note that somebody came in vain."""
    Pause.objects.filter(study=study, ended_at=None).update(turned_away=F("turned_away") + 1)


@transaction.atomic
def publish_notice(study_id: int, text: str, *, by: str, now: datetime | None = None) -> Notice | None:
    """Tell everybody who is at work in a study something, in place of what they were told before.

    Args:
        study_id: which study.
        text: in one line; empty: what was told is taken back.
        by: who tells it.
        now: when.

    Raises:
        ValidationError: it is too long.
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
