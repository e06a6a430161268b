"""Samples of the three scores, and bootstrap intervals over conversations and over raters."""

import numpy as np
import pytest

from evaluation.statistics.bootstrap import SENSIBLENESS, cluster_interval
from evaluation.statistics.inference import mean
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import Labels
from evaluation.statistics.ssa import Unit, estimates, rater_sums, score_samples, ssa


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


def test_majority_votes_are_not_resampled_by_rater():
    with pytest.raises(ValueError, match=r"Unit\.LABEL"):
        estimates(crossed(5, 3), np.random.default_rng(9), over="raters", unit=Unit.MAJORITY)


def test_one_conversation_is_named():
    answer = estimates(crossed(1, 3), np.random.default_rng(10))["b"].sensibleness

    assert isinstance(answer, Undefined)
    assert "Only 1 conversation" in answer.reason


@pytest.mark.parametrize("unit", list(Unit))
def test_samples_have_the_scores_of_the_labels(unit):
    two = [crossed(12, 5, seed=seed) for seed in (1, 2)]
    both = Labels(
        np.repeat(["a", "b"], 60),
        *(
            np.concatenate([getattr(each, name) for each in two])
            for name in ("dialogue", "turn", "rater", "sensible", "sensible")
        ),
    )

    found = score_samples(both, unit)

    for bot, score in ssa(both, unit).items():
        for key in ("sensibleness", "specificity", "ssa"):
            assert found[key][bot].value == pytest.approx(getattr(score, key))
    numbers = mean(found["ssa"]["b"]).numbers
    assert (numbers.clusters, numbers.raters) == (12, 1 if unit is Unit.MAJORITY else 5)
