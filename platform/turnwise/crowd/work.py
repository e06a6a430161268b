"""What workers do in a study: its pages, and whether anything is left for somebody new."""

from abc import abstractmethod
from datetime import datetime
from typing import ClassVar

from django.utils import timezone
from django.utils.functional import Promise
from typing_extensions import override

from turnwise.crowd import refusals, taking
from turnwise.crowd.operated import admitting
from turnwise.crowd.places import HOLD
from turnwise.crowd.previewed import Previewed
from turnwise.studies.models import Study
from turnwise.studies.tasks import Stage, StudyTask, task_of


class WorkerTask(StudyTask):
    """A task that workers do, from the study link to the completion code.

    Attributes:
        begin: name of the address to which they POST in order to begin.
        go_on: name of the address where they go on.
        heading: of the first page: what they will do.
        welcome: template of what they read there before they agree.
        instructions: template of the page after it, which extends crowd/instructions.html.
        saved: said at the end, with the completion code.
        previewed: the work as who makes such a study tries it.
        needs_bots: whether nobody can begin while none of its bots answers.
    """

    has_workers = True
    way: ClassVar[tuple[Stage, ...]] = (
        Stage.DESIGN, Stage.PREVIEW, Stage.REHEARSE, Stage.RECRUIT, Stage.MONITOR, Stage.RESULTS,
        Stage.EXPORT,
    )  # fmt: skip

    begin: ClassVar[str]
    go_on: ClassVar[str]
    heading: ClassVar[str | Promise]
    welcome: ClassVar[str]
    instructions: ClassVar[str]
    saved: ClassVar[str | Promise]
    previewed: ClassVar[type[Previewed]]
    needs_bots: ClassVar[bool] = False

    @override
    def why_none_can_come(self, study: Study) -> str:
        return taking.why_unready(study)

    @override
    def copied_into(self, study: Study, copy: Study) -> None:
        taking.copy_panels(study, copy)

    @abstractmethod
    def is_full(self, study: Study, now: datetime) -> bool:
        """Whether nothing is left for somebody who comes at that time: said before they consent in vain."""

    def trains(self, study: Study) -> bool:
        """Whether its workers have to pass training questions, so that they need not practise before."""
        return False


def work_of(study: Study) -> WorkerTask:
    """The task of a study as its workers do it.

    Raises:
        EntryRefusedError: no worker takes part in such a study.
    """
    task = task_of(study)
    if not isinstance(task, WorkerTask):
        raise refusals.unknown_study()
    return task


def is_resting(study: Study) -> bool:
    """Whether none of the bots that somebody new could get would answer now, or all are switched off."""
    task = work_of(study)
    return task.needs_bots and not admitting(task.bots_to_try(study), now=timezone.now())


def is_full(study: Study, *, now: datetime | None = None) -> bool:
    return work_of(study).is_full(study, now or timezone.now())


def may_become_free(study: Study, *, now: datetime | None = None) -> bool:
    """Whether a full study would have a place in an hour if nobody who is at it went on."""
    return not is_full(study, now=(now or timezone.now()) + HOLD)
