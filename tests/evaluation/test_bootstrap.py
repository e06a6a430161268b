"""Cluster bootstrap against exact distributions, a plain loop and scipy."""

from itertools import product

import numpy as np
import pytest
from scipy import stats

from evaluation.statistics.bootstrap import SENSIBLENESS, SSA, Ratio, cluster_interval
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.resampling import resampled_sums

MEAN = Ratio((1.0, 0.0), 1)


def rng(seed: int = 7) -> np.random.Generator:
    return np.random.default_rng(seed)


def conversations(k: int) -> np.ndarray:
    """(k, 3) sums of sensible, specific and turns, of unequal length."""
    draw = rng(3)
    turns = draw.integers(7, 15, k)
    sensible = draw.binomial(turns, draw.beta(6, 2, k))
    return np.column_stack([sensible, draw.binomial(sensible, 0.6), turns]).astype(float)


def of(value: Interval | Undefined) -> Interval:
    assert isinstance(value, Interval)
    return value


def test_resamples_follow_the_exact_distribution_over_all_draws():
    # Three clusters: 27 equally likely draws, so the probability of each total is known.
    rows = np.array([[0.0, 1], [1, 1], [3, 1]])
    exact = np.mean([sum(rows[list(draw), 0]) <= 2 for draw in product(range(3), repeat=3)])

    sums = resampled_sums(rows, 40_000, rng())

    assert (sums[:, 1] == 3).all()
    assert np.mean(sums[:, 0] <= 2) == pytest.approx(exact, abs=0.01)


def test_grouping_equal_clusters_keeps_the_distribution():
    # 40 equal rows of two kinds are drawn by kind; the sum of ones is then binomial(40, 1/4).
    rows = np.repeat([[1.0, 1], [0, 1]], [10, 30], axis=0)

    sums = resampled_sums(rows, 40_000, rng())[:, 0]

    assert sums.mean() == pytest.approx(10, abs=0.06)
    assert sums.var() == pytest.approx(40 * 0.25 * 0.75, rel=0.03)


def test_percentile_interval_equals_a_plain_loop_up_to_chance():
    rows = conversations(60)
    draw = rng(11)
    loop = [rows[draw.integers(0, 60, 60)].sum(axis=0) for _ in range(20_000)]
    expected = np.quantile([(s[0] + s[1]) / 2 / s[2] for s in loop], [0.025, 0.975])

    interval = of(cluster_interval(rows, SSA, rng(), resamples=20_000))

    assert (interval.low, interval.high) == pytest.approx(tuple(expected), abs=0.002)


@pytest.mark.parametrize("method", ["percentile", "bca"])
def test_interval_equals_scipys_up_to_chance(method):
    data = rng(5).exponential(size=40)
    expected = stats.bootstrap(
        (data,), np.mean, n_resamples=20_000, method=method, rng=np.random.default_rng(6)
    ).confidence_interval

    rows = np.column_stack([data, np.ones(40)])
    interval = of(cluster_interval(rows, MEAN, rng(), resamples=20_000, method=method))

    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), abs=0.02)


def test_bca_corrects_a_biased_statistic_as_scipy_does():
    data = rng(5).exponential(size=40)
    expected = stats.bootstrap(
        (data,), np.var, n_resamples=20_000, method="BCa", rng=rng(6)
    ).confidence_interval
    rows = np.column_stack([data, data**2, np.ones(40)])

    def variance(sums: np.ndarray) -> np.ndarray:
        return sums[:, 1] / sums[:, 2] - (sums[:, 0] / sums[:, 2]) ** 2

    interval, plain = (
        of(cluster_interval(rows, variance, rng(), resamples=20_000, method=m)) for m in ("bca", "percentile")
    )

    assert (interval.low, interval.high) == pytest.approx((expected.low, expected.high), rel=0.03)
    assert interval.high > 1.04 * plain.high


def test_studentised_interval_of_normal_means_is_students():
    # With few normal clusters of equal size the studentised bootstrap should be near the exact t interval.
    data = np.asarray(stats.norm.ppf((np.arange(12) + 0.5) / 12))
    exact = stats.t.interval(0.95, 11, data.mean(), stats.sem(data))

    rows = np.column_stack([data, np.ones(12)])
    interval = of(cluster_interval(rows, MEAN, rng(), resamples=20_000, method="studentised"))

    assert (interval.low, interval.high) == pytest.approx(tuple(exact), abs=0.08)


def test_studentised_is_wider_than_percentile_with_few_conversations():
    rows = conversations(8)

    wide, narrow = (of(cluster_interval(rows, SSA, rng(), method=m)) for m in ("studentised", "percentile"))

    assert wide.high - wide.low > narrow.high - narrow.low


def test_clustered_labels_get_a_wider_interval_than_independent_ones():
    # 30 conversations of 10 turns, each wholly sensible or wholly not: 30 independent facts, not 300.
    whole = np.column_stack([np.repeat([10.0, 0], [20, 10]), np.zeros(30), np.full(30, 10.0)])
    turns = np.column_stack([np.repeat([1.0, 0], [200, 100]), np.zeros(300), np.ones(300)])

    by_dialogue, by_turn = (of(cluster_interval(rows, SENSIBLENESS, rng())) for rows in (whole, turns))

    ratio = (by_dialogue.high - by_dialogue.low) / (by_turn.high - by_turn.low)
    assert ratio == pytest.approx(np.sqrt(10), rel=0.1)


def test_the_same_seed_gives_the_same_interval():
    rows = conversations(30)

    assert cluster_interval(rows, SSA, rng()) == cluster_interval(rows, SSA, rng())
    assert cluster_interval(rows, SSA, rng()) != cluster_interval(rows, SSA, rng(8))


@pytest.mark.parametrize("clusters", [0, 1])
def test_fewer_than_two_conversations_give_no_interval(clusters):
    answer = cluster_interval(conversations(30)[:clusters], SSA, rng())

    assert isinstance(answer, Undefined)
    assert f"Only {clusters} conversation" in answer.reason


@pytest.mark.parametrize("method", ["percentile", "bca", "studentised"])
def test_conversations_without_variation_give_no_interval(method):
    rows = np.tile([7.0, 7.0, 7.0], (20, 1))

    assert isinstance(cluster_interval(rows, SSA, rng(), method=method), Undefined)


def test_arguments_out_of_range_are_named():
    with pytest.raises(ValueError, match="resamples=50"):
        cluster_interval(conversations(5), SSA, rng(), resamples=50)
    with pytest.raises(ValueError, match="level=95"):
        cluster_interval(conversations(5), SSA, rng(), level=95)
    with pytest.raises(ValueError, match="bca"):
        cluster_interval(conversations(5), lambda sums: sums[:, 0], rng(), method="studentised")


def test_an_interval_can_be_read_in_percent():
    interval = Interval(0.4, 0.6, 0.95, "percentile", 10_000)

    assert interval.scaled(100) == Interval(40.0, 60.0, 0.95, "percentile", 10_000)
    assert 0.5 in interval
    assert 0.61 not in interval
