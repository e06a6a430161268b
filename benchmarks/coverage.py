"""Do the intervals hold what they state? Simulated studies with clustered labels and known truth.

Run: python benchmarks/coverage.py [--studies 1000] [--seed 1]

Prints JSON. For every interval: the share of studies whose 95 % interval holds the planted truth, its mean
width, and how the variance that it claims compares with the variance between studies. `docs/statistics.md`
holds the table of a full run.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.random import Generator

from evaluation.agreement import Metric, alpha_interval, krippendorff_alpha
from evaluation.bootstrap import SENSIBLENESS, SSA, cluster_interval, percentile
from evaluation.comparison import compare
from evaluation.estimates import two_way_interval
from evaluation.interval import Interval, Method, Undefined
from evaluation.labels import FloatArray, Labels
from evaluation.ratings import Ratings
from evaluation.relation import pearson
from evaluation.resampling import resampled_sums
from evaluation.sequential import always_valid_mean

SENSIBLE, SPECIFIC_IF_SENSIBLE = 0.8, 0.7
TRUE_SSA = SENSIBLE * (1 + SPECIFIC_IF_SENSIBLE) / 2
CONCENTRATION = 4.0  # of the beta distribution of rates: intraclass correlation 1 / (4 + 1) = 0.2
RESAMPLES = 2_000


@dataclass(frozen=True)
class Study:
    """One simulated study: its estimate and its interval."""

    estimate: float | Undefined
    interval: Interval | Undefined


@dataclass(frozen=True)
class Design:
    """A kind of study, with the truth that it estimates."""

    name: str
    truth: float
    simulate: Callable[[Generator], Study]


def conversations(rng: Generator, k: int, *, sensible: float = SENSIBLE) -> FloatArray:
    """(k, 3) sums of sensible, specific and turns: 7 to 14 turns, rates differ between conversations."""
    turns = rng.integers(7, 15, k)
    share = rng.beta(CONCENTRATION * sensible, CONCENTRATION * (1 - sensible), k)
    ones = rng.binomial(turns, share)
    return np.column_stack([ones, rng.binomial(ones, SPECIFIC_IF_SENSIBLE), turns]).astype(np.float64)


def score(rows: FloatArray) -> float:
    """SSA of sums per conversation."""
    return float(SSA(rows.sum(axis=0)[None])[0])


def ssa_study(rng: Generator, k: int, method: Method) -> Study:
    """SSA with an interval over k conversations."""
    rows = conversations(rng, k)
    return Study(score(rows), cluster_interval(rows, SSA, rng, resamples=RESAMPLES, method=method))


def naive_study(rng: Generator, k: int) -> Study:
    """What to avoid: the interval that takes every label for an independent observation."""
    rows = conversations(rng, k)
    sensible, specific, turns = rows.sum(axis=0).astype(int).tolist()
    both = np.repeat(
        [[1.0, 1, 1], [1, 0, 1], [0, 0, 1]], [specific, sensible - specific, turns - sensible], axis=0
    )
    return Study(score(rows), cluster_interval(both, SSA, rng, resamples=RESAMPLES))


def difference_study(rng: Generator, k: int) -> Study:
    """Difference of two bots with k conversations each."""
    better, worse = conversations(rng, k), conversations(rng, k, sensible=0.7)
    found = compare(better, worse, rng, resamples=RESAMPLES)
    return Study(found.difference, found.interval)


def paired_study(rng: Generator, contexts: int) -> Study:
    """Difference of two bots on the same contexts, five raters each; contexts differ in ease."""
    ease = rng.beta(3.2, 0.8, contexts)
    rows = []
    for rate in (1.0, 0.9):
        ones = rng.binomial(5, ease * rate)
        rows.append(np.column_stack([ones, np.zeros(contexts), np.full(contexts, 5)]).astype(np.float64))
    found = compare(rows[0], rows[1], rng, ratio=SENSIBLENESS, paired=True, resamples=RESAMPLES)
    return Study(found.difference, found.interval)


def alpha_study(rng: Generator, units: int, method: Method) -> Study:
    """Alpha of five raters; units differ in how many would say yes, so alpha is 1 / (a + b + 1)."""
    share = rng.beta(1.2, 0.8, units)
    ratings = Ratings.from_matrix(rng.random((5, units)) < share)
    alpha = krippendorff_alpha(ratings)
    return Study(alpha, alpha_interval(ratings, rng, Metric.NOMINAL, resamples=RESAMPLES, method=method))


def two_way_study(rng: Generator, items: int, raters: int) -> Study:
    """Sensibleness where both items and raters lean, 5 of the raters on each item."""
    item = np.repeat(np.arange(items), 5)
    rater = np.argsort(rng.random((items, raters)), axis=1)[:, :5].ravel()
    rate = 0.6 + rng.uniform(-0.25, 0.25, items)[item] + rng.uniform(-0.15, 0.15, raters)[rater]
    yes = rng.random(len(item)) < rate
    no = np.zeros(len(item), bool)
    labels = Labels(np.full(len(item), "b"), item, np.zeros(len(item), int), rater, yes, no)
    return Study(float(yes.mean()), two_way_interval(labels, SENSIBLENESS, rng, resamples=RESAMPLES))


def correlation_study(rng: Generator, points: int) -> Study:
    """Pearson's correlation of bivariate normal points."""
    x, noise = rng.normal(size=(2, points))
    found = pearson(x, -0.9 * x + np.sqrt(1 - 0.81) * noise)
    if isinstance(found, Undefined):
        return Study(found, found)
    return Study(found.value, found.interval)


