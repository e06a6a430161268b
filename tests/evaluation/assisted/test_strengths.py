"""Strengths from people and a judge against ppi-python, brute force and people's judgments alone."""

from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from numpy.random import Generator
from scipy.optimize import minimize
from scipy.stats import norm
from scipy.stats import t as student

from evaluation.assisted.estimates import AssistedEstimate, assisted_mean
from evaluation.assisted.intervals import IntervalRule
from evaluation.assisted.pairs import AssistedPairs, assisted_win_shares
from evaluation.assisted.strengths import AssistedStrengths, assisted_strengths
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.pairwise import bradley_terry
from evaluation.statistics.variance import Over

NAMES = np.array(["a", "b", "c"], dtype=object)


def study(
    rng: Generator, n: int = 60, pool: int = 300, *, each: int = 1, ties: float = 0.0, noise: float = 0.5
) -> AssistedPairs:
    """Equally many pairs of every two of three systems, and a judge that sees who wins up to noise."""
    sides = np.array(list(combinations(range(3), 2)))[np.arange(n + pool) % 3]
    eta = np.array([0.5, 0.0, -0.5])[sides] @ [1.0, -1.0] + 2 * rng.normal(size=n + pool)
    chance = 1 / (1 + np.exp(-(eta + noise * rng.normal(size=n + pool))))
    outcome = (rng.random(n) > 1 / (1 + np.exp(-eta[:n]))).astype(np.int64)
    outcome[rng.random(n) < ties] = 2
    judge = np.stack([chance * (1 - ties), (1 - chance) * (1 - ties), np.full_like(chance, ties)], axis=1)
    cluster = np.arange(n + pool)
    return AssistedPairs(
        NAMES, sides[:, 0], sides[:, 1], cluster, judge, np.arange(n), outcome, np.arange(n) // each
    )


def found(result: AssistedStrengths | Undefined) -> AssistedStrengths:
    assert isinstance(result, AssistedStrengths)
    return result


def half(interval: Interval | Undefined) -> float:
    assert isinstance(interval, Interval)
    return (interval.high - interval.low) / 2


# Printed by ppi-python 0.2.3 (`ppi_logistic_pointestimate`, `ppi_logistic_ci` with alpha = 0.05) for this
# sample, with a column for each of the first two systems. Its optimiser stops at 9 digits. It is no
# dependency of the tests: its wheel has a package `tests`, which hides this folder.
@pytest.mark.parametrize(
    ("power", "values", "highs"),
    [
        (0.0, (0.6190392084066368, 0.6190392084066412), (1.3457674421293657, 1.3929546936479236)),
        (0.4, (0.6302587185328902, 0.600961632947953), (1.2772270700774984, 1.2576555459904375)),
        (1.0, (0.6472062769311243, 0.5739773347772524), (1.2941657432517784, 1.172581725373949)),
    ],
)
def test_strengths_and_errors_are_those_of_ppi_python(power, values, highs):
    pairs = study(np.random.default_rng(7))
    ours = found(assisted_strengths(pairs, power=power, rule=IntervalRule.WALD))

    of_c = [each for _, second, each in ours.differences if second == "c"]
    for each, value, high in zip(of_c, values, highs, strict=True):
        assert each.value == pytest.approx(value, rel=1e-7)
        factor = student.ppf(0.975, each.freedom) / norm.ppf(0.975)
        assert half(each.interval) == pytest.approx((high - value) * factor, rel=1e-7)


def crossed(rng: Generator) -> AssistedPairs:
    """60 drawn pairs judged by 2 of 8 raters, ties among them, three pairs of each context, some unjudged."""
    plain = study(rng, ties=0.2)
    item = np.repeat(np.arange(60), 2)
    rater = np.argsort(rng.random((60, 8)), axis=1)[:, :2].ravel()
    outcome = rng.integers(0, 3, 120)
    judge = np.where(rng.random((360, 1)) < 0.1, np.nan, plain.judge)
    chance = rng.uniform(0.1, 0.5, 360)
    return replace(
        plain, cluster=np.arange(360) // 3, item=item, outcome=outcome, rater=rater, judge=judge,
        probability=chance,
    )  # fmt: skip


def rectified(pairs: AssistedPairs, power: float, weight: np.ndarray | None = None) -> np.ndarray:
    """Strengths by a general optimiser from the loss as it is defined, one judgment at a time."""
    assert pairs.probability is not None
    judged = ~np.isnan(pairs.judge[:, 0])
    raters = np.bincount(pairs.item, minlength=len(judged))
    of_people, of_judge = [], []
    for row, item in enumerate(pairs.item.tolist()):
        share = 1 / raters[item] / pairs.probability[item] * (1 if weight is None else weight[row])
        of_people.append((item, share, np.eye(3)[pairs.outcome[row]]))
        if judged[item]:
            of_judge.append((item, share, pairs.judge[item]))
    elsewhere = [(item, 1.0, pairs.judge[item]) for item in np.flatnonzero(judged).tolist()]
    groups = ((of_people, 1.0), (of_judge, -power), (elsewhere, power))

    def loss(theta: np.ndarray) -> float:
        strength, total = np.array([theta[0], theta[1], -theta[0] - theta[1]]), 0.0
        for rows, factor in groups:
            items, shares, outcomes = (np.array(column) for column in zip(*rows, strict=True))
            one, other = strength[pairs.first[items]], strength[pairs.second[items]]
            odds = np.stack([one, other, theta[2] + (one + other) / 2], axis=1)
            log_chance = odds - np.log(np.exp(odds).sum(axis=1, keepdims=True))
            total -= factor * float(shares @ (outcomes * log_chance).sum(axis=1)) / shares.sum()
        return total

    best = minimize(loss, np.zeros(3), method="BFGS", options={"gtol": 1e-9}).x
    return np.array([best[0], best[1], -best[0] - best[1]])


