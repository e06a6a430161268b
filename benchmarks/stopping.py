"""Studies with a stopping rule, simulated conversation by conversation: false alarms, width and saving.

Run: python benchmarks/stopping.py [--studies 800] [--seed 1] [--only "workers with 3"]

Prints a line of JSON for each design. A design is planned by `planning.units_needed` for 80 % power at a
single look. Its studies are drawn for the largest number, 1.25 times the planned one, and looked at after
every conversation. `false_alarms` is the share of studies of equal bots whose interval ever excludes 0;
`width` the mean width of the interval at the planned size over that of the interval for one look, `widest`
the largest. `power` and `conversations` are of studies with the planned difference; the latter is the mean
number with each bot as a share of the planned one. `equivalent` is the share of studies of equal bots that
end as equivalent within the margin, `wrongly_equivalent` that of studies that differ by the margin.
`docs/statistics.md` holds the table of a full run.
"""

import argparse
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from evaluation.planning.power import Allocation, Components, Design, units_needed
from evaluation.planning.stopping import (
    FEWEST_WORKERS,
    Outcome,
    critical_height,
    decision,
    repeated_interval,
)
from evaluation.statistics.differences import Difference, difference
from evaluation.statistics.inference import Sample
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import FloatArray, IntArray

DIFFERENCE, POWER, LEVEL, SCALE = 0.12, 0.8, 0.95, (-10.0, 10.0)
VARIANCES = Components.from_shares(0.2, worker=0.2, worker_by_system=0.1)
LARGEST = 1.25


@dataclass(frozen=True)
class Simulated:
    """A kind of study.

    Attributes:
        name: its row in the table.
        design: what each worker does.
        together: number of workers who talk at the same time; 0: all.
        few_first: true if the first workers have ten conversations each and later workers one.
        skewed: true if scores are skewed, such as shares near the end of a scale.
        margin: smallest difference that matters.
    """

    name: str
    design: Design
    together: int = 5
    few_first: bool = False
    skewed: bool = False
    margin: float = DIFFERENCE


def designs() -> Iterator[Simulated]:
    """The designs of the table."""
    for per_worker in (1, 3, 10):
        for allocation in (Allocation.RANDOM, Allocation.BALANCED, Allocation.ONE_SYSTEM):
            if per_worker > 1 or allocation is Allocation.RANDOM:
                plural = "s" if per_worker > 1 else ""
                name = f"workers with {per_worker} conversation{plural}, {allocation}"
                yield Simulated(name, Design(per_worker=per_worker, allocation=allocation))
    random = Design(per_worker=10)
    yield Simulated("workers with 10 conversations, all workers at once", random, together=0)
    yield Simulated("first workers with 10 conversations, later ones with 1", random, few_first=True)
    yield Simulated("workers with 3 conversations, skewed scores", Design(per_worker=3), skewed=True)


@dataclass(frozen=True)
class Drawn:
    """Conversations in their order of arrival."""

    values: FloatArray
    system: IntArray
    worker: IntArray

    def first(self, number: int) -> tuple[Sample, Sample]:
        """Samples of both systems after so many conversations."""
        cluster = np.arange(number)
        value, system, worker = self.values[:number], self.system[:number], self.worker[:number]
        one, two = (Sample(value[system == c], cluster[system == c], worker[system == c]) for c in (0, 1))
        return one, two


def drawn(simulated: Simulated, number: int, gap: float, draw: Generator) -> Drawn:
    """Draw a study's conversations with both bots together."""
    worker = _arrivals(simulated, number, draw)
    system = _systems(simulated.design.allocation, worker, draw)
    parts = (
        (VARIANCES.worker, worker), (VARIANCES.worker_by_system, 2 * worker + system),
        (VARIANCES.rest, np.arange(number)),
    )  # fmt: skip
    values = gap * (system == 0).astype(np.float64)
    for variance, codes in parts:
        values += math.sqrt(variance) * _noise(simulated, int(codes.max()) + 1, draw)[codes]
    return Drawn(values, system, worker)


def _noise(simulated: Simulated, n: int, draw: Generator) -> FloatArray:
    noise: FloatArray = 1 - draw.exponential(size=n) if simulated.skewed else draw.normal(size=n)
    return noise


