"""How often a right report fails a rehearsal by chance alone.

    python benchmarks/rehearsals.py [--rehearsals 1000]

Deals answers to raters of judging studies of several sizes, computes the reports and compares them with what
was planted, as `manage.py rehearse` does, but without pages, sockets and a database. Prints JSON: by design,
in how many rehearsals anything was told as outside, and how often alpha was.
"""

import argparse
import json
from random import Random
from typing import Any

import numpy as np

from evaluation.questions import SSA
from evaluation.report.judged import Judged
from evaluation.report.judging import JudgedItems, judging_figures
from reports.rehearsal import planted
from reports.rehearsal.findings import findings
from reports.rehearsal.planted import HONEST, Plan, mix

SYSTEMS = ["Alpha", "Beta"]
# Items of both systems together, raters of each item, workers.
DESIGNS = ((270, 5, 30), (120, 5, 20), (60, 3, 12))


def rehearsed(seed: int, *, items: int, raters: int, workers: int) -> tuple[Plan, dict[str, Any]]:
    """What was planted, each item being judged by workers drawn at random, and the report of that."""
    random, plan, kinds = Random(seed), Plan(SSA, SYSTEMS, alone=False), mix(workers)
    table = []
    for number in range(items):
        item, system = str(number), SYSTEMS[number % len(SYSTEMS)]
        plan.meet(item, system)
        for worker in random.sample(range(workers), raters):
            answers = plan.deal(item, kinds[worker])
            plan.note(item, kinds[worker], answers)
            votes = map(float, SSA.check(answers).values())
            table.append((system, number // len(SYSTEMS), number, f"W{worker}", *votes))
    aside = {f"W{number}": "seen through" for number, kind in enumerate(kinds) if kind not in HONEST}
    return plan, judging_figures(SSA, _judged(table, items, raters), set_aside=aside)


def _judged(table: list[tuple[Any, ...]], items: int, raters: int) -> JudgedItems:
    system, context, item, rater, sensible, specific = map(np.array, zip(*table, strict=True))
    judged = Judged(
        bot=system.astype(object),
        dialogue=context,
        reply=item,
        rater=rater.astype(object),
        latency_ms=np.full(len(table), np.nan),
        answers={"sensible": sensible, "specific": specific},
    )
    once = np.ones(len(table), np.int64)
    return JudgedItems(judged, once, raters_wanted=raters, items=items, languages=["en"])


def misses(rehearsals: int, *, items: int, raters: int, workers: int) -> dict[str, Any]:
    outside = []
    for seed in range(rehearsals):
        planted.SEED = seed  # of the decks; it is fixed in a rehearsal
        plan, result = rehearsed(seed, items=items, raters=raters, workers=workers)
        outside.append([found.words for found in findings(plan, [], result) if found.holds is False])
    return {
        "items": items,
        "raters_per_item": raters,
        "workers": workers,
        "rehearsals": rehearsals,
        "with_something_outside": sum(map(bool, outside)),
        "alphas_outside": sum("alpha" in words for each in outside for words in each),
        "of_alphas": rehearsals * len(SSA.questions),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rehearsals", type=int, default=1000, help="of each design (default: %(default)s)")
    rehearsals = parser.parse_args().rehearsals
    found = [misses(rehearsals, items=n, raters=k, workers=w) for n, k, w in DESIGNS]
    print(json.dumps(found, indent=2))


if __name__ == "__main__":
    main()