def watched_study(rng: Generator, k: int) -> Study:
    """Always-valid interval: it must hold the truth at all k moments, so a miss at any moment counts."""
    scores = rng.binomial(7, rng.beta(CONCENTRATION * 0.8, CONCENTRATION * 0.2, k)) / 7
    sequence = always_valid_mean(scores)
    held = bool(((sequence.low <= SENSIBLE) & (sequence.high >= SENSIBLE)).all())
    low, high = (float(sequence.low[-1]), float(sequence.high[-1])) if held else (2.0, 3.0)
    return Study(float(scores.mean()), Interval(low, high, 0.95, "always valid"))


def designs() -> Iterator[Design]:
    """All kinds of study."""
    methods: tuple[Method, ...] = ("percentile", "bca", "studentised")
    for k in (20, 100):
        for method in methods:
            simulate = partial(ssa_study, k=k, method=method)
            yield Design(f"SSA, {k} conversations, {method}", TRUE_SSA, simulate)
    yield Design(
        "SSA, 100 conversations, labels taken for independent", TRUE_SSA, partial(naive_study, k=100)
    )
    gap = (SENSIBLE - 0.7) * (1 + SPECIFIC_IF_SENSIBLE) / 2
    yield Design("difference of SSA, 100 conversations each", gap, partial(difference_study, k=100))
    yield Design("difference, paired on 300 contexts", 0.08, partial(paired_study, contexts=300))
    for method in methods[:2]:
        simulate = partial(alpha_study, units=300, method=method)
        yield Design(f"alpha, 300 items x 5 raters, {method}", 1 / 3, simulate)
    for raters in (10, 25):
        simulate = partial(two_way_study, items=300, raters=raters)
        yield Design(f"sensibleness, 300 items x 5 of {raters} raters, both ways", 0.6, simulate)
    yield Design("Pearson's correlation, 12 bots", -0.9, partial(correlation_study, points=12))
    yield Design("always valid, watched 200 times", SENSIBLE, partial(watched_study, k=200))


def run(design: Design, studies: int, seed: int) -> dict[str, object]:
    """Simulate the design many times."""
    done = [design.simulate(rng) for rng in np.random.default_rng(seed).spawn(studies)]
    intervals = [s.interval for s in done if isinstance(s.interval, Interval)]
    held = sum(interval.low <= design.truth <= interval.high for interval in intervals)
    estimates = [s.estimate for s in done if isinstance(s.estimate, float)]
    deviation = float(np.std(estimates))
    width = float(np.mean([i.high - i.low for i in intervals]))
    return {
        "name": design.name,
        "truth": design.truth,
        "mean_estimate": float(np.mean(estimates)),
        "coverage": held / len(intervals),
        "mean_width": width,
        "claimed_over_true_deviation": width / 2 / 1.96 / deviation,
        "undefined": studies - len(intervals),
    }


def planted_variance(studies: int, seed: int) -> dict[str, float]:
    """Variance of sensibleness: by formula from what was planted, between studies, and by the bootstrap.

    100 conversations of 10 turns with intraclass correlation 0.2: p(1 - p) (1 + 9 · 0.2) / 1000.
    """
    shares, claimed = [], []
    for rng in np.random.default_rng(seed).spawn(studies):
        ones = rng.binomial(10, rng.beta(CONCENTRATION * SENSIBLE, CONCENTRATION * (1 - SENSIBLE), 100))
        rows = np.column_stack([ones, np.zeros(100), np.full(100, 10)]).astype(np.float64)
        shares.append(ones.mean() / 10)
        claimed.append(SENSIBLENESS(resampled_sums(rows, RESAMPLES, rng)).var())
    return {
        "planted": SENSIBLE * (1 - SENSIBLE) * (1 + 9 * 0.2) / 1000,
        "between_studies": float(np.var(shares)),
        "bootstrap_mean": float(np.mean(claimed)),
    }


def false_alarms(studies: int, seed: int, k: int) -> float:
    """Share of permutation tests with p ≤ 0.05 between two bots that are alike, k conversations each.

    199 permutations give exactly 0.05 as a possible p-value, so an exact test has 5 %.
    """
    p_values = [
        compare(conversations(rng, k), conversations(rng, k), rng, resamples=199).p
        for rng in np.random.default_rng(seed).spawn(studies)
    ]
    return float(np.mean([isinstance(p, float) and p <= 0.05 for p in p_values]))


def watched_alarms(studies: int, seed: int) -> float:
    """Share of studies in which an ordinary interval, looked at after every conversation, misses once."""
    missed = 0
    for rng in np.random.default_rng(seed).spawn(studies):
        rows = conversations(rng, 200)
        looks = (percentile(SSA(resampled_sums(rows[:k], 400, rng))) for k in range(20, 201, 5))
        missed += any(isinstance(i, Interval) and TRUE_SSA not in i for i in looks)
    return missed / studies


def main() -> None:
    """Run all designs and print JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    results = {
        "studies": options.studies,
        "seed": options.seed,
        "resamples": RESAMPLES,
        "designs": [run(design, options.studies, options.seed) for design in designs()],
        "planted_variance": planted_variance(options.studies, options.seed),
        "permutation_false_alarms_at_5_percent": false_alarms(5 * options.studies, options.seed, 60),
        "the_same_with_bundles_of_four": false_alarms(5 * options.studies, options.seed, 600),
        "ordinary_interval_watched_37_times_misses": watched_alarms(options.studies, options.seed),
    }
    print(json.dumps(results, indent=2))


if __name__ == "__main__":
    main()