def test_with_ties_weights_and_missing_labels_it_is_the_optimum_of_the_rectified_loss(rng):
    pairs = crossed(rng)

    ours = found(assisted_strengths(pairs, power=0.7))

    values = [each.value for each in ours.strength.values()]
    assert values == pytest.approx(rectified(pairs, 0.7), abs=1e-5)
    assert ours.strength["a"].over is Over.BOTH


def test_the_error_is_that_of_leaving_out_each_rater(rng):
    """Raters have 4 pairs each; a rater's judgments, or one of the pairs left to the judge, are left out."""
    pairs = replace(study(rng, n=120, pool=60, each=4, ties=0.2), probability=np.ones(180))
    power = 0.6

    def without(rater: int, pair: int) -> float:
        assert pairs.rater is not None
        rows = pairs.rater != rater
        keep = np.ones(180, dtype=bool)
        keep[pairs.item[~rows]] = False
        if pair >= 0:
            keep[pair] = False
        number = np.cumsum(keep) - 1
        left = AssistedPairs(
            NAMES, pairs.first[keep], pairs.second[keep], number[keep], pairs.judge[keep],
            number[pairs.item[rows]], pairs.outcome[rows], pairs.rater[rows],
        )  # fmt: skip
        return found(assisted_strengths(left, power=power)).strength["a"].value

    variance = 0.0
    for left_out in ([(k, -1) for k in range(30)], [(-1, k) for k in range(120, 180)]):
        values = np.array([without(*each) for each in left_out])
        variance += (len(values) - 1) / len(values) * float(((values - values.mean()) ** 2).sum())
    ours = found(assisted_strengths(replace(pairs, probability=None), power=power)).strength["a"]

    assert ours.over is Over.RATERS
    error = half(ours.interval) / student.ppf(0.975, ours.freedom)
    assert error == pytest.approx(np.sqrt(variance), rel=0.06)


@pytest.mark.parametrize("each", [1, 4])
def test_without_the_judge_it_is_the_strength_of_every_report(rng, each):
    pairs = study(rng, each=each, ties=0.2)

    plain = bradley_terry(pairs.duels)
    ours = found(assisted_strengths(pairs, power=0, rule=IntervalRule.WALD))

    for name, estimate in ours.strength.items():
        assert estimate.value == pytest.approx(plain.strength[name], abs=1e-8)
        assert half(estimate.interval) == pytest.approx(half(plain.intervals[name]), rel=1e-7)
        assert estimate.over is plain.over


def test_a_good_judge_is_worth_many_pairs(rng):
    ours = found(assisted_strengths(study(rng, n=120, pool=2_000, noise=0.0)))

    assert 0.5 < ours.power <= 1
    for estimate in ours.strength.values():
        assert estimate.worth > 1.2
        assert half(estimate.interval) < half(estimate.people_interval)
    first = ours.strength["a"]
    assert f"as if people had labelled {first.effective_items} pairs instead of 120" in first.worth_sentence
    assert sum(each.value for each in ours.strength.values()) == pytest.approx(0, abs=1e-9)


@pytest.mark.parametrize("judge", ["hostile", "constant", "missing"])
def test_a_judge_that_adds_nothing_leaves_people_s_strengths(rng, judge):
    pairs = study(rng, noise=0.0)
    labels = {
        "hostile": pairs.judge[:, [1, 0, 2]],
        "constant": np.tile([0.0, 0.0, 1.0], (360, 1)),
        "missing": np.full((360, 3), np.nan),
    }

    ours = found(assisted_strengths(replace(pairs, judge=labels[judge])))

    plain = bradley_terry(pairs.duels)
    assert ours.power == 0
    for name, estimate in ours.strength.items():
        assert estimate.value == pytest.approx(plain.strength[name], abs=1e-8)
        assert (estimate.value, estimate.interval) == (estimate.people_value, estimate.people_interval)
        assert (estimate.worth, estimate.effective_items) == (1.0, 60)
        assert estimate.note


def test_shares_of_wins_are_means_of_points(rng):
    pairs = study(rng, ties=0.2)

    ours = assisted_win_shares(pairs)["b"]

    assert isinstance(ours, AssistedEstimate)
    points = [
        {0: 1.0, 1: 0.0, 2: 0.5}[int(pairs.outcome[k])] if pairs.first[k] == 1
        else {0: 0.0, 1: 1.0, 2: 0.5}[int(pairs.outcome[k])]
        for k in range(60) if 1 in (pairs.first[k], pairs.second[k])
    ]  # fmt: skip
    assert ours.people_value == pytest.approx(np.mean(points))
    assert ours.noun == "pairs"
    assert isinstance(assisted_mean(pairs.of(1)), AssistedEstimate)


def test_below_twenty_pairs_of_a_system_it_says_that_it_cannot(rng):
    pairs = study(rng, n=27)

    assert "People judged 18 pairs of a." in assisted_strengths(pairs).reason
    assert "People judged 18 pairs of a." in assisted_win_shares(pairs)["a"].reason
    assert isinstance(assisted_strengths(study(rng, n=30)), AssistedStrengths)


def test_a_system_that_always_wins_has_no_finite_strength(rng):
    pairs = study(rng)
    outcome = np.where(pairs.first[:60] == 0, 0, pairs.outcome)

    assert "one way" in assisted_strengths(replace(pairs, outcome=outcome)).reason


def test_a_power_outside_its_range_is_refused(rng):
    with pytest.raises(ValueError, match="power=2"):
        assisted_strengths(study(rng), power=2)