def _arrivals(simulated: Simulated, number: int, draw: Generator) -> IntArray:
    """Worker of each conversation: `together` workers talk at the same time."""
    each = simulated.design.per_worker
    counts = [each] * math.ceil(number / each)
    if simulated.few_first:
        counts = [10] * (number // 20) + [1] * number
    together = simulated.together or len(counts)
    waiting, active, order = 0, dict[int, int](), list[int]()
    while len(order) < number:
        while len(active) < together and waiting < len(counts):
            active[waiting] = counts[waiting]
            waiting += 1
        worker = int(draw.choice(list(active)))
        order.append(worker)
        active[worker] -= 1
        if not active[worker]:
            del active[worker]
    return np.array(order)


def _systems(allocation: Allocation, worker: IntArray, draw: Generator) -> IntArray:
    """System of each conversation; both systems have equally many at every second conversation."""
    if allocation is Allocation.ONE_SYSTEM:
        return (worker % 2).astype(np.int64)
    if allocation is Allocation.RANDOM:
        pairs = draw.integers(0, 2, size=(len(worker) + 1) // 2)
        return np.column_stack([pairs, 1 - pairs]).ravel()[: len(worker)]
    system, seen = np.empty(len(worker), np.int64), dict[int, int]()
    for row, each in enumerate(worker.tolist()):
        system[row] = seen.get(each, each % 2)
        seen[each] = 1 - int(system[row])
    return system


def share_of(found: Difference, largest: int) -> float:
    """Share of the largest number that has come, by the bot with fewer conversations."""
    return min(found.clusters[:2]) / largest


@dataclass
class Course:
    """Course of one simulated study under the rule."""

    outcome: Outcome = Outcome.UNDECIDED
    sign: int = 0
    stopped_at: int = 0
    missed: bool = False
    width: float = math.nan


def course(
    simulated: Simulated, planned: int, gap: float, draw: Generator, *, equivalence: bool = False,
    stops: bool = True,
) -> Course:  # fmt: skip
    """Run one study to its end, with a look after every conversation."""
    largest = math.ceil(LARGEST * planned)
    study, at = drawn(simulated, 2 * largest, gap, draw), Course()
    for number in range(2 * FEWEST_WORKERS, 2 * largest + 1):
        is_planned = number == 2 * planned
        if (
            not is_planned
            and number < 2 * largest
            and not _may_decide(study, number, largest, gap, stops=stops)
        ):
            continue
        found = difference(*study.first(number), low=SCALE[0], high=SCALE[1], level=LEVEL)
        interval = repeated_interval(found, share_of(found, largest), LEVEL)
        if isinstance(interval, Undefined):
            continue
        if is_planned and not isinstance(found.interval, Undefined):
            once = found.interval
            at.width = (interval.high - interval.low) / (once.high - once.low)
        at.missed |= gap not in interval
        at.outcome = decision(interval, simulated.margin, equivalence=equivalence)
        at.sign = 1 if found.difference > 0 else -1
        if stops and at.outcome is not Outcome.UNDECIDED:
            at.stopped_at = number // 2
            return at
    at.stopped_at = largest
    return at


def _may_decide(study: Drawn, number: int, largest: int, gap: float, *, stops: bool) -> bool:
    """False if nine tenths of the workers' sums of squares decide nothing, which saves most of the time.

    The error that the report uses is larger: it has a small-sample correction, and so has its quantile.
    """
    value, of_first, worker = study.values[:number], study.system[:number] == 0, study.worker[:number]
    sizes = (int(of_first.sum()), int((~of_first).sum()))
    if min(sizes) < 2:
        return False
    one, two = float(value[of_first].mean()), float(value[~of_first].mean())
    parts = np.where(of_first, (value - one) / sizes[0], (two - value) / sizes[1])
    error = 0.9 * math.sqrt(float((np.bincount(worker, parts) ** 2).sum()))
    half = critical_height(LEVEL) / math.sqrt(min(1, min(sizes) / largest)) * error
    apart = abs(one - two)
    return abs(one - two - gap) > half if not stops else apart > half or DIFFERENCE - apart > half


def figures(simulated: Simulated, studies: int, seed: int) -> dict[str, float | int | str]:
    """Simulate a design."""
    draw = np.random.default_rng(seed)
    planned = units_needed(DIFFERENCE, VARIANCES, simulated.design, power=POWER)
    equal = [course(simulated, planned, 0.0, draw, stops=False) for _ in range(studies)]
    real = [course(simulated, planned, DIFFERENCE, draw) for _ in range(studies)]
    same = [course(simulated, planned, 0.0, draw, equivalence=True) for _ in range(studies // 2)]
    apart = [
        course(simulated, planned, simulated.margin, draw, equivalence=True) for _ in range(studies // 2)
    ]

    def share(rows: list[Course], outcome: Outcome) -> float:
        return sum(each.outcome is outcome for each in rows) / len(rows)

    return {
        "design": simulated.name,
        "planned": planned,
        "largest": math.ceil(LARGEST * planned),
        "false_alarms": sum(each.missed for each in equal) / studies,
        "width": float(np.nanmean([each.width for each in equal])),
        "widest": float(np.nanmax([each.width for each in equal])),
        "power": sum(each.outcome is Outcome.DIFFERENT and each.sign > 0 for each in real) / studies,
        "conversations": float(np.mean([each.stopped_at for each in real])) / planned,
        "equivalent": share(same, Outcome.EQUIVALENT),
        "conversations_if_equal": float(np.mean([each.stopped_at for each in same])) / planned,
        "wrongly_equivalent": share(apart, Outcome.EQUIVALENT),
    }


def main() -> None:
    """Simulate the designs and print their figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=800)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="designs whose name contains this")
    options = parser.parse_args()
    wanted = [each for each in designs() if options.only in each.name]
    for each in wanted:
        print(json.dumps(figures(each, options.studies, options.seed)), flush=True)


if __name__ == "__main__":
    main()
