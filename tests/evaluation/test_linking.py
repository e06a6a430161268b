"""Linking of studies by anchors: by hand, by brute force, and its coverage by simulation."""

import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.linking import Design, coverage
from evaluation.statistics.inference import Sample
from evaluation.statistics.linking import (
    LinkingError,
    Shift,
    known_values,
    linked,
    linked_together,
    rater_drift,
    shift,
    spread_over,
)

NAN = math.nan


def codes(*numbers: int) -> np.ndarray:
    return np.array(numbers, dtype=np.int64)


def test_known_values_are_means_with_their_errors_and_items_of_one_rater_are_left_out() -> None:
    values = np.array([1.0, 3.0, 4.0, 4.0, 5.0, NAN])

    known = known_values(values, codes(7, 7, 9, 9, 11, 11), codes(0, 1, 0, 1, 0, 1))

    assert known.items.tolist() == [7, 9]
    assert known.values.tolist() == [2.0, 4.0]
    assert known.errors.tolist() == [1.0, 0.0]  # √((1 + 1) / 1 / 2) = 1
    assert known.raters.tolist() == [2, 2]


def test_the_shift_of_single_raters_is_the_mean_difference_with_its_error_by_hand() -> None:
    """Each anchor has one rater of its own, so that the error is that of four independent differences."""
    values, known = np.array([2.0, 3.0, 5.0, 6.0]), np.array([1.0, 1.0, 4.0, 6.0])

    found = shift(values, known, codes(0, 1, 2, 3), codes(0, 1, 2, 3))

    # differences 1, 2, 1, 0: mean 1, variance 2/3, error √(2/3/4); t(3) = 3.182
    assert found.value == 1.0
    assert found.error == pytest.approx(math.sqrt(2 / 3 / 4))
    assert found.high - 1 == pytest.approx(3.18245 * math.sqrt(2 / 3 / 4), rel=1e-4)
    assert (found.anchors, found.raters) == (4, 4)


def test_every_anchor_counts_equally_however_many_judged_it() -> None:
    values, known = np.array([1.0, 1, 1, 1, 0, 0]), np.zeros(6)

    found = shift(values, known, codes(0, 0, 0, 0, 1, 2), codes(0, 1, 2, 3, 0, 1))

    assert found.value == pytest.approx(1 / 3)


def test_crossed_raters_add_their_own_variance() -> None:
    """All of the difference is between the raters: as many anchors as one likes do not remove it."""
    item, rater = np.nonzero(np.ones((50, 4)))
    strict = np.array([-1.0, 0, 0, 1])

    found = shift(strict[rater], np.zeros(200), item, rater)

    # the mean of four raters with variance 2/3
    assert found.error == pytest.approx(math.sqrt(2 / 3 / 4), rel=0.01)


def test_what_old_raters_share_is_in_the_linking_error() -> None:
    values, known = np.array([2.0, 3.0, 5.0, 6.0]), np.array([1.0, 1.0, 4.0, 6.0])
    numbers = codes(0, 1, 2, 3)

    found = shift(values, known, numbers, numbers, common_variance=0.5)

    assert found.error == pytest.approx(math.sqrt(2 / 3 / 4 + 0.5))


def test_the_shared_variance_of_old_raters_is_that_of_many_repeated_studies() -> None:
    random = np.random.default_rng(3)
    level, item_rater = random.normal(0, 1, 60), np.nonzero(np.ones((60, 5)))
    item, rater = item_rater
    estimates, means = [], []
    for _ in range(600):
        answers = level[item] + random.normal(0, 0.6, 5)[rater] + random.normal(0, 0.5, 300)
        known = known_values(answers, item, rater)
        estimates.append(known.common_variance)
        means.append(known.values.mean() - level.mean())

    assert np.mean(estimates) == pytest.approx(0.36 / 5, rel=0.1)
    assert np.var(means) == pytest.approx(0.36 / 5, rel=0.15)


def test_a_linked_score_has_the_linking_error() -> None:
    by = Shift(value=-0.5, error=0.3, low=-1.1, high=0.1, anchors=10, raters=10)

    score, certain = linked(3.0, 0.4, by, freedom=8), linked(3.0, 0.0, by)

    assert (score.value, score.error) == (3.5, 0.5)
    # t(8) = 2.30600 of a variance of .16, and .6 / .3 = 2 of one of .09
    assert score.high == pytest.approx(3.5 + (0.16 * 2.30600 + 0.09 * 2) / 0.25 * 0.5, rel=1e-5)
    assert (score.low + score.high) / 2 == 3.5
    # A score without error of its own has the interval of the shift.
    assert certain.high == pytest.approx(3.5 + 0.6)
    # With very many of both it is the normal distribution, as 1.96 times.
    many = linked(3.0, 0.4, replace(by, high=-0.5 + 1.959964 * 0.3))
    assert many.high == pytest.approx(3.5 + 1.959964 * 0.5)


def test_few_old_raters_widen_the_interval_by_their_share_of_the_variance() -> None:
    """Three old raters add a variance of .5 to one of 1/6 of four anchors."""
    values, known = np.array([2.0, 3.0, 5.0, 6.0]), np.array([1.0, 1.0, 4.0, 6.0])
    numbers = codes(0, 1, 2, 3)

    found = shift(values, known, numbers, numbers, common_variance=0.5, common_freedom=2)

    # t(2) = 4.30265, t(3) = 3.18245
    quantile = (0.5 * 4.30265 + 1 / 6 * 3.18245) / (2 / 3)
    assert found.high - 1 == pytest.approx(quantile * math.sqrt(2 / 3), rel=1e-5)
    assert found.error == pytest.approx(math.sqrt(2 / 3))


