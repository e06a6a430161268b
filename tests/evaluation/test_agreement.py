"""Agreement against hand calculation, brute force over pairs, and invariants."""

from fractions import Fraction
from itertools import combinations, permutations

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from evaluation.questions import Level
from evaluation.rater_agreement.coefficients import (
    Metric,
    alpha_coefficient,
    alpha_interval,
    disagreement,
    fleiss_interval,
    fleiss_kappa,
    free_marginal_kappa,
    krippendorff_alpha,
    metric_of,
    percent_interval,
    percent_mean_of_units,
    percent_pooled,
)
from evaluation.rater_agreement.ratings import Ratings
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import LabelsError

# Ratings per unit: (1 1 0) (0 0) and a single 1 that does not count.
SMALL = Ratings.from_matrix([[1, 0, np.nan], [1, 0, 1], [0, np.nan, np.nan]])  # type: ignore[arg-type]

matrices = arrays(
    np.float64,
    st.tuples(st.integers(2, 4), st.integers(1, 7)),
    elements=st.sampled_from([0.0, 1.0, 2.0, 5.0, np.nan]),
)


def brute_force_alpha(matrix: np.ndarray, distance) -> float | None:
    """Alpha by its definition: mean distance within units against mean distance between any two ratings."""
    units = [[v for v in column if not np.isnan(v)] for column in matrix.T]
    units = [unit for unit in units if len(unit) >= 2]
    everything = [v for unit in units for v in unit]
    if len(units) < 2 or len(set(everything)) < 2:
        return None
    within = sum(
        sum(distance(a, b, everything) for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in units
    ) / len(everything)
    between = [distance(a, b, everything) for a, b in permutations(everything, 2)]
    return 1 - within / (sum(between) / len(between))


def ordinal(a: float, b: float, everything: list[float]) -> float:
    low, high = min(a, b), max(a, b)
    between = sum(low <= v <= high for v in everything)
    return (between - (everything.count(a) + everything.count(b)) / 2) ** 2 if a != b else 0.0


DISTANCES = {
    Metric.NOMINAL: lambda a, b, _: float(a != b),
    Metric.ORDINAL: ordinal,
    Metric.INTERVAL: lambda a, b, _: (a - b) ** 2,
    Metric.RATIO: lambda a, b, _: ((a - b) / (a + b)) ** 2 if a + b else 0.0,
}


def test_alpha_of_a_hand_worked_table():
    # n = 5, ones = 2, zeros = 3; observed: 4 differing ordered pairs / (3 - 1) = 2
    # expected: (25 - 4 - 9) / (5 - 1) = 3
    assert krippendorff_alpha(SMALL) == pytest.approx(float(1 - Fraction(2, 3)))


def test_disagreement_of_a_hand_worked_table():
    parts = disagreement(SMALL)

    assert (parts.observed, parts.expected) == (pytest.approx(2 / 5), pytest.approx(3 / 5))


def test_percent_pooled_and_mean_of_units_differ_where_units_have_unequal_raters():
    # (1 1 0): 1 of 3 pairs agrees; (0 0): 1 of 1.
    assert percent_pooled(SMALL) == pytest.approx(2 / 4)
    assert percent_mean_of_units(SMALL) == pytest.approx((1 / 3 + 1) / 2)


@pytest.mark.parametrize("metric", list(Metric))
@given(matrix=matrices)
def test_alpha_equals_brute_force(metric, matrix):
    expected = brute_force_alpha(matrix, DISTANCES[metric])
    assume(expected is not None)

    assert krippendorff_alpha(Ratings.from_matrix(matrix), metric) == pytest.approx(expected)


@given(matrix=matrices)
def test_percent_equals_counting_pairs(matrix):
    pairs = [
        [a == b for a, b in combinations([v for v in column if not np.isnan(v)], 2)] for column in matrix.T
    ]
    pairs = [unit for unit in pairs if unit]
    assume(pairs)
    ratings = Ratings.from_matrix(matrix)

    assert percent_pooled(ratings) == pytest.approx(sum(map(sum, pairs)) / sum(map(len, pairs)))
    assert percent_mean_of_units(ratings) == pytest.approx(np.mean([sum(u) / len(u) for u in pairs]))


@given(matrix=matrices, seed=st.integers(0, 100))
def test_alpha_ignores_the_order_of_raters_and_units_and_single_ratings(matrix, seed):
    assume(brute_force_alpha(matrix, DISTANCES[Metric.ORDINAL]) is not None)
    rng = np.random.default_rng(seed)
    shuffled = rng.permuted(matrix, axis=0)[:, rng.permutation(matrix.shape[1])]
    lonely = np.full((matrix.shape[0], 1), np.nan)
    lonely[0] = 5.0

    alpha = krippendorff_alpha(Ratings.from_matrix(matrix), Metric.ORDINAL)

    assert krippendorff_alpha(
        Ratings.from_matrix(np.hstack([shuffled, lonely])), Metric.ORDINAL
    ) == pytest.approx(alpha)


def test_binary_alpha_is_the_same_at_every_level():
    matrix = np.random.default_rng(1).integers(0, 2, (3, 20))

    values = [krippendorff_alpha(Ratings.from_matrix(matrix), metric) for metric in Metric]

    assert values == pytest.approx([values[0]] * 4)


def test_a_matrix_of_distances_can_replace_the_metric():
    ratings = Ratings.from_matrix([[1, 2, 3, 3], [1, 3, 2, 1]])
    squares = np.subtract.outer([1.0, 2, 3], [1.0, 2, 3]) ** 2

    assert krippendorff_alpha(ratings, squares) == pytest.approx(krippendorff_alpha(ratings, Metric.INTERVAL))
    with pytest.raises(ValueError, match=r"must be \(3, 3\)"):
        krippendorff_alpha(ratings, np.ones((2, 2)))


def test_columns_of_names_and_words_give_the_same_as_a_matrix():
    ratings = Ratings.from_columns(
        unit=["t1", "t1", "t1", "t2", "t2", "t3"],
        rater=["wanda", "rita", "rex", "wanda", "rita", "rita"],
        value=["yes", "yes", "no", "no", "no", "yes"],
    )

    assert krippendorff_alpha(ratings) == pytest.approx(1 / 3)
    assert (ratings.units, ratings.raters, len(ratings)) == (3, 3, 6)


@pytest.mark.parametrize(
    ("matrix", "reason"),
    [
        ([[1, 1, 1], [1, 1, 1]], "All 6 ratings are the same"),
        ([[1, 0, 1]], "One rater only"),
        ([[1, np.nan], [np.nan, 0]], "No unit was rated by two"),
        ([[1, 1, 0], [1, 1, np.nan]], "All 4 ratings are the same"),
    ],
)
def test_too_little_data_is_named_instead_of_a_number(matrix, reason):
    ratings = Ratings.from_matrix(matrix)
    rng = np.random.default_rng(0)

    for answer in (krippendorff_alpha(ratings), alpha_interval(ratings, rng)):
        assert isinstance(answer, Undefined)
        assert reason in answer.reason


def test_no_ratings_at_all_are_named():
    empty = Ratings.from_columns([], [], [])

    assert isinstance(krippendorff_alpha(empty), Undefined)
    assert isinstance(percent_pooled(empty), Undefined)
    assert isinstance(fleiss_kappa(empty), Undefined)
    assert isinstance(free_marginal_kappa(empty), Undefined)


@pytest.mark.parametrize("matrix", [[[1], [1], [0]], [[1, 0], [0, np.nan]]])
def test_one_unit_has_percent_agreement_but_no_alpha(matrix):
    # The pairs within the unit are all pairs there are: alpha would be 0 whatever the raters say.
    ratings = Ratings.from_matrix(matrix)

    for answer in (krippendorff_alpha(ratings), alpha_interval(ratings, np.random.default_rng(0))):
        assert isinstance(answer, Undefined)
        assert "Only one unit has two ratings" in answer.reason
    assert isinstance(fleiss_kappa(ratings), Undefined)
    assert percent_pooled(ratings) == pytest.approx(1 / 3 if len(matrix) == 3 else 0)


def test_words_have_no_ordinal_distance():
    ratings = Ratings.from_columns([1, 1, 2, 2], ["a", "b"] * 2, ["good", "bad"] * 2)

    with pytest.raises(ValueError, match="ordinal distance needs numbers, but a rating is 'bad'"):
        krippendorff_alpha(ratings, Metric.ORDINAL)


def test_negative_ratings_have_no_ratio_distance():
    with pytest.raises(ValueError, match="from 0 upward, but one is -1"):
        krippendorff_alpha(Ratings.from_matrix([[-1, 2], [1, 2]]), Metric.RATIO)


def test_a_rater_who_rates_a_unit_twice_is_refused():
    with pytest.raises(LabelsError, match=r"Row 3.*'wanda' already rated unit 't1'.* See row 1"):
        Ratings.from_columns(["t1", "t1", "t1"], ["wanda", "rita", "wanda"], [1, 0, 0])


def test_a_rating_outside_the_scale_is_refused_with_its_row():
    with pytest.raises(LabelsError, match="Row 2, column value: '8' is not on the scale 1, 2, 3"):
        Ratings.from_columns(["t1", "t2"], ["rita", "rita"], [3, 8], scale=[1, 2, 3])


def test_a_rating_that_nobody_gave_keeps_its_place_on_the_scale():
    ratings = Ratings.from_columns(
        [1, 1, 2, 2], ["a", "b"] * 2, ["good", "bad", "bad", "bad"], ["bad", "fair", "good"]
    )

    assert ratings.counts.tolist() == [[1, 0, 1], [2, 0, 0]]
    # agreement 1/2 against 1/3 by chance over three possible ratings
    assert free_marginal_kappa(ratings) == pytest.approx((1 / 2 - 1 / 3) / (1 - 1 / 3))


def test_fleiss_kappa_refuses_unequal_numbers_of_ratings():
    answer = fleiss_kappa(SMALL)

    assert isinstance(answer, Undefined)
    assert "from 2 to 3" in answer.reason


def test_fleiss_kappa_of_a_hand_worked_table():
    # (1 1 1) (1 0 0): agreeing pairs 1 and 1/3, mean 2/3; shares 2/3 and 1/3, chance 5/9.
    ratings = Ratings.from_matrix([[1, 1], [1, 0], [1, 0]])

    assert fleiss_kappa(ratings) == pytest.approx((2 / 3 - 5 / 9) / (1 - 5 / 9))
    assert free_marginal_kappa(ratings) == pytest.approx((2 / 3 - 1 / 2) / (1 - 1 / 2))


@pytest.mark.parametrize("metric", list(Metric))
@given(matrix=matrices)
def test_the_bootstrap_resamples_alpha(metric, matrix):
    expected = brute_force_alpha(matrix, DISTANCES[metric])
    assume(expected is not None)

    assert alpha_coefficient(Ratings.from_matrix(matrix), metric).value() == pytest.approx(expected)


@pytest.mark.parametrize("metric", list(Metric))
def test_the_interval_of_alpha_equals_a_loop_over_resampled_units(metric):
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 4, 60)
    matrix = np.where(rng.random((3, 60)) < 0.6, truth, rng.integers(0, 4, (3, 60))).astype(float)
    matrix[0, :10] = np.nan
    loop = [
        krippendorff_alpha(Ratings.from_matrix(matrix[:, rng.integers(0, 60, 60)]), metric)
        for _ in range(3000)
    ]

    interval = alpha_interval(Ratings.from_matrix(matrix), np.random.default_rng(3), metric)

    assert isinstance(interval, Interval)
    assert (interval.low, interval.high) == pytest.approx(tuple(np.quantile(loop, [0.025, 0.975])), abs=0.02)  # type: ignore[arg-type]


