"""Alpha with its interval over units and raters: brute force, derivatives, coverage, many distinct values."""

from itertools import product

import numpy as np
import pytest
from scipy.special import expit

from evaluation.rater_agreement.coefficients import (
    alpha_interval,
    disagreement,
    krippendorff_alpha,
    percent_pooled,
)
from evaluation.rater_agreement.disagreement import pairs_of
from evaluation.rater_agreement.ratings import Metric, Ratings
from evaluation.rater_agreement.reliability import alpha
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.variance import Over

METRICS = list(Metric)


def some_ratings(units: int, values: int, *, seed: int, decimals: bool = False) -> np.ndarray:
    rng = np.random.default_rng(seed)
    matrix = rng.integers(0, values, (4, units)).astype(float)
    if decimals:
        matrix *= rng.random(matrix.shape) * 10.0 ** rng.integers(-6, 7, matrix.shape)
    matrix[rng.random(matrix.shape) < 0.2] = np.nan
    return matrix


def by_definition(matrix: np.ndarray, metric: Metric, weights: np.ndarray) -> tuple[float, float]:
    """D_o and D_e from all pairs of values, each unit counting as often as its weight says."""
    units = [(column[~np.isnan(column)].tolist(), w) for column, w in zip(matrix.T, weights, strict=True)]
    units = [(values, w) for values, w in units if len(values) > 1]
    counts: dict[float, float] = {}
    for values, w in units:
        for value in values:
            counts[value] = counts.get(value, 0) + w
    total = sum(counts.values())
    rank, below = {}, 0.0
    for value in sorted(counts):
        rank[value] = below + counts[value] / 2
        below += counts[value]

    def distance(a: float, b: float) -> float:
        if metric is Metric.NOMINAL:
            return float(a != b)
        if metric is Metric.ORDINAL:
            return (rank[a] - rank[b]) ** 2
        if metric is Metric.INTERVAL:
            return (a - b) ** 2
        return ((a - b) / (a + b)) ** 2 if a + b else 0.0

    observed = sum(w * sum(distance(a, b) for a, b in product(v, v)) / (len(v) - 1) for v, w in units)
    expected = sum(counts[a] * counts[b] * distance(a, b) for a, b in product(counts, counts))
    return observed / total, expected / total / (total - 1)


@pytest.mark.parametrize("metric", METRICS)
def test_many_distinct_values_give_the_alpha_of_the_definition(metric):
    matrix = some_ratings(30, 9, seed=1, decimals=True)
    ratings = Ratings.from_matrix(matrix)

    found = disagreement(ratings, metric)

    assert len(ratings.values) > 64
    assert (found.observed, found.expected) == pytest.approx(
        by_definition(matrix, metric, np.ones(30)), rel=1e-11
    )


@pytest.mark.parametrize("metric", METRICS)
def test_the_methods_for_few_and_many_values_agree(metric):
    ratings = Ratings.from_matrix(some_ratings(40, 7, seed=2))

    found = disagreement(ratings, metric)

    pairs = pairs_of(ratings, metric)
    assert (pairs.observed, pairs.expected) == pytest.approx((found.observed, found.expected), rel=1e-12)


@pytest.mark.parametrize("metric", METRICS)
def test_the_influence_of_a_unit_is_the_derivative_of_alpha_by_its_weight(metric):
    matrix, step = some_ratings(9, 4, seed=3), 1e-6

    def value(weights: np.ndarray) -> float:
        observed, expected = by_definition(matrix, metric, weights)
        return 1 - observed / expected

    ratings = Ratings.from_matrix(matrix)
    pairs = pairs_of(ratings, metric)
    units = np.flatnonzero(ratings.is_pairable)
    slopes = [(value(1 + step * row) - value(1 - step * row)) / 2 / step for row in np.eye(9)[units]]

    # Weighing all alike moves alpha a little, by the n - 1 of its definition; influence leaves that out.
    expected = np.array(slopes) - sum(slopes) * pairs.size / pairs.size.sum()
    assert np.bincount(pairs.unit, pairs.influence()) == pytest.approx(expected, abs=1e-7)


def test_percent_agreement_counts_pairs():
    matrix = some_ratings(20, 3, seed=4)
    pairs = [
        (a == b) for column in matrix.T for i, a in enumerate(column) for b in column[:i] if a == a and b == b
    ]

    assert percent_pooled(Ratings.from_matrix(matrix)) == pytest.approx(np.mean(pairs))


