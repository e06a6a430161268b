"""Time alpha, the bootstrap, and everything that a report of a million labels computes.

Run: python benchmarks/resampling.py [--quick]

Prints JSON. The peer is the `krippendorff` package (GPL-3, no dependency of ours): measured in the same run
if it is installed, else null. The floor of alpha is counting the ratings of each unit, which no
implementation can avoid; that of the bootstrap is drawing the clusters of one resample after another, as a
loop must.
"""

import argparse
import json
import platform as machine
import resource
import time
from collections.abc import Callable
from importlib import import_module, metadata
from types import ModuleType
from typing import Any

import numpy as np
import scipy

from evaluation.rater_agreement.coefficients import alpha_interval, krippendorff_alpha
from evaluation.rater_agreement.dawid_skene import dawid_skene
from evaluation.rater_agreement.influence import influence
from evaluation.rater_agreement.ratings import Metric, Ratings
from evaluation.rater_agreement.reliability import alpha
from evaluation.statistics.bootstrap import SSA, cluster_interval
from evaluation.statistics.differences import differences
from evaluation.statistics.inference import mean
from evaluation.statistics.labels import FloatArray, Labels
from evaluation.statistics.ssa import Unit, dialogue_sums, score_samples, ssa_by_rater, ssa_by_turn

RESAMPLES = 10_000


def seconds(work: Callable[[], object], repeats: int) -> float:
    """Best of several runs: the machine is shared, and noise only adds."""
    best = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        best = min(best, time.perf_counter() - start)
    return best


def matrix(units: int, points: int) -> FloatArray:
    """(5, units) ratings on a scale of so many points, moderately agreeing."""
    rng = np.random.default_rng(1)
    if points == 2:
        return (rng.random((5, units)) < rng.beta(2, 1, units)).astype(np.float64)
    noisy = points / 2 + rng.normal(size=units) + rng.normal(size=(5, units))
    return np.clip(np.round(noisy), 1, points).astype(np.float64)


def peer() -> ModuleType | None:
    """The krippendorff package, if somebody installed it."""
    try:
        return import_module("krippendorff")
    except ImportError:
        return None


def alpha_times(units: int, points: int, metric: Metric, repeats: int) -> dict[str, Any]:
    """Alpha from a matrix of ratings, ours and the peer's."""
    ratings, other = matrix(units, points), peer()
    ours = seconds(lambda: krippendorff_alpha(Ratings.from_matrix(ratings), metric), repeats)
    flat = (ratings + np.arange(units) * (points + 1)).astype(np.int64).ravel()
    answer: dict[str, Any] = {
        "what": f"alpha {metric}, {units:,} x 5, {points} points",
        "ours_s": ours,
        "floor_s": seconds(lambda: np.bincount(flat), repeats),
        "peer_s": None,
    }
    if other:
        theirs = seconds(lambda: _their_alpha(other, ratings, metric), repeats)
        gap = abs(_their_alpha(other, ratings, metric) - _our_alpha(ratings, metric))
        answer |= {"peer_s": theirs, "ours_over_peer": ours / theirs, "difference": gap}
    return answer


def bootstrap_times(points: int, metric: Metric) -> dict[str, Any]:
    """10,000 resamples of alpha of 1,477 x 5, and a loop over the peer (or over ours, if it is absent)."""
    ratings, other = matrix(1477, points), peer()
    table = Ratings.from_matrix(ratings)
    ours = seconds(lambda: alpha_interval(table, np.random.default_rng(2), metric, resamples=RESAMPLES), 3)
    loops = 100
    start, rng = time.perf_counter(), np.random.default_rng(3)
    for _ in range(loops):
        resample = ratings[:, rng.integers(0, 1477, 1477)]
        if other:
            _their_alpha(other, resample, metric)
        else:
            _our_alpha(resample, metric)
    loop = (time.perf_counter() - start) / loops * RESAMPLES
    return {
        "what": f"{RESAMPLES:,} resamples of alpha {metric}, 1,477 x 5, {points} points",
        "ours_s": ours,
        "loop_over": "krippendorff" if other else "our own alpha (krippendorff is not installed)",
        "loop_s": loop,
        "loop_resamples_measured": loops,
        "loop_over_ours": loop / ours,
        "floor_s": _drawing(1477),
    }


def ssa_times() -> dict[str, Any]:
    """10,000 resamples of SSA over 1,477 contexts, and a loop that sums resampled rows."""
    labels = million(1477 * 5, bots=1)
    rows = dialogue_sums(labels)[0]
    ours = seconds(lambda: cluster_interval(rows, SSA, np.random.default_rng(4), resamples=RESAMPLES), 3)
    rng, loops = np.random.default_rng(5), 1000
    start = time.perf_counter()
    for _ in range(loops):
        SSA(rows[rng.integers(0, len(rows), len(rows))].sum(axis=0)[None])
    loop = (time.perf_counter() - start) / loops * RESAMPLES
    return {
        "what": f"{RESAMPLES:,} resamples of SSA, 1,477 contexts x 5",
        "ours_s": ours,
        "loop_over": "summing resampled rows with NumPy",
        "loop_s": loop,
        "loop_resamples_measured": loops,
        "loop_over_ours": loop / ours,
        "floor_s": _drawing(len(rows)),
    }