def test_strictness_that_score_and_shift_share_cancels() -> None:
    """Six raters who differ widely judge 40 items and 20 anchors; only items and anchors are left."""
    random = np.random.default_rng(2)
    strict, level, moved = random.normal(0, 5, 6), random.normal(0, 1, 40), random.normal(0, 1, 20)
    item, rater = (each.ravel() for each in np.indices((40, 6)))
    anchor, by = (each.ravel() for each in np.indices((20, 6)))
    own = Sample(level[item] + strict[rater], item, rater)
    drift = moved[anchor] + strict[by]

    found = linked_together(own, Sample(drift, 40 + anchor, by), scale=(-50, 50))
    apart = shift(drift, np.zeros(120), anchor, by)

    assert found
    assert found.value == pytest.approx(level.mean() - moved.mean())
    # Items and anchors are independent: s² / 40 + s² / 20.
    by_hand = level.var(ddof=1) / 40 + moved.var(ddof=1) / 20
    assert found.error**2 == pytest.approx(by_hand, rel=0.01)
    assert apart.error > 5 * found.error


def test_the_error_of_a_link_is_that_of_many_repeated_studies() -> None:
    """With crossed raters, items and anchors, in which each kind varies."""
    random, estimates, claimed = np.random.default_rng(4), [], []
    item, rater = (each.ravel() for each in np.indices((30, 8)))
    for _ in range(600):
        strict = random.normal(0, 0.5, 8)[rater]
        answers = random.normal(0, 1, 30)[item] + strict + random.normal(0, 0.8, 240)
        is_anchor = item >= 20
        found = linked_together(
            Sample(answers[~is_anchor], item[~is_anchor], rater[~is_anchor]),
            Sample(answers[is_anchor], item[is_anchor], rater[is_anchor]),
            scale=(-50, 50),
            common_variance=0.01,
            common_freedom=5,
        )
        assert found
        estimates.append(found.value)
        claimed.append(found.error**2)

    # The old raters' variance of .01 is added to what varies between studies here.
    assert np.mean(claimed) == pytest.approx(np.var(estimates) + 0.01, rel=0.12)


def test_a_link_of_items_that_one_rater_judged_has_no_common_error() -> None:
    own = Sample(np.array([1.0, 2.0, 4.0]), codes(0, 1, 2), codes(0, 0, 0))
    of_anchors = Sample(np.array([1.0, 2.0, 3.0, 1.0]), codes(3, 4, 5, 6), codes(0, 1, 0, 1))

    assert linked_together(own, of_anchors, scale=(0, 5)) is None


def test_a_rater_who_drifts_is_named_first_with_an_interval() -> None:
    values, known = np.array([2.0, 2, 3, 1, 1, 1, 5]), np.ones(7)

    first, second, third = rater_drift(values, known, codes(0, 0, 0, 1, 1, 1, 2))

    assert (first.rater, first.value, first.low) == (2, 4.0, None)  # one anchor has no interval
    # 1, 1, 2: mean 4/3, standard deviation .577, t(2) = 4.303
    assert second.low == pytest.approx(4 / 3 - 4.30265 * 0.57735 / math.sqrt(3), rel=1e-4)
    assert (third.rater, third.value, third.low, third.high) == (1, 0.0, 0.0, 0.0)


def test_too_few_anchors_or_raters_are_refused_with_the_cure() -> None:
    with pytest.raises(LinkingError, match="2 anchors have answers, and linking needs 3 or more"):
        shift(np.array([1.0, 1, NAN]), np.zeros(3), codes(0, 1, 2), codes(0, 1, 2))
    with pytest.raises(LinkingError, match="One rater judged the anchors"):
        shift(np.ones(3), np.zeros(3), codes(0, 1, 2), codes(0, 0, 0))


@pytest.mark.parametrize(
    "design",
    [
        Design(10, 10, 10),
        Design(20, 30, 30),
        Design(20, 30, 30, of_anchors=0),
        Design(20, 3, 30, share=1.0),
        Design(20, 30, 3, share=1.0),
        Design(20, 5, 5, share=1.0),
    ],
)
def test_intervals_have_the_true_shift_and_the_true_linked_score(design: Design) -> None:
    of_shift, of_score = coverage(design, 400, seed=11)

    assert 0.92 <= of_shift <= 0.985
    assert 0.92 <= of_score <= 0.985


def test_anchors_are_chosen_evenly_over_the_range_and_without_bias() -> None:
    random = np.random.default_rng(5)
    bias, extremes = [], []
    for seed in range(400):
        true = random.normal(0, 1, 60)
        known = true + random.normal(0, 0.7, 60)
        chosen = spread_over(known, 12, seed=seed)
        bias.append(float((known - true)[chosen].mean()))
        extremes.append(float((known - true)[np.argsort(known)[-12:]].mean()))
        ranks = np.sort(np.argsort(np.argsort(known))[chosen])
        assert (np.diff(ranks) >= 4).all()  # one of each five by rank
        assert (np.diff(ranks) <= 6).all()

    assert len({*chosen.tolist()}) == 12
    assert abs(np.mean(bias)) < 3 * 0.7 / math.sqrt(12 * 400)
    assert np.mean(extremes) > 0.4  # the highest known values are too high


@pytest.mark.parametrize("number", [0, 4])
def test_more_anchors_than_items_are_refused(number: int) -> None:
    with pytest.raises(ValueError, match=f"{number} of 3 items"):
        spread_over(np.arange(3.0), number, seed=1)


def test_equal_values_are_all_chosen_equally_often() -> None:
    chosen = np.concatenate([spread_over(np.zeros(6), 2, seed=seed) for seed in range(3000)])

    # 1,000 expected of each item, with a standard deviation of 26 (3,000 draws with a chance of 1/3).
    assert (np.abs(np.bincount(chosen, minlength=6) - 1000) < 4 * 26).all()
