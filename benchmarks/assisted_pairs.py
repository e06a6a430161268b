"""Simulated studies of pairs that people and a machine judge judged, for `benchmarks/assisted.py`.

Run: python benchmarks/assisted_pairs.py [--studies 800] prints what lengthens intervals over the log-odds.

Outcomes follow Davidson's model with an effect of each pair, of each context on each system, and of each
rater's taste. The judge answers in both orders of the sides and leans to the side that it reads first.
"""

import argparse
import json
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations, product

import numpy as np
from numpy.random import Generator
from scipy.special import logit
from scipy.stats import binom

from evaluation.assisted.estimates import AssistedEstimate
from evaluation.assisted.pairs import AssistedPairs, assisted_win_shares
from evaluation.assisted.strengths import assisted_strengths
from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.inference import t
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import FloatArray
from evaluation.statistics.pairwise import expected_strengths
from evaluation.statistics.variance import spread, summed

POOL = 400  # pairs that only the judge labels
QUALITY = {2: (0.4, -0.4), 4: (0.6, 0.2, -0.2, -0.6)}  # by number of systems, log-strengths within a pair
TIES = -0.5  # Davidson's tie tendency within a pair
PAIR, CONTEXT, TASTE = 3.0, 0.6, 0.5  # deviations of effects of pairs, contexts and raters, in logits
FIRST_READ = 0.4  # how far the judge leans to the side that it reads first
FAVOUR = 1.5  # how far a favouring judge leans to the first system
KINDS = ("good", "useless", "hostile", "favouring")
Simulate = Callable[[Generator], AssistedEstimate | Undefined]


def outcome_chances(eta: FloatArray) -> FloatArray:
    """(n, 3) probabilities that the first is better, the second, or neither."""
    odds = np.exp(np.stack([eta / 2, -eta / 2, np.full_like(eta, TIES)], axis=1))
    found: FloatArray = odds / odds.sum(axis=1, keepdims=True)
    return found


def expected_shares(systems: int) -> dict[tuple[str, str], list[float]]:
    """Shares of the outcomes of every two systems among all pairs, contexts and raters, by quadrature."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    deviation = np.sqrt(PAIR**2 + 2 * CONTEXT**2 + 2 * TASTE**2)
    return {
        (str(i), str(j)): (
            weights
            @ outcome_chances(QUALITY[systems][i] - QUALITY[systems][j] + deviation * nodes)
            / weights.sum()
        ).tolist()
        for i, j in combinations(range(systems), 2)
    }


def judged(rng: Generator, kind: str, eta: FloatArray, has_first: FloatArray) -> FloatArray:
    """(N, 3) shares of the judge's answers over both orders; NaN for 3 % of the pairs."""
    seen = eta + 0.7 * rng.normal(size=len(eta))
    if kind == "useless":
        seen = 2 * rng.normal(size=len(eta))
    elif kind == "hostile":
        seen = -seen
    elif kind == "favouring":
        seen = seen + FAVOUR * has_first
    found = np.zeros((len(eta), 3))
    for bias in (FIRST_READ, -FIRST_READ):
        answer = np.select([seen + bias > 0.7, seen + bias < -0.7], [0, 1], 2)
        found[np.arange(len(eta)), answer] += 0.5
    found[rng.random(len(eta)) < 0.03] = np.nan
    return found


def pairs_of_study(
    rng: Generator, kind: str, n: int, systems: int, *, each: int = 0, pool: int = 0
) -> AssistedPairs:
    """N pairs among others, in contexts of two pairs.

    People are workers with so many pairs each, or 2 for each pair of a pool of raters.
    """
    total = n + POOL
    sides = np.array(list(combinations(range(systems), 2)))
    first, second = sides[rng.integers(0, len(sides), total)].T
    context = np.arange(total) // 2
    in_context = CONTEXT * rng.normal(size=(total, systems))
    quality = np.array(QUALITY[systems]) + in_context[context]
    rows = np.arange(total)
    eta = quality[rows, first] - quality[rows, second] + PAIR * rng.normal(size=total)
    labelled = rng.permutation(total)[:n]
    if each:
        item, rater = labelled, np.arange(n) // each
    else:
        item, rater = np.repeat(labelled, 2), np.argsort(rng.random((n, pool)), axis=1)[:, :2].ravel()
    taste = TASTE * rng.normal(size=(n + pool, systems))
    for_people = eta[item] + taste[rater, first[item]] - taste[rater, second[item]]
    chances = outcome_chances(for_people).cumsum(axis=1)
    outcome = (rng.random((len(item), 1)) > chances[:, :2]).sum(axis=1)
    judge = judged(rng, kind, eta, (first == 0).astype(float))
    names = np.array([str(system) for system in range(systems)], dtype=object)
    return AssistedPairs(names, first, second, context, judge, item, outcome, rater)


def strength_study(
    rng: Generator, make: Callable[[Generator], AssistedPairs]
) -> AssistedEstimate | Undefined:
    """Strength of the first system."""
    found = assisted_strengths(make(rng))
    return found if isinstance(found, Undefined) else found.strength["0"]


def difference_study(
    rng: Generator, make: Callable[[Generator], AssistedPairs]
) -> AssistedEstimate | Undefined:
    """Strength of the first system less that of the second."""
    found = assisted_strengths(make(rng))
    return found if isinstance(found, Undefined) else found.differences[0][2]


