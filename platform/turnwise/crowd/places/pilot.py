"""A study's pilot: its first people, after whom nobody new is admitted until somebody of the team goes on.

A study declares before it opens how many that are. Once it goes on they are excluded from the primary
analysis, as its exclusions are: their labels stay, they are paid, and every figure stands with and without
them. What they did is needed again, from others: `StudyTask.pilot_over`.
"""

from collections.abc import Collection
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from evaluation.report.label_columns import PILOT
from turnwise.accounts.models import User
from turnwise.crowd.models import Assignment, Outcome, Participation
from turnwise.crowd.places import reservation
from turnwise.studies.models import Study
from turnwise.studies.services import results_changed
from turnwise.studies.tasks import task_of

State = Study.State


@dataclass(frozen=True, slots=True)
class Pilot:
    """How far a pilot is.

    Attributes:
        size: people that are wanted.
        is_on: whether the study admits only these so far.
        finished: of them.
        under_way: of them, who hold a place now.
    """

    size: int
    is_on: bool
    finished: int
    under_way: int

    @property
    def is_done(self) -> bool:
        """Whether it has all that it wants, so that somebody should look and go on."""
        return self.is_on and self.finished >= self.size


def is_on(study: Study) -> bool:
    return study.pilot_size > 0 and study.pilot_over_at is None and study.rehearsal_of_id is None


def standing(study: Study, now: datetime) -> Pilot:
    """How far the pilot is."""
    return Pilot(
        study.pilot_size, is_on(study), *reservation.finished_and_under_way(_assignments([study]), now)
    )


def finished(studies: Collection[Study]) -> QuerySet[Assignment]:
    """What people of the pilots of these studies have finished."""
    return _assignments(studies).filter(outcome=Outcome.COMPLETE)


def _assignments(studies: Collection[Study]) -> QuerySet[Assignment]:
    return Assignment.objects.filter(study__in=studies, participation__pilot=True)


def has_room_for(assignment: Assignment, study: Study, now: datetime) -> bool:
    """Whether there is a place for one of its people who has not begun."""
    if not is_on(study):
        return True
    others = _assignments([study]).exclude(pk=assignment.pk)
    return sum(reservation.finished_and_under_way(others, now)) < study.pilot_size


def is_full(study: Study, now: datetime) -> bool:
    """Whether nobody new is admitted, since all places of the pilot are taken.

    Where people do their work together, nobody is left alone for it: one more comes.
    """
    if not is_on(study):
        return False
    at = standing(study, now)
    return at.finished + at.under_way >= at.size and at.under_way % task_of(study).together == 0


class _JoinedMeanwhileError(Exception):
    """Somebody joined the pilot before nobody could any more."""


def go_on(study_id: int, *, by: User, now: datetime | None = None) -> int:
    """Open the study to all, and exclude its pilot, with whoever of it is still at work.

    Returns:
        How many people the pilot had.

    Raises:
        ValidationError: the study is not in its pilot.
    """
    while True:
        with suppress(_JoinedMeanwhileError):
            return _go_on(study_id, by=by, now=now or timezone.now())


@transaction.atomic
def _go_on(study_id: int, *, by: User, now: datetime) -> int:
    # Whoever ends somebody's part, or lets them begin, locks the participation before the study.
    people = Participation.objects.filter(pk__in=_lock_people(study_id))
    study = Study.objects.select_for_update(no_key=True).get(pk=study_id)
    if study.state not in (State.OPEN, State.PAUSED) or not is_on(study):
        raise ValidationError(
            _("“%(title)s” is not in its pilot, so there is nothing to continue from.")
            % {"title": study.title}
        )
    if _of_people(study_id).exclude(pk__in=people).exists():
        raise _JoinedMeanwhileError
    study.pilot_over_at = now
    study.save(update_fields=["pilot_over_at"])
    people.filter(excluded_at=None).update(excluded_reason=PILOT, excluded_at=now, excluded_by=by)
    task_of(study).pilot_over(study)
    results_changed(study.pk)
    return people.values("worker").distinct().count()


def _of_people(study_id: int) -> QuerySet[Participation]:
    """Every time that the people of the pilot take part."""
    here = Participation.objects.filter(study=study_id)
    return here.filter(worker__in=here.filter(pilot=True).values("worker"))


def _lock_people(study_id: int) -> list[int]:
    rows = _of_people(study_id).select_for_update(of=("self",), no_key=True).order_by("pk")
    return list(rows.values_list("pk", flat=True))