def test_ordinal_decimals_of_a_study_need_no_table_of_all_pairs():
    # Tables of pairs would take 84 GiB here.
    rng = np.random.default_rng(5)
    ratings = Ratings.from_matrix(rng.normal(size=300) + rng.normal(size=(5, 300)))

    found = alpha(ratings, Metric.ORDINAL)

    assert not isinstance(found, Undefined)
    assert isinstance(found.interval, Interval)
    assert found.interval.low < found.value < found.interval.high
    with pytest.raises(ValueError, match=r"1500 distinct ratings; use alpha\.alpha"):
        alpha_interval(ratings, rng, Metric.ORDINAL)


def test_the_interval_over_units_is_that_of_the_bootstrap():
    rng = np.random.default_rng(6)
    units = np.repeat(np.arange(400), 3)
    raters = np.arange(1200)  # everybody rates once, so raters have no leaning of their own
    values = (rng.random(1200) < rng.beta(1.2, 0.8, 400)[units]).astype(int)
    ratings = Ratings.from_columns(units, raters, values)

    ours, theirs = alpha(ratings), alpha_interval(ratings, rng)

    assert ours.over is Over.CLUSTERS
    assert (ours.interval.low, ours.interval.high) == pytest.approx((theirs.low, theirs.high), abs=0.01)


def test_turns_of_a_conversation_count_together():
    rng = np.random.default_rng(7)
    unit = np.repeat(np.arange(400), 4)
    place = 2 * rng.normal(size=40)[unit // 40] + rng.normal(size=400)[unit]
    ratings = Ratings.from_columns(unit, np.tile(np.arange(4), 400), (rng.random(1600) < expit(place)) * 1)

    alone, together = alpha(ratings), alpha(ratings, clusters=np.arange(400) // 10)

    assert alone.value == together.value
    assert together.numbers.clusters == 40
    assert together.interval.high - together.interval.low > 1.15 * (alone.interval.high - alone.interval.low)


@pytest.mark.parametrize("pool", [6, 20])
def test_the_interval_holds_its_level_with_biased_raters(pool):
    nodes, weights = np.polynomial.hermite_e.hermegauss(40)
    weights = weights / weights.sum()
    by_item = expit(0.8 + 1.5 * nodes[:, None] + 0.8 * nodes) @ weights
    mean = by_item @ weights
    truth = (by_item**2 @ weights - mean**2) / (mean - mean**2)

    def held(seed):
        rng = np.random.default_rng(seed)
        rater = np.argsort(rng.random((120, pool)), axis=1)[:, :5].ravel()
        item = np.repeat(np.arange(120), 5)
        place = 0.8 + 1.5 * rng.normal(size=120)[item] + 0.8 * rng.normal(size=pool)[rater]
        return (
            truth in alpha(Ratings.from_columns(item, rater, (rng.random(600) < expit(place)) * 1)).interval
        )

    assert np.mean([held(seed) for seed in range(400)]) == pytest.approx(0.95, abs=0.033)


def test_perfect_agreement_has_the_exact_bound_of_units_unseen():
    ratings = Ratings.from_matrix([[0, 1] * 10, [0, 1] * 10])

    found = alpha(ratings)

    # 1 - 0.025^(1/20) = 0.1684 of units may differ; two of 40 ratings differ by chance in 20/39 of pairs.
    assert found.value == 1
    assert found.interval == Interval(pytest.approx(1 - 0.1684 / (20 / 39), abs=1e-3), 1, 0.95, "exact")  # type: ignore[arg-type]


def test_two_raters_give_no_interval_for_other_raters():
    found = alpha(Ratings.from_matrix([[0, 1, 1, 0, 1], [0, 1, 0, 0, 1]]))

    assert found.over is Over.CLUSTERS_SAME_RATERS
    assert "would say is not known" in found.describe_interval()


def test_units_of_one_conversation_have_no_interval():
    found = alpha(Ratings.from_matrix([[0, 1, 1], [0, 1, 0]]), clusters=np.zeros(3))

    assert isinstance(found.interval, Undefined)


@pytest.mark.parametrize("metric", METRICS)
def test_the_value_equals_alpha(metric):
    ratings = Ratings.from_matrix(some_ratings(25, 5, seed=8))

    assert alpha(ratings, metric).value == krippendorff_alpha(ratings, metric)
