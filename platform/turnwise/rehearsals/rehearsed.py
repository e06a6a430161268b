"""What a task says whose studies can be rehearsed."""

from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from turnwise.rehearsals.findings import Finding
from turnwise.rehearsals.planted import Plan
from turnwise.rehearsals.room import Seat
from turnwise.rehearsals.simulated import SimulatedWorker, Work
from turnwise.studies.models import Study
from turnwise.studies.tasks import StudyTask

FEWEST_WORKERS = 30


class UnrehearsableError(Exception):
    """This study cannot be rehearsed; the message says why, and what to do."""


@dataclass(frozen=True)
class Crowd:
    """Who comes to a rehearsal.

    Attributes:
        plan: what they are dealt of what the report begins with; None where nothing is judged.
        seats: of each worker, in the order in which they come.
        late: who of them comes when the others are through.
        why_late: what is said before these come, as they may take a while.
        worker: the worker with this number and seat.
        raters: how many judge the same thing.
        beside: what they are dealt of everything else that the study asks, in its order.
        also: what else the report, or the study's pages, must say of what they did.
        more: what helps where there is too little to tell, if it is not the usual.
    """

    plan: Plan | None
    seats: Sequence[Seat]
    late: set[int]
    worker: Callable[[int, Seat], SimulatedWorker]
    raters: int = 1
    beside: Sequence[Plan] = ()
    also: Callable[[Sequence[Work], Mapping[str, Any]], Sequence[Finding]] | None = None
    more: str = ""
    why_late: str = ""


class RehearsedTask(StudyTask):
    """A task that simulated workers can do.

    Attributes:
        enough: what so many of them are enough for, with `%(n)s`.
    """

    has_rehearsals = True
    enough: ClassVar[str | Promise] = _("%(n)s are enough to find every planted score.")

    def enough_workers(self, study: Study) -> int:
        """How many simulated workers find out whether all that is planted in such a study is recovered."""
        del study
        return FEWEST_WORKERS

    @abstractmethod
    def copied(self, study: Study, workers: int) -> Study:
        """A draft of the same study, made with `rehearsals.services.copied`, with room for so many workers.

        Raises:
            UnrehearsableError: there is nothing to do in it, or too few workers for it.
        """

    @abstractmethod
    def crowd(self, rehearsal: Study, server: str, workers: int) -> Crowd:
        """So many workers who come to the rehearsal on this server."""
