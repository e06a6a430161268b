"""Counts of drawn clusters against the multinomial distribution."""

import numpy as np
import pytest
from scipy import stats

from evaluation.statistics.resampling import distinct_rows, draw_counts, resampled_sums

RESAMPLES = 40_000
# More kinds of rows than are drawn by NumPy's multinomial: 1 to 12 clusters of each, 234 in all.
COUNTS = np.repeat(np.arange(1, 13), 3)


def rng(seed: int = 4) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("counts", [COUNTS, np.ones(40, int), np.ones(17, int), np.array([3, 500])])
def test_every_resample_draws_as_many_clusters_as_there_are(counts):
    drawn = draw_counts(counts, 5_000, rng())

    assert drawn.shape == (5_000, len(counts))
    assert (drawn.sum(axis=1) == counts.sum()).all()
    assert drawn.min() >= 0


@pytest.mark.parametrize("kind", [0, 20, 35])
def test_how_often_one_kind_is_drawn_is_binomial(kind):
    drawn = draw_counts(COUNTS, RESAMPLES, rng())[:, kind]
    expected = stats.binom(COUNTS.sum(), COUNTS[kind] / COUNTS.sum()).pmf(np.arange(10)) * RESAMPLES
    observed = np.bincount(drawn.astype(int), minlength=10)[:10]

    common = expected > 20
    statistic = ((observed - expected) ** 2 / expected)[common].sum()
    assert statistic < stats.chi2.ppf(0.999, common.sum())


def test_kinds_vary_together_as_multinomial_counts_do():
    shares = COUNTS / COUNTS.sum()
    expected = COUNTS.sum() * (np.diag(shares) - np.outer(shares, shares))

    found = np.cov(draw_counts(COUNTS, RESAMPLES, rng()).T)

    # the standard error of a covariance of 40,000 draws is at most √2 · 12 / 200 = 0.085
    assert found == pytest.approx(expected, abs=0.35)
    assert found[np.triu_indices(36, 1)].mean() == pytest.approx(
        expected[np.triu_indices(36, 1)].mean(), abs=0.01
    )


def test_the_whole_count_of_a_few_resamples_is_right_where_poisson_counts_overshoot():
    # Poisson counts with mean 10 exceed 25 clusters in one resample of 50,000; it is drawn anew.
    drawn = draw_counts(np.ones(25, int), 200_000, rng())

    assert (drawn.sum(axis=1) == 25).all()
    assert drawn.mean(axis=0) == pytest.approx(np.ones(25), abs=0.02)


def test_sums_have_the_mean_and_variance_of_draws_with_replacement():
    rows = np.column_stack([rng(1).exponential(size=300), np.ones(300)])

    sums = resampled_sums(rows, RESAMPLES, rng())

    assert (sums[:, 1] == 300).all()
    assert sums[:, 0].mean() == pytest.approx(rows[:, 0].sum(), rel=0.002)
    assert sums[:, 0].var() == pytest.approx(300 * rows[:, 0].var(), rel=0.03)


def test_distinct_rows_are_counted():
    rows = np.array([[1.0, 2], [3, 4], [1, 2], [1, 2], [3, 4], [1, 4]])

    distinct, counts = distinct_rows(rows)

    assert counts.tolist() == [1, 2, 3]
    assert distinct.tolist() == [[1, 4], [3, 4], [1, 2]]