def win_study(rng: Generator, make: Callable[[Generator], AssistedPairs]) -> AssistedEstimate | Undefined:
    """Share of its pairs that the first system wins, ties by half."""
    return assisted_win_shares(make(rng))["0"]


GIVEN = (
    (20, 2, 1, 0, "20 pairs of 2 systems, workers with 1 each"),
    (60, 2, 3, 0, "60 pairs of 2 systems, workers with 3 each"),
    (60, 2, 0, 10, "60 pairs of 2 systems, 2 of 10 raters"),
    (80, 4, 1, 0, "80 pairs of 4 systems, workers with 1 each"),
    (120, 4, 4, 0, "120 pairs of 4 systems, workers with 4 each"),
    (120, 4, 0, 12, "120 pairs of 4 systems, 2 of 12 raters"),
)
"""Pairs, systems, pairs of each worker, raters of a pool, and the design in words."""


def designs() -> Iterator[tuple[str, float, Simulate]]:
    """Name, truth and simulation of all designs."""
    for kind, (n, systems, each, pool, words) in product(KINDS, GIVEN):
        make = partial(pairs_of_study, kind=kind, n=n, systems=systems, each=each, pool=pool)
        strength = expected_strengths(expected_shares(systems))
        if systems == 2:
            truth, simulate = strength["0"] - strength["1"], difference_study
            yield f"difference of strengths, {kind} judge, {words}", truth, partial(simulate, make=make)
        else:
            yield f"strength, {kind} judge, {words}", strength["0"], partial(strength_study, make=make)
    shares = [row for pair, row in expected_shares(4).items() if "0" in pair]
    share = float(np.mean([row[0] + row[2] / 2 for row in shares]))
    for kind in KINDS:
        make = partial(pairs_of_study, kind=kind, n=120, systems=4, pool=12)
        name = f"share of wins, {kind} judge, 120 pairs of 4 systems, 2 of 12 raters"
        yield name, share, partial(win_study, make=make)


def of_people_alone(studies: int, seed: int = 3) -> Iterator[dict[str, object]]:
    """Compare the variance that people's intervals claim with that between studies, design by design.

    Yields:
        `coverage`; the variance between studies; over it `claimed`, and `unbounded`, the sum of those over
        contexts and raters less that over both, without the bound by the larger of the first two; and
        `follows_error`, the correlation of the claimed variance with the size of the error.
    """
    for n, systems, each, pool, words in GIVEN:
        strength = expected_strengths(expected_shares(systems))
        contrast = np.array([1.0, -1.0] if systems == 2 else [1.0, 0.0, 0.0, 0.0])
        truth = float(contrast @ [strength[str(system)] for system in range(systems)])
        rows = []
        for rng in np.random.default_rng(seed).spawn(studies):
            duels = pairs_of_study(rng, "useless", n, systems, each=each, pool=pool).duels
            found = duels.estimated
            if isinstance(found, Undefined):
                continue
            estimate, influence = found
            sums = summed(contrast @ influence[:systems], duels.cluster, duels.rater)
            whole = spread(sums)
            assert whole is not None
            unbounded = sums.by_cluster.variance + sums.by_rater.variance - sums.by_pair.variance
            error = float(contrast @ estimate[:systems]) - truth
            rows.append((error, whole.variance, unbounded, t(whole.freedom, LEVEL)))
        errors, claimed, without, quantile = np.array(rows).T
        between = float(errors.var())
        yield {
            "design": words,
            "coverage": float((np.abs(errors) < quantile * np.sqrt(claimed)).mean()),
            "between_studies": between,
            "claimed": float(claimed.mean()) / between,
            "unbounded": float(without.mean()) / between,
            "follows_error": float(np.corrcoef(np.abs(errors), claimed)[0, 1]),
        }


def coverage_of_log_odds(n: int, share: float, *, by_score: bool) -> float:
    """Exact coverage of an interval for the log-odds of n independent judgments, all or none left out.

    Args:
        n: number of judgments.
        share: the truth.
        by_score: true for Wilson's interval, false for Student's t on the log-odds.
    """
    wins = np.arange(1, n)
    found = wins / n
    quantile = t(n - 1, LEVEL)
    if by_score:
        holds = np.abs(found - share) < quantile * np.sqrt(share * (1 - share) / (n - 1))
    else:
        half = quantile / np.sqrt((n - 1) * found * (1 - found))
        holds = np.abs(logit(found) - logit(share)) < half
    chance = binom.pmf(wins, n, share)
    return float(chance[holds].sum() / chance.sum())


def exact_coverage(*, by_score: bool) -> dict[int, float]:
    """Mean exact coverage over shares from 0.5 to 0.75, by the number of judgments."""
    shares = np.linspace(0.5, 0.75, 60)
    return {
        n: float(np.mean([coverage_of_log_odds(n, share, by_score=by_score) for share in shares]))
        for n in (20, 30, 40, 60, 80)
    }


def main() -> None:
    """Print what lengthens intervals over the log-odds, and exact coverages, as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=800)
    print(
        json.dumps(
            {
                "people_alone": list(of_people_alone(parser.parse_args().studies)),
                "exact_coverage_of_log_odds": exact_coverage(by_score=False),
                "exact_coverage_of_score": exact_coverage(by_score=True),
            },
            indent=2,
        )
    )


if __name__ == "__main__":
    main()