def million(count: int, bots: int) -> Labels:
    """`count` labels: five raters an item, one item a context or seven a conversation; raters err."""
    rng = np.random.default_rng(6)
    item = np.arange(count) // 5
    dialogue = item if bots == 1 else item // 7
    bot = dialogue % bots
    rate = rng.beta(4, 1, int(dialogue.max()) + 1)[dialogue[::5]]
    truth = np.repeat(rng.random(len(rate)) < rate, 5)[:count]
    rater = (item * 7 + np.arange(count) % 5 * 11) % 997
    sensible = truth ^ (rng.random(count) < rng.uniform(0.02, 0.3, 997)[rater])
    specific = sensible & (np.repeat(rng.random(len(rate)) < 0.7, 5)[:count] ^ (rng.random(count) < 0.1))
    names = np.array([f"bot-{b:02}" for b in range(bots)])
    return Labels(names[bot], dialogue, item % 7, rater, sensible, specific)


def _dawid_skene(labels: Labels) -> object:
    clusters, item = labels.items
    raters, bot = len(labels.raters[0]), labels.dialogues[0][clusters]
    values = np.array([False, True])
    return [
        dawid_skene(
            Ratings(item, labels.raters[1], answers.astype(np.int64), len(clusters), raters, values), bot
        )
        for answers in (labels.sensible, labels.specific)
    ]


def report_times(count: int) -> list[dict[str, Any]]:
    """What a report of 30 bots computes, part by part."""
    start = time.perf_counter()
    labels = million(count, bots=30)
    steps: list[tuple[str, Callable[[], object]]] = [
        ("three scores of all bots with two-way intervals", lambda: _scores(labels)),
        ("the same by majority", lambda: _scores(labels, Unit.MAJORITY)),
        ("all 435 differences by three scores", lambda: _differences(labels)),
        ("SSA by turn position", lambda: ssa_by_turn(labels)),
        ("SSA by rater", lambda: ssa_by_rater(labels)),
        ("leave one rater out", lambda: influence(labels)),
        ("alpha with two-way interval, both questions", lambda: _both_alphas(labels)),
        ("Dawid and Skene", lambda: _dawid_skene(labels)),
    ]
    times = [("labels made and checked", time.perf_counter() - start)]
    times += [(name, seconds(step, 1)) for name, step in steps]
    total = sum(duration for _, duration in times)
    return [
        {"what": f"{count:,} labels, 30 bots: {name}", "ours_s": t}
        for name, t in [*times, ("together", total)]
    ]


def two_factor_times() -> list[dict[str, Any]]:
    """One two-way interval of 1,477 x 5, and alpha of as many distinct decimals."""
    labels = million(1477 * 5, bots=1)
    rng = np.random.default_rng(9)
    decimals = Ratings.from_matrix(np.abs(rng.normal(size=(5, 1477)) + rng.normal(size=1477)))
    answer = [
        {
            "what": "sensibleness with a two-way interval, 1,477 x 5",
            "ours_s": seconds(lambda: mean(score_samples(labels)["sensibleness"]["bot-00"]), 5),
        }
    ]
    for metric in Metric:
        ours = seconds(lambda metric=metric: alpha(decimals, metric), 3)  # type: ignore[misc]
        name = f"alpha {metric} with a two-way interval, 1,477 x 5, {len(decimals.values):,} distinct"
        answer.append({"what": name, "ours_s": ours})
    return answer


def _scores(labels: Labels, unit: Unit = Unit.LABEL) -> None:
    for of_bots in score_samples(labels, unit).values():
        for sample in of_bots.values():
            mean(sample)


def _differences(labels: Labels) -> None:
    for of_bots in score_samples(labels).values():
        differences(of_bots)


def _both_alphas(labels: Labels) -> None:
    for answers in (labels.sensible, labels.specific):
        ratings = Ratings.from_columns(labels.items[1], labels.raters[1], answers)
        alpha(ratings, clusters=labels.items[0])


def _our_alpha(ratings: FloatArray, metric: Metric) -> float:
    value = krippendorff_alpha(Ratings.from_matrix(ratings), metric)
    if not isinstance(value, float):
        raise TypeError(value)
    return value


def _their_alpha(other: ModuleType, ratings: FloatArray, metric: Metric) -> float:
    return float(other.alpha(reliability_data=ratings, level_of_measurement=metric.value))


def _drawing(clusters: int) -> float:
    rng = np.random.default_rng(10)
    return seconds(lambda: [rng.integers(0, clusters, clusters) for _ in range(1000)], 3) * RESAMPLES / 1000


def main() -> None:
    """Measure everything and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the large sizes")
    large = 100_000 if parser.parse_args().quick else 1_000_000
    kinds = [(2, Metric.NOMINAL), (5, Metric.ORDINAL), (5, Metric.INTERVAL)]
    results = {
        "machine": {
            "processor": machine.processor() or machine.machine(),
            "python": machine.python_version(),
        },
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "krippendorff": metadata.version("krippendorff") if peer() else None,
        "alpha": [
            alpha_times(units, points, metric, repeats)
            for units, repeats in ((1477, 200), (large, 3))
            for points, metric in kinds
        ],
        "bootstrap": [*(bootstrap_times(points, metric) for points, metric in kinds), ssa_times()],
        "two_way": two_factor_times(),
        "report": report_times(large),
        "peak_memory_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
