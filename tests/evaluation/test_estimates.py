"""Intervals over conversations, raters and both, against a plain loop and planted variance."""

import numpy as np
import pytest

from evaluation.bootstrap import SENSIBLENESS, cluster_interval
from evaluation.estimates import (
    estimates,
    pigeonhole_draws,
    rater_sums,
    two_way_interval,
    two_way_variance,
)
from evaluation.interval import Interval, Undefined
from evaluation.labels import Labels
from evaluation.ssa import Unit, dialogue_sums


def crossed(dialogues: int, raters: int, *, seed: int = 1) -> Labels:
    """Every rater judges the one turn of every dialogue; both dialogues and raters have their own leaning."""
    draw = np.random.default_rng(seed)
    ease, mildness = draw.uniform(-0.2, 0.2, dialogues), draw.uniform(-0.2, 0.2, raters)
    d, r = np.divmod(np.arange(dialogues * raters), raters)
    sensible = draw.random(d.size) < 0.6 + ease[d] + mildness[r]
    return Labels(np.full(d.size, "b"), d, np.zeros(d.size, int), r, sensible, np.zeros(d.size, bool))


def width(interval: Interval | Undefined) -> float:
    assert isinstance(interval, Interval)
    return interval.high - interval.low


def test_estimates_hold_the_interval_of_each_score():
    estimate = estimates(crossed(30, 4), np.random.default_rng(2))["b"]

    assert estimate.score.sensibleness in estimate.sensibleness
    assert isinstance(estimate.specificity, Undefined)  # nothing is ever specific
    assert estimate.score.ssa in estimate.ssa
    assert width(estimate.ssa) == pytest.approx(width(estimate.sensibleness) / 2, rel=0.05)


def test_the_interval_over_raters_resamples_raters():
    labels = crossed(40, 6)

    over_raters = estimates(labels, np.random.default_rng(3), over="raters")["b"].sensibleness

    same = cluster_interval(rater_sums(labels), SENSIBLENESS, np.random.default_rng(3))
    assert over_raters == same


def test_pigeonhole_draws_equal_a_loop_over_both():
    labels = crossed(25, 8)
    draw = np.random.default_rng(4)
    grid = labels.sensible.reshape(25, 8)
    loop = [grid[draw.integers(0, 25, 25)][:, draw.integers(0, 8, 8)].mean() for _ in range(8000)]

    draws = pigeonhole_draws(labels, SENSIBLENESS, np.random.default_rng(5), 8000)

    assert np.quantile(draws, [0.025, 0.5, 0.975]) == pytest.approx(
        np.quantile(loop, [0.025, 0.5, 0.975]), abs=0.012
    )


def test_the_two_way_variance_is_that_of_repeated_studies():
    studies = [crossed(60, 12, seed=seed) for seed in range(400)]

    claimed = np.mean([two_way_variance(labels, SENSIBLENESS) for labels in studies])

    assert claimed == pytest.approx(np.var([labels.sensible.mean() for labels in studies]), rel=0.2)


def test_the_two_way_interval_holds_its_level():
    held = 0
    for seed in range(300):
        draw = np.random.default_rng(seed)
        held += 0.6 in two_way_interval(crossed(60, 12, seed=seed), SENSIBLENESS, draw, resamples=400)

    assert held / 300 == pytest.approx(0.95, abs=0.035)


def test_the_two_way_interval_has_the_width_of_its_variance():
    # One label in five is there, so label noise is large and the bare pigeonhole draws are far too wide.
    full = crossed(80, 10)
    labels = full.where(np.random.default_rng(9).random(len(full)) < 0.2)
    draws = pigeonhole_draws(labels, SENSIBLENESS, np.random.default_rng(5), 4000)

    half = width(two_way_interval(labels, SENSIBLENESS, np.random.default_rng(5), resamples=4000)) / 2

    # Student's t with 9 degrees of freedom
    assert half == pytest.approx(2.262 * np.sqrt(two_way_variance(labels, SENSIBLENESS)), rel=0.05)
    assert draws.std() > 1.3 * np.sqrt(two_way_variance(labels, SENSIBLENESS))


def test_the_two_way_interval_is_wider_than_either_alone():
    labels = crossed(40, 6)
    rng = np.random.default_rng(6)
    one_way = [estimates(labels, rng, over=o)["b"].sensibleness for o in ("conversations", "raters")]

    assert width(estimates(labels, rng, over="both")["b"].sensibleness) > max(map(width, one_way))


def test_conversations_nested_in_raters_are_resampled_by_rater():
    # Six raters, each chatting five times: the rater contains all dependence.
    labels = crossed(30, 1)
    nested = Labels(
        labels.bot, labels.dialogue, labels.turn, labels.dialogue // 5, labels.sensible, labels.specific
    )

    both = two_way_interval(nested, SENSIBLENESS, np.random.default_rng(7))

    assert both == cluster_interval(rater_sums(nested), SENSIBLENESS, np.random.default_rng(7))


def test_raters_nested_in_conversations_are_resampled_by_conversation():
    labels = crossed(10, 3)
    nested = Labels(labels.bot, labels.dialogue, labels.turn, np.arange(30), labels.sensible, labels.specific)

    both = two_way_interval(nested, SENSIBLENESS, np.random.default_rng(7))

    assert both == cluster_interval(dialogue_sums(nested)[0], SENSIBLENESS, np.random.default_rng(7))


def test_one_rater_has_no_two_way_interval():
    answer = estimates(crossed(10, 1), np.random.default_rng(8), over="both")["b"].ssa

    assert isinstance(answer, Undefined)
    assert "Conversations: 10, raters: 1" in answer.reason


def test_majority_votes_are_not_resampled_by_rater():
    with pytest.raises(ValueError, match=r"Unit\.LABEL"):
        estimates(crossed(5, 3), np.random.default_rng(9), over="raters", unit=Unit.MAJORITY)


def test_one_conversation_is_named():
    answer = estimates(crossed(1, 3), np.random.default_rng(10))["b"].sensibleness

    assert isinstance(answer, Undefined)
    assert "Only 1 conversation" in answer.reason
