"""Mean answers against hand calculation and against SSA, of which they are the one-question case."""

import numpy as np
import pytest

from evaluation.estimates import estimates
from evaluation.interval import Undefined
from evaluation.labels import Labels, LabelsError
from evaluation.means import means


def test_means_of_a_hand_worked_table():
    found = means(["b", "a", "b", "b"], ["d1", "d1", "d1", "d2"], [5, 1, 2, 5], np.random.default_rng(1))

    assert list(found) == ["a", "b"]
    assert found["b"].value == pytest.approx(4)
    assert (found["b"].labels, found["b"].dialogues) == (3, 2)
    assert 4 in found["b"].interval
    assert isinstance(found["a"].interval, Undefined)


def test_the_share_of_a_binary_answer_has_the_interval_of_sensibleness():
    draw = np.random.default_rng(2)
    dialogue, answer = np.arange(280) // 7, draw.random(280) < 0.7
    labels = Labels(
        np.full(280, "b"), dialogue, np.arange(280) % 7, np.full(280, "r"), answer, np.zeros(280, bool)
    )

    share = means(labels.bot, dialogue, answer, np.random.default_rng(3), resamples=20_000)["b"]
    sensible = estimates(labels, np.random.default_rng(4), resamples=20_000)["b"].sensibleness

    assert share.value == answer.mean()
    assert (share.interval.low, share.interval.high) == pytest.approx(
        (sensible.low, sensible.high), abs=0.003
    )


def test_no_answers_have_no_means():
    assert means([], [], [], np.random.default_rng(5)) == {}


def test_a_missing_answer_is_named():
    with pytest.raises(LabelsError, match="Row 2, column answer: nan is not a finite number"):
        means(["a", "a"], [1, 2], [1, np.nan], np.random.default_rng(6))
    with pytest.raises(LabelsError, match="2, 2 and 1 rows"):
        means(["a", "a"], [1, 2], [1], np.random.default_rng(6))
