import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evaluation.conversation.figures import best_and_worst, trajectory


def test_a_trajectory_by_hand() -> None:
    # Three conversations of 2, 2 and 1 exchanges; the first has no value at its second one.
    place = np.array([0, 1, 0, 1, 0])
    values = np.array([1.0, np.nan, 2.0, 5.0, 3.0])

    first, second = trajectory(place, values)

    # Mean 2, deviation 1, error 1 / √3; Student's t for 90 % with 2 degrees of freedom is 2.919986.
    assert (first.position, first.mean, first.values, first.going_on) == (1, 2, 3, 3)
    assert (first.low, first.high) == pytest.approx((2 - 2.919986 / 3**0.5, 2 + 2.919986 / 3**0.5))
    assert (second.position, second.mean, second.values, second.going_on) == (2, 5, 1, 2)
    assert second.low is None


def test_only_chosen_conversations_count() -> None:
    found = trajectory(np.array([0, 0, 1]), np.array([1.0, 9.0, 9.0]), np.array([True, False, False]))

    assert [(point.mean, point.going_on) for point in found] == [(1, 1)]
    assert trajectory(np.zeros(0, dtype=np.int64), np.zeros(0)) == []


@given(st.lists(st.one_of(st.integers(1, 7), st.none()), max_size=30), st.integers(1, 12))
def test_best_and_worst_never_overlap_and_are_what_sorting_gives(score: list[int | None], most: int) -> None:
    given_scores = np.array([np.nan if each is None else each for each in score])

    best, worst = best_and_worst(given_scores, most)

    ordered = sorted(each for each in score if each is not None)
    size = min(most, len(ordered) // 2)
    assert not set(best.tolist()) & set(worst.tolist())
    assert sorted(given_scores[worst].tolist()) == ordered[:size]
    assert sorted(given_scores[best].tolist()) == ordered[len(ordered) - size :]
