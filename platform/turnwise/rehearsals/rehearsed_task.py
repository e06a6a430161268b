"""Interface of tasks that can be rehearsed, and the capacity of simulated workers for judging. Pure."""

from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from math import ceil
from typing import Any, ClassVar

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from turnwise.judging.queue.services import LEASED_AHEAD
from turnwise.rehearsals.findings import Finding
from turnwise.rehearsals.injected_effects import Kind, Plan, mix
from turnwise.rehearsals.simulation import SimulatedWorker, Work
from turnwise.studies.models import Study
from turnwise.studies.tasks import StudyTask

# Spare capacity: raters of an item must differ, so the last workers find few items that they may judge.
SPARE = 1.05
# Items held by a worker who leaves. Latecomers judge them, which may cost each a slot of another item.
HELD = LEASED_AHEAD


class TooFewWorkersError(ValueError):
    """There are too few workers for the raters that each item needs."""


@dataclass(frozen=True, slots=True)
class WorkerProfile:
    """Kind and language of one simulated worker."""

    kind: Kind
    language: str


@dataclass(frozen=True, slots=True)
class Capacity:
    """Amount of judging that fits the simulated workers.

    Attributes:
        items: number of the study's items by language.
        batch_size: items of each worker.
    """

    items: Mapping[str, int]
    batch_size: int


def worker_profiles(workers: int, languages: Sequence[str]) -> list[WorkerProfile]:
    """Profiles of all workers. Kinds and languages rotate differently, so that all combinations occur."""
    return [
        WorkerProfile(kind, languages[number % len(languages)]) for number, kind in enumerate(mix(workers))
    ]


def capacity_for(items: Mapping[str, int], *, raters: int, batch_size: int, workers: int) -> Capacity:
    """Choose the number of items and the batch size, so that each item gets all its raters.

    Args:
        items: number of the study's items by language; each above 0.
        raters: different workers who judge each item.
        batch_size: most items for one worker.
        workers: simulated workers of all kinds.

    Raises:
        TooFewWorkersError: fewer workers of a language stay to the end than an item needs raters.
    """
    if _staying(workers, items) < raters:
        enough = next(more for more in count(workers) if _staying(more, items) >= raters)
        each = " in each language" if len(items) > 1 else ""
        raise TooFewWorkersError(
            f"Each item wants {raters} different raters, and only {_staying(workers, items)} of {workers} "
            f"simulated workers stay to the end{each}. Use --workers {enough} or more."
        )
    come = worker_profiles(workers, list(items))
    judge = {code: sum(batch_share(seat.kind) for seat in come if seat.language == code) for code in items}
    leave = Counter(seat.language for seat in come if seat.kind is Kind.LEAVING)
    lost = {code: HELD * (raters - 1) * leave[code] for code in items}
    per_item = SPARE * raters
    chosen = {
        code: max(1, min(there, int((judge[code] * batch_size - lost[code]) / per_item)))
        for code, there in items.items()
    }
    wanted = max((per_item * chosen[code] + lost[code]) / judge[code] for code in items)
    return Capacity(chosen, min(batch_size, ceil(wanted)))


def latecomers(come: Sequence[WorkerProfile], raters: int) -> set[int]:
    """Numbers of the workers who start last: in each language enough to judge what leaving workers held."""
    late: set[int] = set()
    for language in {seat.language for seat in come if seat.kind is Kind.LEAVING}:
        stay = [
            n for n, seat in enumerate(come) if seat.language == language and seat.kind is not Kind.LEAVING
        ]
        late.update(stay[-raters:])
    return late


def _staying(workers: int, items: Mapping[str, int]) -> int:
    """Number of workers who stay to the end, in the language with the fewest."""
    come = worker_profiles(workers, list(items))
    return min(
        sum(seat.language == code and seat.kind is not Kind.LEAVING for seat in come) for code in items
    )


def batch_share(kind: Kind) -> float:
    """Share of a batch that a worker of this kind judges."""
    return 0.5 if kind is Kind.LEAVING else 1.0


FEWEST_WORKERS, MOST_WORKERS = 30, 500


class UnrehearsableError(Exception):
    """This study cannot be rehearsed; the message says why, and what to do."""


@dataclass(frozen=True)
class Crowd:
    """The simulated workers of a rehearsal.

    Attributes:
        plan: dealt answers of the report's first ask; None if nothing is judged.
        profiles: profile of each worker, in the order in which they start.
        late: numbers of the workers who start after the others have finished.
        late_notice: message before these start, because they may take a while.
        worker: makes the worker with this number and profile.
        raters: number of raters of each thing.
        further_plans: dealt answers of the study's further asks, in their order.
        further_findings: compares the work with further parts of the report or the study's pages.
        advice: advice for undecided findings, if it is not the usual one.
    """

    plan: Plan | None
    profiles: Sequence[WorkerProfile]
    late: set[int]
    worker: Callable[[int, WorkerProfile], SimulatedWorker]
    raters: int = 1
    further_plans: Sequence[Plan] = ()
    further_findings: Callable[[Sequence[Work], Mapping[str, Any]], Sequence[Finding]] | None = None
    advice: str = ""
    late_notice: str = ""


class RehearsedTask(StudyTask):
    """A task that simulated workers can do.

    Attributes:
        enough: text about what the suggested number of workers suffices for, with `%(n)s`.
    """

    has_rehearsals = True
    enough: ClassVar[str | Promise] = _("%(n)s are enough to find every injected score.")

    def enough_workers(self, study: Study) -> int:
        """Number of simulated workers that suffices to check every injected effect of the study."""
        del study
        return FEWEST_WORKERS

    @abstractmethod
    def copied(self, study: Study, workers: int) -> Study:
        """Copy the study as a draft with places for this many workers, by `rehearsals.services.copy_study`.

        Raises:
            UnrehearsableError: the study has no work to do, or needs more workers.
        """

    @abstractmethod
    def crowd(self, rehearsal: Study, server: str, workers: int) -> Crowd:
        """Make this many workers for the rehearsal on this server."""