def test_the_interval_of_alpha_over_clusters_equals_a_loop_over_resampled_clusters():
    rng = np.random.default_rng(11)
    # 30 conversations of 4 turns; three of each have two raters, and those of one conversation are alike.
    ease = np.repeat(rng.random(30), 4)
    matrix = (rng.random((2, 120)) < ease).astype(float)
    matrix[1, ::4] = np.nan
    clusters = np.repeat(np.arange(30), 4)

    def alpha_of(drawn):
        columns = np.concatenate([np.flatnonzero(clusters == cluster) for cluster in drawn])
        return krippendorff_alpha(Ratings.from_matrix(matrix[:, columns]))

    loop = np.quantile([alpha_of(rng.integers(0, 30, 30)) for _ in range(2000)], [0.025, 0.975])
    ratings = Ratings.from_matrix(matrix)
    interval = alpha_interval(ratings, np.random.default_rng(3), clusters=clusters)
    over_units = alpha_interval(ratings, np.random.default_rng(3))

    assert [interval.low, interval.high] == pytest.approx(loop, abs=0.03)
    assert interval.high - interval.low > 1.1 * (over_units.high - over_units.low)


def test_intervals_of_percent_and_fleiss_contain_their_estimates():
    rng = np.random.default_rng(4)
    truth = rng.integers(0, 2, 80)
    ratings = Ratings.from_matrix(np.where(rng.random((5, 80)) < 0.8, truth, 1 - truth))

    assert percent_pooled(ratings) in percent_interval(ratings, rng)
    assert fleiss_kappa(ratings) in fleiss_interval(ratings, rng)


@pytest.mark.parametrize("level", list(Level))
def test_every_level_of_measurement_has_a_distance(level):
    assert metric_of(level) is (Metric.NOMINAL if level is Level.BINARY else Metric(level))
