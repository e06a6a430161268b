"""Probabilities of being drawn for people, and the draw."""

import numpy as np
import pytest

from evaluation.assisted.drawing import draw, probabilities


def test_probabilities_sum_to_the_number_wanted_and_follow_the_uncertainty():
    found = probabilities(np.array([0.0, 0.1, 0.2, 0.5] * 25), 20)

    assert found.sum() == pytest.approx(20)
    assert (np.diff(found[:4]) > 0).all()
    assert found.min() == pytest.approx(0.3 * 20 / 100)


def test_no_probability_exceeds_one():
    found = probabilities(np.array([100.0] + [1.0] * 9), 5)

    assert found[0] == 1
    assert found.sum() == pytest.approx(5)


def test_a_judge_that_is_sure_of_everything_gives_an_even_draw():
    assert probabilities(np.zeros(10), 4) == pytest.approx(np.full(10, 0.4))


def test_all_items_may_be_wanted():
    assert probabilities(np.array([0.0, 1.0, 5.0]), 3) == pytest.approx(np.ones(3))


@pytest.mark.parametrize(
    ("uncertainty", "items", "even"), [([1.0], 0, 0.3), ([1.0], 2, 0.3), ([-1.0], 1, 0.3), ([1.0], 1, 0.0)]
)
def test_bad_arguments_are_refused(uncertainty, items, even):
    with pytest.raises(ValueError, match=r"must be|negative"):
        probabilities(np.array(uncertainty), items, even=even)


def test_each_item_is_drawn_as_often_as_its_probability_says(rng):
    wanted = probabilities(rng.random(30), 8)
    counts = np.zeros(30)
    for _ in range(4_000):
        drawn = draw(wanted, rng)
        assert 7 <= len(drawn) <= 9
        counts[drawn] += 1

    assert counts / 4_000 == pytest.approx(wanted, abs=0.04)
