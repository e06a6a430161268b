"""Cohen's kappa against hand calculation and definitions."""

import numpy as np
import pytest

from evaluation.rater_agreement.coefficients import krippendorff_alpha
from evaluation.rater_agreement.kappa import cohen_kappa, kappa_interval, pairwise_kappas
from evaluation.rater_agreement.ratings import Ratings
from evaluation.statistics.interval import Interval, Undefined

TABLE = [[20, 5], [10, 15]]


def test_kappa_of_a_hand_worked_table():
    # observed 35/50; chance 25/50 * 30/50 + 25/50 * 20/50 = 1/2
    kappa = cohen_kappa(TABLE)

    assert (kappa.observed, kappa.expected, kappa.value) == pytest.approx((0.7, 0.5, 0.4))
    assert kappa.units == 50


def test_weighted_kappa_is_one_minus_the_ratio_of_distances():
    table = np.array([[6, 2, 1], [1, 5, 3], [0, 2, 7]])
    expected_table = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    steps = np.abs(np.subtract.outer(range(3), range(3)))

    for weights, distance in (("linear", steps), ("quadratic", steps**2), ("plain", steps > 0)):
        kappa = cohen_kappa(table, weights)  # type: ignore[arg-type]
        assert kappa.value == pytest.approx(1 - (table * distance).sum() / (expected_table * distance).sum())


def test_the_standard_error_matches_simulation():
    # 4,000 samples of 400 units from known cells: the spread of kappa is what the formula states.
    cells = np.array([[0.4, 0.1], [0.15, 0.35]])
    rng = np.random.default_rng(1)
    values = [cohen_kappa(rng.multinomial(400, cells.ravel()).reshape(2, 2)).value for _ in range(4000)]

    assert cohen_kappa(cells * 400).error == pytest.approx(np.std(values), rel=0.05)


def test_the_error_under_chance_matches_simulation():
    rng = np.random.default_rng(2)
    cells = np.outer([0.7, 0.3], [0.6, 0.4])
    values = [cohen_kappa(rng.multinomial(400, cells.ravel()).reshape(2, 2)).value for _ in range(4000)]

    assert cohen_kappa(cells * 400).error_if_zero == pytest.approx(np.std(values), rel=0.05)


def test_the_bootstrap_interval_agrees_with_the_normal_one_for_many_units():
    table = np.array(TABLE) * 20
    interval = kappa_interval(table, np.random.default_rng(3))
    normal = cohen_kappa(table).interval()

    assert isinstance(interval, Interval)
    assert (interval.low, interval.high) == pytest.approx((normal.low, normal.high), abs=0.01)


def test_an_interval_over_clusters_counts_copies_of_a_unit_once():
    # Three turns of a conversation that always get the same two labels tell no more than one of them.
    units = np.eye(4)[np.repeat(range(4), np.ravel(TABLE))].reshape(-1, 2, 2)
    one = kappa_interval(units, np.random.default_rng(4))
    copies = kappa_interval(3 * units, np.random.default_rng(4))
    as_if_independent = kappa_interval(3 * np.array(TABLE), np.random.default_rng(4))

    assert (copies.low, copies.high) == pytest.approx((one.low, one.high))
    # Three times as many units give an interval shorter by the root of three.
    assert copies.high - copies.low == pytest.approx(
        3**0.5 * (as_if_independent.high - as_if_independent.low), rel=0.1
    )


def test_one_cluster_gives_no_interval():
    interval = kappa_interval([TABLE], np.random.default_rng(5))

    assert isinstance(interval, Undefined)
    assert "at least 2" in interval.reason


def test_the_table_of_two_raters_counts_common_units_only():
    ratings = Ratings.from_matrix([[0.0, 1, 1, np.nan], [0.0, 0, 1, 1], [1.0, 1, 1, 1]])

    assert ratings.table(0, 1).tolist() == [[1, 0], [1, 1]]


def test_swapping_the_raters_keeps_kappa():
    assert cohen_kappa(np.transpose(TABLE)).value == pytest.approx(cohen_kappa(TABLE).value)


def test_kappa_and_alpha_meet_for_many_units_and_equal_frequencies():
    table = np.array([[400, 100], [100, 400]])
    counts = np.repeat([[2, 0], [1, 1], [0, 2]], [400, 200, 400], axis=0)

    # Same frequencies of both raters: only Krippendorff's small-sample term differs.
    alpha = krippendorff_alpha(Ratings.from_counts(counts))
    assert alpha == pytest.approx(cohen_kappa(table).value, abs=0.001)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ([[0, 0], [0, 0]], "no unit"),
        ([[9, 0], [0, 0]], "all 9 units"),
        ([[0, 1], [0, 0]], "one unit"),
    ],
)
def test_too_little_data_is_named(table, reason):
    for answer in (cohen_kappa(table), kappa_interval(table, np.random.default_rng(0))):
        assert isinstance(answer, Undefined)
        assert reason in answer.reason


def test_a_table_that_is_not_square_is_refused():
    with pytest.raises(ValueError, match="must be square"):
        cohen_kappa([[1, 2, 3], [4, 5, 6]])


def test_a_constant_rater_has_no_test():
    kappa = cohen_kappa([[3, 2], [0, 0]])

    assert kappa.value == 0
    assert isinstance(kappa.z, Undefined)


def test_every_two_raters_who_met_have_a_kappa():
    nan = float("nan")
    ratings = Ratings.from_matrix(
        [[0, 1, 1, 0, nan], [0, 1, 0, 0, nan], [nan, nan, nan, nan, 1], [1, 1, 1, 0, 1]]  # type: ignore[arg-type]
    )

    found = pairwise_kappas(ratings)

    assert [(each.first, each.second, each.units) for each in found] == [
        (0, 1, 4),
        (0, 3, 4),
        (1, 3, 4),
        (2, 3, 1),
    ]
    # Raters 0 and 1 agree on 3 of 4; chance is 1/2 · 3/4 + 1/2 · 1/4 = 1/2, so kappa is 1/2.
    assert found[0].kappa.value == pytest.approx(0.5)
    assert isinstance(found[3].kappa, Undefined)
