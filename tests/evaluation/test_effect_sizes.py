"""Odds ratios and Cohen's d with intervals: statsmodels, the noncentral t, one decision, dependence."""

import numpy as np
import pytest
from scipy import stats
from scipy.optimize import brentq
from statsmodels.stats.contingency_tables import Table2x2

from evaluation.statistics.differences import Difference, difference
from evaluation.statistics.effect_sizes import EffectSize
from evaluation.statistics.inference import Sample
from evaluation.statistics.interval import Interval, Undefined


def own(values, start: int) -> Sample:
    """One label per conversation, of workers with one each."""
    codes = start + np.arange(len(values))
    return Sample(np.asarray(values, dtype=float), codes, codes)


def sizes(found: Difference) -> tuple[tuple[float, Interval], tuple[float, Interval]]:
    each = []
    for size in (found.odds_ratio, found.effect):
        assert isinstance(size, EffectSize)
        assert isinstance(size.interval, Interval)
        each.append((size.value, size.interval))
    return each[0], each[1]


def test_the_error_of_independent_labels_is_woolfs_as_in_statsmodels() -> None:
    # Woolf's variance is 1/a + 1/b + 1/c + 1/d; ours has n - 1 in place of n, and Student's t.
    first, second = (30, 10), (20, 25)
    found = difference(own([1] * 30 + [0] * 10, 0), own([1] * 20 + [0] * 25, 1000))

    (ratio, interval), _ = sizes(found)

    theirs = Table2x2([first, second])
    assert ratio == pytest.approx(theirs.oddsratio)
    expected = sum((1 / yes + 1 / no) * (yes + no) / (yes + no - 1) for yes, no in (first, second))
    quantile = np.log(interval.high / ratio) / np.sqrt(expected)
    assert np.log(interval.high / ratio) == pytest.approx(np.log(ratio / interval.low))
    assert stats.t.ppf(0.975, 83) < quantile < stats.t.ppf(0.975, 39)
    low, high = theirs.oddsratio_confint()
    assert (interval.low, interval.high) == pytest.approx((low, high), rel=0.03)


def of_noncentral_t(d: float, k: tuple[int, int]) -> tuple[float, float]:
    """The exact interval of Cohen's d for normal scores (Steiger & Fouladi 1997)."""
    root, freedom = np.sqrt(k[0] * k[1] / (k[0] + k[1])), k[0] + k[1] - 2

    def end(share: float) -> float:
        at = d * root
        return brentq(lambda c: stats.nct.cdf(at, freedom, c) - share, at - 5, at + 5) / root

    return end(0.975), end(0.025)


@pytest.mark.parametrize(("k", "apart"), [((20, 20), 0.0), ((20, 20), 0.8), ((60, 60), 0.5), ((60, 60), 1.5)])
def test_cohens_d_of_normal_scores_has_the_interval_of_the_noncentral_t(
    k: tuple[int, int], apart: float
) -> None:
    # Evenly spread quantiles of a normal distribution, so that the sample's kurtosis is close to its own.
    first, second = (stats.norm.ppf((np.arange(n) + 0.5) / n) for n in k)
    found = difference(own(first + apart, 0), own(second, 1000), low=-9, high=9)

    assert isinstance(found.effect, EffectSize)
    assert isinstance(found.effect.interval, Interval)
    ends = found.effect.interval.low, found.effect.interval.high
    assert ends == pytest.approx(of_noncentral_t(found.effect.value, k), abs=0.04)


@pytest.mark.parametrize("seed", range(30))
def test_cohens_d_excludes_zero_exactly_if_the_difference_does(seed: int) -> None:
    rng = np.random.default_rng(seed)
    apart = difference(own(rng.random(12) + 0.3, 0), own(rng.random(15) ** 2, 100), low=0, high=2)
    close = difference(own(rng.random(9) + 0.2, 0), own(rng.random(9), 100), low=0, high=2)

    for found in (apart, close):
        assert isinstance(found.effect, EffectSize)
        assert isinstance(found.effect.interval, Interval)
        assert isinstance(found.interval, Interval)
        assert (0 in found.effect.interval) is (0 in found.interval)


def test_labels_of_one_conversation_do_not_count_as_independent() -> None:
    # Each conversation has ten equal labels, so ten times the labels tell nothing more.
    rng = np.random.default_rng(3)
    answers = [(rng.random(25) < share).astype(float) for share in (0.8, 0.5)]
    once = sizes(difference(own(answers[0], 0), own(answers[1], 100)))
    codes = [start + np.repeat(np.arange(25), 10) for start in (0, 100)]
    samples = [Sample(np.repeat(a, 10), c, c) for a, c in zip(answers, codes, strict=True)]

    ten_times = sizes(difference(samples[0], samples[1]))

    for few, many in zip(once, ten_times, strict=True):
        assert many[0] == pytest.approx(few[0])
        assert (many[1].low, many[1].high) == pytest.approx((few[1].low, few[1].high), rel=1e-9)


def test_common_contexts_are_taken_out_of_the_error_of_the_odds_ratio() -> None:
    # By hand: the error of the mean of the contexts' influences on the log odds ratio.
    both = np.array([[1, 1]] * 50 + [[1, 0]] * 15 + [[0, 1]] * 5 + [[0, 0]] * 30, dtype=float)
    contexts = np.arange(len(both))

    found = difference(Sample(both[:, 0], contexts), Sample(both[:, 1], contexts))

    (ratio, interval), _ = sizes(found)
    first, second = both.mean(axis=0)
    influence = (both[:, 0] - first) / (first * (1 - first)) - (both[:, 1] - second) / (second * (1 - second))
    error = influence.std(ddof=1) / np.sqrt(len(both))
    assert np.log(interval.high / ratio) == pytest.approx(stats.t.ppf(0.975, 99) * error, rel=1e-3)


def test_without_an_error_there_is_a_size_and_no_interval() -> None:
    found = difference(Sample(np.array([1.0, 0.0]), np.array([0, 0])), own([1, 0], 10))

    assert isinstance(found.odds_ratio, EffectSize)
    assert isinstance(found.odds_ratio.interval, Undefined)
    assert isinstance(found.effect, Undefined)


def test_a_bot_that_is_always_sensible_has_no_finite_odds() -> None:
    found = difference(own([1, 1, 1], 0), own([1, 0, 1], 10))

    assert isinstance(found.odds_ratio, Undefined)
