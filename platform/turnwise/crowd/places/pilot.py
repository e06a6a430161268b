"""A study's pilot: a small first phase, after which no worker is admitted until the team continues.

The study declares the pilot's size before it opens. When the pilot ends, its participants are excluded from
the primary analysis: their labels stay, they are paid, and reports give each figure with and without them.
Other workers then repeat the pilot's work: `StudyTask.pilot_over`.
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
class PilotProgress:
    """Progress of a pilot.

    Attributes:
        size: number of participants required.
        is_on: True while the study admits only pilot participants.
        finished: participants who have finished.
        active: participants who hold a place now.
    """

    size: int
    is_on: bool
    finished: int
    active: int

    @property
    def is_done(self) -> bool:
        """True if all have finished, so that the team should review the pilot and continue."""
        return self.is_on and self.finished >= self.size


def is_on(study: Study) -> bool:
    return study.pilot_size > 0 and study.pilot_over_at is None and study.rehearsal_of_id is None


def pilot_progress(study: Study, now: datetime) -> PilotProgress:
    """Count the pilot's participants who have finished or are active."""
    return PilotProgress(
        study.pilot_size, is_on(study), *reservation.count_finished_and_active(_assignments([study]), now)
    )


def finished_assignments(studies: Collection[Study]) -> QuerySet[Assignment]:
    """Completed assignments of the pilots of these studies."""
    return _assignments(studies).filter(outcome=Outcome.COMPLETE)


def _assignments(studies: Collection[Study]) -> QuerySet[Assignment]:
    return Assignment.objects.filter(study__in=studies, participation__pilot=True)


def has_place_for(assignment: Assignment, study: Study, now: datetime) -> bool:
    """True if the pilot has a place for this assignment, which has no message yet."""
    if not is_on(study):
        return True
    others = _assignments([study]).exclude(pk=assignment.pk)
    return sum(reservation.count_finished_and_active(others, now)) < study.pilot_size


def is_full(study: Study, now: datetime) -> bool:
    """True if all places of the pilot are occupied, so that no worker is admitted.

    In tasks done by several workers together, one more is admitted so that none is left without a partner.
    """
    if not is_on(study):
        return False
    progress = pilot_progress(study, now)
    is_reached = progress.finished + progress.active >= progress.size
    return is_reached and progress.active % task_of(study).together == 0


class _JoinedMeanwhileError(Exception):
    """A worker joined the pilot after its participations were locked, before the study was."""


def end_pilot(study_id: int, *, by: User, now: datetime | None = None) -> int:
    """Open the study to everyone, and exclude all pilot participants, including active ones.

    Returns:
        Number of people in the pilot.

    Raises:
        ValidationError: the study is not in its pilot.
    """
    while True:
        with suppress(_JoinedMeanwhileError):
            return _end_pilot(study_id, by=by, now=now or timezone.now())


@transaction.atomic
def _end_pilot(study_id: int, *, by: User, now: datetime) -> int:
    # Same lock order as when a participation begins or ends: participation before study.
    people = Participation.objects.filter(pk__in=_lock_people(study_id))
    study = Study.objects.select_for_update(no_key=True).get(pk=study_id)
    if study.state not in (State.OPEN, State.PAUSED) or not is_on(study):
        raise ValidationError(
            _("“%(title)s” is not in its pilot, so there is nothing to continue from.")
            % {"title": study.title}
        )
    if _pilot_participations(study_id).exclude(pk__in=people).exists():
        raise _JoinedMeanwhileError
    study.pilot_over_at = now
    study.save(update_fields=["pilot_over_at"])
    people.filter(excluded_at=None).update(excluded_reason=PILOT, excluded_at=now, excluded_by=by)
    task_of(study).pilot_over(study)
    results_changed(study.pk)
    return people.values("worker").distinct().count()


def _pilot_participations(study_id: int) -> QuerySet[Participation]:
    """All participations, also later ones, of workers who were in the study's pilot."""
    participations = Participation.objects.filter(study=study_id)
    return participations.filter(worker__in=participations.filter(pilot=True).values("worker"))


def _lock_people(study_id: int) -> list[int]:
    rows = _pilot_participations(study_id).select_for_update(of=("self",), no_key=True).order_by("pk")
    return list(rows.values_list("pk", flat=True))
