"""Power of "further conversations needed": pilots extended by it, simulated as the report tests them.

Run: python benchmarks/further_needed.py [--studies 2000] [--seed 1] [--pilot 60]

Prints JSON. A pilot is drawn for each design of `benchmarks.planning` that has conversations. The true
difference replaces the one found, so the number of `sample_size.further_needed` rests on the pilot's error
alone, and the pilot is extended by it. `power` is the share of extended studies whose test excludes 0 on the
right side, with its standard error. `as_found` is that share if the difference found counts as true, as in a
report: over the pilots that are not clear yet and whose number is below `MOST`.
`docs/statistics.md` holds the table of a run.
"""

import argparse
import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.random import Generator

from benchmarks.planning import DIFFERENCE, POWER, SCALE, Planned, designs, study
from evaluation.planning.sample_size import further_needed
from evaluation.statistics.differences import Difference, difference
from evaluation.statistics.inference import Sample
from evaluation.statistics.interval import Undefined

MOST = 5_000
Pair = tuple[Sample, Sample]


def tested(samples: Pair) -> Difference:
    """Difference of two samples, as a report tests it."""
    return difference(*samples, low=SCALE[0], high=SCALE[1])


def is_detected(found: Difference) -> bool:
    """True if the test excludes 0 on the side of the true difference."""
    return not isinstance(found.p, Undefined) and found.p < 0.05 and found.difference > 0


def extended(pilot: Pair, further: Pair) -> Pair:
    """Pilot with further conversations of other workers."""
    first_code = 1 + max(int(max(each.cluster.max(), each.rater.max())) for each in pilot)  # type: ignore[union-attr]
    first, second = (
        Sample(
            np.concatenate([old.values, new.values]),
            np.concatenate([old.cluster, new.cluster + first_code]),
            np.concatenate([old.rater, new.rater + first_code]),  # type: ignore[operator]
        )
        for old, new in zip(pilot, further, strict=True)
    )
    return first, second


def simulated(planned: Planned, pilot_size: int, studies: int, draw: Generator) -> dict[str, Any]:
    """Extend pilots by the number needed, and count the differences detected."""
    detected: list[bool] = []
    as_found: list[bool] = []
    numbers: list[int] = []
    for _ in range(studies):
        pilot = study(planned, pilot_size, DIFFERENCE, draw)
        found = tested(pilot)
        needed = further_needed(replace(found, difference=DIFFERENCE, p=1.0, p_holm=1.0), power=POWER)
        if not isinstance(needed, Undefined):
            numbers.append(needed)
            detected.append(is_detected(tested(extended(pilot, study(planned, needed, DIFFERENCE, draw)))))
        needed = further_needed(found, power=POWER)
        if not isinstance(needed, Undefined) and needed < MOST:
            as_found.append(is_detected(tested(extended(pilot, study(planned, needed, DIFFERENCE, draw)))))
    return {
        "design": planned.name,
        "pilot": pilot_size,
        "further_median": float(np.median(numbers)),
        "power": share(detected),
        "as_found": share(as_found),
    }


def share(detected: list[bool]) -> dict[str, float]:
    """Share with its standard error and its number of studies."""
    p = sum(detected) / len(detected)
    return {"share": p, "standard_error": math.sqrt(p * (1 - p) / len(detected)), "studies": len(detected)}


def main() -> None:
    """Simulate the designs and print their figures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--studies", type=int, default=2_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--pilot", type=int, default=60)
    parser.add_argument("--only", default="", help="designs whose name contains this")
    options = parser.parse_args()
    draw = np.random.default_rng(options.seed)
    wanted = [each for each in designs() if options.only in each.name and each.design.per_context == 1]
    for each in wanted:
        print(json.dumps(simulated(each, options.pilot, options.studies, draw)), flush=True)


if __name__ == "__main__":
    main()
