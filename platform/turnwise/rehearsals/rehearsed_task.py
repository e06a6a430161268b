"""How much of a judging study so many simulated workers can judge, and who of them reads what. Pure.

What a task says whose studies can be rehearsed.
"""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import ceil
from typing import Any, ClassVar

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from turnwise.judging.queue.services import AHEAD
from turnwise.rehearsals.findings import Finding
from turnwise.rehearsals.injected_effects import Kind, Plan, mix
from turnwise.rehearsals.simulation import SimulatedWorker, Work
from turnwise.studies.models import Study
from turnwise.studies.tasks import StudyTask

# Items are judged by different workers, so the last ones find few that are still for them.
SPARE = 1.05
# Items that somebody who leaves holds. Each may cost the latecomers, who fill them, a place elsewhere.
HELD = AHEAD


class TooFewError(ValueError):
    """So many workers cannot give an item all its raters."""


@dataclass(frozen=True, slots=True)
class Seat:
    """Of one worker: how they work, and which language they read."""

    kind: Kind
    language: str


@dataclass(frozen=True, slots=True)
class Room:
    """What simulated workers judge.

    Attributes:
        items: by language, how many of the study's items.
        batch_size: items of each worker.
    """

    items: Mapping[str, int]
    batch_size: int


def seats(workers: int, languages: Sequence[str]) -> list[Seat]:
    """Everybody who comes. Languages go round, and kinds differently, so that all kinds read all of them."""
    return [Seat(kind, languages[number % len(languages)]) for number, kind in enumerate(mix(workers))]


def room(items: Mapping[str, int], *, raters: int, batch_size: int, workers: int) -> Room:
    """So many items that these workers give each of them all its raters, and work for everybody.

    Args:
        items: by language, the items of the study; each language has some.
        raters: different workers who judge each item.
        batch_size: most items that one worker judges.
        workers: simulated ones, of all kinds.

    Raises:
        TooFewError: fewer workers of a language stay to the end than an item wants raters.
    """
    if _staying(workers, items) < raters:
        enough = next(more for more in count(workers) if _staying(more, items) >= raters)
        each = " in each language" if len(items) > 1 else ""
        raise TooFewError(
            f"Each item wants {raters} different raters, and only {_staying(workers, items)} of {workers} "
            f"simulated workers stay to the end{each}. Use --workers {enough} or more."
        )
    come = seats(workers, list(items))
    judge = {code: sum(share(seat.kind) for seat in come if seat.language == code) for code in items}
    leave = Counter(seat.language for seat in come if seat.kind is Kind.LEAVING)
    lost = {code: HELD * (raters - 1) * leave[code] for code in items}
    per_item = SPARE * raters
    chosen = {
        code: max(1, min(there, int((judge[code] * batch_size - lost[code]) / per_item)))
        for code, there in items.items()
    }
    wanted = max((per_item * chosen[code] + lost[code]) / judge[code] for code in items)
    return Room(chosen, min(batch_size, ceil(wanted)))


def latecomers(come: Sequence[Seat], raters: int) -> set[int]:
    """Who comes when the others are through: in each language as many as fill what leaving ones held."""
    late: set[int] = set()
    for language in {seat.language for seat in come if seat.kind is Kind.LEAVING}:
        stay = [
            n for n, seat in enumerate(come) if seat.language == language and seat.kind is not Kind.LEAVING
        ]
        late.update(stay[-raters:])
    return late


def _staying(workers: int, items: Mapping[str, int]) -> int:
    """Workers who do not leave, of the language that has the fewest."""
    come = seats(workers, list(items))
    return min(
        sum(seat.language == code and seat.kind is not Kind.LEAVING for seat in come) for code in items
    )


def share(kind: Kind) -> float:
    """How much of a batch a worker of this kind judges."""
    return 0.5 if kind is Kind.LEAVING else 1.0


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
