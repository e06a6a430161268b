"""Power of planned studies: plans for 80 % power, simulated as the report analyses them.

Run: python benchmarks/planning.py [--studies 4000] [--seed 1] [--only "workers with 3"]

Prints JSON. Each design is planned by `planning.units_needed` for its variance components; then studies of
the planned size are drawn and tested by `differences.difference`. `power` is the share that tells the true
difference, `false_alarms` the share of studies of equal systems that tell one, each with its standard error.
`docs/statistics.md` holds the table of a full run.
"""

import argparse
import json
import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from numpy.random import Generator

from evaluation.planning.power import Allocation, Components, Design, units_needed
from evaluation.statistics.differences import difference
from evaluation.statistics.inference import Sample
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import IntArray

DIFFERENCE, POWER, SCALE = 0.06, 0.8, (-10.0, 10.0)
WORKERS_DIFFER = Components.from_shares(0.2, worker=0.2, worker_by_system=0.1)
CROSSED = Components.from_shares(0.2, worker=0.1, worker_by_system=0.05, context=0.2, context_by_system=0.1)


@dataclass(frozen=True)
class Planned:
    """A kind of study, with the variances of its labels' effects."""

    name: str
    design: Design
    components: Components


def designs() -> Iterator[Planned]:
    """The designs of the table."""
    for per_worker in (1, 3, 10):
        for allocation in (Allocation.RANDOM, Allocation.BALANCED, Allocation.ONE_SYSTEM):
            plural = "s" if per_worker > 1 else ""
            name = f"workers with {per_worker} conversation{plural}, {allocation}"
            if per_worker > 1 or allocation is Allocation.RANDOM:
                design = Design(per_worker=per_worker, allocation=allocation)
                yield Planned(name, design, WORKERS_DIFFER)
    judging = Design(per_worker=20, per_context=2, allocation=Allocation.BALANCED, shares_contexts=True)
    yield Planned("judging the same contexts, 20 for each rater, 2 raters each", judging, CROSSED)
    yield Planned("judging different contexts", replace(judging, shares_contexts=False), CROSSED)


def study(planned: Planned, contexts: int, gap: float, draw: Generator) -> tuple[Sample, Sample]:
    """Draw the labels of both systems for this number of contexts or conversations of each."""
    design, of = planned.design, planned.components
    labels = 2 * contexts * design.per_context
    workers = math.ceil(labels / design.per_worker)
    system, worker = _allocated(design, labels, workers, draw)
    context = np.empty(labels, np.int64)
    for code in (0, 1):
        rows = np.flatnonzero(system == code)
        # One after another, so that the raters of a context differ.
        context[rows] = np.arange(len(rows)) % contexts + (0 if design.shares_contexts else code * contexts)
    values = gap * (system == 0) + math.sqrt(of.rest) * draw.normal(size=labels)
    for variance, codes in (
        (of.context, context), (of.context_by_system, 2 * context + system),
        (of.worker, worker), (of.worker_by_system, 2 * worker + system),
    ):  # fmt: skip
        values += math.sqrt(variance) * draw.normal(size=int(codes.max()) + 1)[codes]
    first, second = (Sample(values[system == c], context[system == c], worker[system == c]) for c in (0, 1))
    return first, second


def _allocated(design: Design, labels: int, workers: int, draw: Generator) -> tuple[IntArray, IntArray]:
    """System and worker of each label; both systems have equally many labels."""
    worker = np.arange(labels) // design.per_worker
    half = np.arange(labels) % 2
    match design.allocation:
        case Allocation.RANDOM:
            return draw.permutation(half), worker
        case Allocation.BALANCED:
            return half, worker
        case _:
            return (worker % 2).astype(np.int64), worker


def share_detected(planned: Planned, contexts: int, gap: float, studies: int, draw: Generator) -> float:
    """Share of simulated studies whose test excludes 0 on the right side (either side if equal)."""
    number = 0
    for _ in range(studies):
        found = difference(*study(planned, contexts, gap, draw), low=SCALE[0], high=SCALE[1])
        if not isinstance(found.p, Undefined) and found.p < 0.05:
            number += not gap or found.difference > 0
    return number / studies


def simulated(planned: Planned, studies: int, draw: Generator) -> dict[str, float | int | str]:
    """Plan a design, and simulate its power and its false alarms."""
    contexts = units_needed(DIFFERENCE, planned.components, planned.design, power=POWER)
    power = share_detected(planned, contexts, DIFFERENCE, studies, draw)
    return {
        "design": planned.name,
        "planned": contexts,
        "workers": planned.design.workers(contexts),
        "power": power,
        "false_alarms": share_detected(planned, contexts, 0.0, studies, draw),
        "standard_error_of_power": math.sqrt(power * (1 - power) / studies),
    }


def main() -> None:
    """Simulate the designs and print their figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=4_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="designs whose name contains this")
    options = parser.parse_args()
    draw = np.random.default_rng(options.seed)
    wanted = [each for each in designs() if options.only in each.name]
    print(json.dumps([simulated(each, options.studies, draw) for each in wanted], indent=2))


if __name__ == "__main__":
    main()
