"""Expected scores and agreement against hand calculation, complete enumeration and plain simulation."""

import math
from itertools import product

import numpy as np
import pytest

from evaluation.rater_agreement.coefficients import Metric, krippendorff_alpha
from evaluation.rater_agreement.expected_values import (
    expected_alpha,
    expected_alpha_of_answers,
    expected_majority,
    expected_share,
)
from evaluation.rater_agreement.ratings import Ratings
from evaluation.statistics.interval import Undefined


def pairs_that_differ(votes: tuple[int, ...]) -> int:
    return sum(votes[i] != votes[j] for i in range(len(votes)) for j in range(len(votes)) if i != j)


def disagreements(ballots: list[tuple[int, ...]]) -> tuple[float, float]:
    """Krippendorff's observed and expected disagreement, pair by pair."""
    everything = tuple(vote for ballot in ballots for vote in ballot)
    n = len(everything)
    observed = sum(pairs_that_differ(ballot) / (len(ballot) - 1) for ballot in ballots) / n
    return observed, pairs_that_differ(everything) / (n * (n - 1))


def test_alpha_is_the_ratio_of_the_means_over_all_possible_votes():
    units = [[0.9, 0.8, 0.5], [0.2, 0.7], [0.05, 1.0, 0.4, 0.5]]
    chances = [chance for unit in units for chance in unit]
    observed = expected = 0.0
    for votes in product((0, 1), repeat=len(chances)):
        likely = math.prod([p if vote else 1 - p for p, vote in zip(chances, votes, strict=True)])
        o, e = disagreements([votes[:3], votes[3:5], votes[5:]])
        observed, expected = observed + likely * o, expected + likely * e

    assert expected_alpha(units) == pytest.approx(1 - observed / expected, abs=1e-12)


def test_alpha_of_like_raters_is_the_share_of_variance_between_units():
    # Half of many units with chance 0.9 and half with 0.1: p = 0.5, Var(p_u) = 0.16, so 0.16 / 0.25 = 0.64.
    units = [[0.9] * 5, [0.1] * 5] * 10_000

    assert expected_alpha(units) == pytest.approx(0.64, abs=1e-4)


def test_alpha_of_two_units_by_hand():
    # The two votes of the first unit differ once in two, in both orders; those of the second never. So
    # D_o = (2 · 0.5 / 1 + 0) / 4 = 0.25. Of the six pairs among all four votes, the one in the first unit and
    # the four across differ once in two: D_e = 2 · (0.5 + 4 · 0.5) / (4 · 3) = 5/12. 1 - 0.25 · 12/5 = 0.4.
    assert expected_alpha([[0.5, 0.5], [1.0, 1.0]]) == pytest.approx(0.4)


def test_alpha_lies_where_simulated_votes_put_it():
    rng = np.random.default_rng(5)
    units = [list(rng.choice([0.05, 0.3, 0.5, 0.95], size=rng.integers(2, 6))) for _ in range(300)]
    # 400 alphas of 300 units; the standard error of their mean is about 0.002.
    drawn = []
    for _ in range(400):
        ballots = [(rng.random(len(unit)) < unit).astype(int) for unit in units]
        n, yes = sum(map(len, ballots)), sum(int(b.sum()) for b in ballots)
        observed = sum(2 * b.sum() * (len(b) - b.sum()) / (len(b) - 1) for b in ballots) / n
        drawn.append(1 - observed * n * (n - 1) / (2 * yes * (n - yes)))

    assert expected_alpha(units) == pytest.approx(float(np.mean(drawn)), abs=0.01)


def test_units_with_one_rater_do_not_count_for_alpha():
    assert expected_alpha([[0.5, 0.5], [1.0, 1.0], [0.3]]) == pytest.approx(0.4)


def test_majority_is_strict():
    # Two raters at 0.5: both say yes once in four; a tie is none. Three at 0.9, 0.8, 0.5, two or three yes:
    # .9·.8·.5 + .9·.8·.5 + .9·.2·.5 + .1·.8·.5 = .36 + .36 + .09 + .04 = 0.85.
    assert expected_majority([[0.5, 0.5]]) == pytest.approx(0.25)
    assert expected_majority([[0.9, 0.8, 0.5]]) == pytest.approx(0.85)
    assert expected_majority([[0.5, 0.5], [0.9, 0.8, 0.5], []]) == pytest.approx(0.55)


def test_share_counts_every_vote_once():
    assert expected_share([[1.0, 0.5], [0.0]]) == pytest.approx(0.5)


@pytest.mark.parametrize("units", [[], [[0.5], [0.7]]])
def test_units_with_one_rater_have_no_agreement(units: list[list[float]]):
    assert isinstance(expected_alpha(units), Undefined)


def test_certain_votes_of_one_kind_have_no_alpha():
    assert isinstance(expected_alpha([[1.0, 1.0], [1.0, 1.0]]), Undefined)
    assert isinstance(expected_share([]), Undefined)
    assert isinstance(expected_majority([[]]), Undefined)


@pytest.mark.parametrize("metric", [Metric.NOMINAL, Metric.ORDINAL, Metric.INTERVAL])
def test_certain_answers_have_the_alpha_of_those_answers(metric: Metric) -> None:
    votes = [[0, 0, 1], [2, 2, 1], [0, 1, 1], [2, 0, 2]]
    certain = [[tuple(float(vote == each) for each in range(3)) for vote in unit] for unit in votes]
    ratings = Ratings.from_columns(
        np.repeat(np.arange(4), 3), np.tile(np.arange(3), 4), np.array(votes, dtype=float).ravel()
    )

    # Nobody's answer is left to chance, so the expectation is what the data have.
    found = expected_alpha_of_answers(certain, metric, [0.0, 1.0, 2.0])
    assert found == pytest.approx(krippendorff_alpha(ratings, metric))


def test_expected_disagreement_is_that_over_all_answers_weighed_by_their_chance() -> None:
    units = [[(0.5, 0.25, 0.25), (0.1, 0.8, 0.1)], [(0.2, 0.2, 0.6), (0.0, 0.5, 0.5)]]
    apart = [[(a - b) ** 2 for b in range(3)] for a in range(3)]

    # By brute force over all pairs of answers of two raters.
    def expected(p: tuple[float, ...], q: tuple[float, ...]) -> float:
        return sum(p[a] * q[b] * apart[a][b] for a in range(3) for b in range(3))

    every = [rater for unit in units for rater in unit]
    observed = sum(2 * expected(*unit) for unit in units) / 4
    by_chance = sum(expected(p, q) for p in every for q in every if p is not q) / (4 * 3)
    assert expected_alpha_of_answers(units, Metric.INTERVAL, [0, 1, 2]) == pytest.approx(
        1 - observed / by_chance
    )
