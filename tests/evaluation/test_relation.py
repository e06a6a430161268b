"""Correlation and regression against scipy's own intervals, hand calculation and simulation."""

import numpy as np
import pytest
from scipy import stats

from evaluation.statistics.interval import Undefined
from evaluation.statistics.linear_models.regression import kendall, line, pearson, spearman

X = [10.2, 11.5, 12.8, 15.0, 17.2, 19.9, 24.0]
Y = [0.72, 0.70, 0.66, 0.61, 0.55, 0.57, 0.41]


def test_pearson_and_its_interval_equal_scipys():
    expected = stats.pearsonr(X, Y)
    interval = expected.confidence_interval(0.9)

    correlation = pearson(X, Y, level=0.9)

    assert correlation.value == pytest.approx(expected.statistic)
    assert (correlation.interval.low, correlation.interval.high) == pytest.approx(
        (interval.low, interval.high)
    )


def test_rank_correlations_of_a_hand_worked_order():
    # ranks of Y against X: 7 6 5 4 2 3 1; one of 21 pairs is concordant
    assert kendall(X, Y).value == pytest.approx((1 - 20) / 21)
    # squared rank differences: 36 16 4 0 9 9 36 = 110; 1 - 6 * 110 / (7 * 48)
    assert spearman(X, Y).value == pytest.approx(1 - 6 * 110 / 336)


def test_intervals_of_rank_correlations_follow_their_published_variance():
    # Bonett & Wright: (1 + r²/2) / (n - 3); Fieller et al.: 0.437 / (n - 4); on Fisher's z scale.
    for coefficient, variance in ((spearman, lambda r: (1 + r * r / 2) / 4), (kendall, lambda r: 0.437 / 3)):
        found = coefficient(X, Y)
        half = 1.959964 * np.sqrt(variance(found.value))
        ends = np.tanh(np.arctanh(found.value) + np.array([-half, half]))
        assert (found.interval.low, found.interval.high) == pytest.approx(tuple(ends), abs=1e-6)


@pytest.mark.parametrize("coefficient", [pearson, spearman, kendall])
def test_intervals_of_correlations_cover_the_truth(coefficient):
    # Bivariate normal with correlation 0.6: Spearman's is 6/π asin(0.3), Kendall's 2/π asin(0.6).
    truth = {pearson: 0.6, spearman: 6 / np.pi * np.arcsin(0.3), kendall: 2 / np.pi * np.arcsin(0.6)}[
        coefficient
    ]
    draw = np.random.default_rng(1)
    hits = 0
    for _ in range(400):
        x, noise = draw.normal(size=(2, 30))
        hits += truth in coefficient(x, 0.6 * x + 0.8 * noise).interval

    assert hits / 400 == pytest.approx(0.95, abs=0.035)


def test_the_line_equals_scipys_with_its_errors():
    expected = stats.linregress(X, Y)
    t = stats.t.ppf(0.975, 5)

    fitted = line(X, Y)

    assert (fitted.slope, fitted.intercept) == pytest.approx((expected.slope, expected.intercept))
    assert fitted.r_squared == pytest.approx(expected.rvalue**2)
    assert fitted.slope_interval.high - fitted.slope == pytest.approx(t * expected.stderr)
    assert fitted.intercept - fitted.intercept_interval.low == pytest.approx(t * expected.intercept_stderr)


def test_the_band_is_narrowest_in_the_middle_and_equals_the_intercept_interval_at_zero():
    fitted = line(X, Y)

    low, high = fitted.band(np.array([0.0, np.mean(X), 24.0]))

    assert (low[0], high[0]) == pytest.approx((fitted.intercept_interval.low, fitted.intercept_interval.high))
    assert (high - low).argmin() == 1


def test_r_squared_has_the_squared_interval_of_the_correlation():
    interval, squared = pearson(X, Y).interval, line(X, Y).r_squared_interval

    assert (squared.low, squared.high) == pytest.approx((interval.high**2, interval.low**2))
    assert line([1, 2, 3, 4, 5], [1, 3, 2, 1, 2]).r_squared_interval.low == 0


@pytest.mark.parametrize("relation", [pearson, spearman, kendall, line])
@pytest.mark.parametrize(
    ("x", "y", "reason"),
    [
        ([1, 2], [1, 2], "2 points"),
        ([1, 1, 1], [1, 2, 3], "first measure is 1"),
        ([1, 2, 3], [4, 4, 4], "second"),
    ],
)
def test_too_little_data_is_named(relation, x, y, reason):
    answer = relation(x, y)

    assert isinstance(answer, Undefined)
    assert reason in answer.reason


def test_points_on_a_line_have_a_correlation_but_no_interval():
    correlation = pearson([1, 2, 3, 4], [2, 4, 6, 8])

    assert correlation.value == pytest.approx(1)
    assert isinstance(correlation.interval, Undefined)
    assert isinstance(pearson([1, 2, 3], [1, 3, 2]).interval, Undefined)


def test_a_missing_measure_is_named():
    with pytest.raises(ValueError, match=r"y\[1\] is nan"):
        pearson([1, 2, 3], [1, np.nan, 3])
    with pytest.raises(ValueError, match="one pair per bot"):
        line([1, 2, 3], [1, 2])
