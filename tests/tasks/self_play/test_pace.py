"""How many conversations at once suit which bot; its seconds are told, not waited for."""

import math

import pytest

from turnwise.tasks.self_play.jobs import MOST_AT_ONCE, Pace


@pytest.mark.parametrize(
    ("batch", "seconds", "fewest", "most"),
    [
        (1, 0.01, MOST_AT_ONCE, MOST_AT_ONCE),  # so quick that it does not matter
        (16, 30.0, 16, MOST_AT_ONCE),  # slow, but all of a batch for the price of one
        (1, 3.0, 2, 8),  # one after the other: more at once would only wait longer
        (1, 60.0, 1, 2),
    ],
)
def test_the_pace_grows_to_the_bots_batch_size(batch: int, seconds: float, fewest: int, most: int) -> None:
    pace, paces = Pace(), []

    for _ in range(20):
        pace.adapt(pace.at_once, seconds * math.ceil(pace.at_once / batch), overloaded=False)
        paces.append(pace.at_once)

    assert fewest <= min(paces[10:])
    assert max(paces[10:]) <= most


def test_an_overload_resets_the_pace_to_one() -> None:
    pace = Pace(at_once=16, cost=0.1)

    pace.adapt(16, 1.0, overloaded=True)
    assert pace.at_once == 1
    pace.adapt(1, 30.0, overloaded=False)
    assert pace.at_once == 2


def test_a_turn_measured_at_another_pace_is_ignored() -> None:
    pace = Pace(at_once=8, cost=1.0)

    pace.adapt(4, 100.0, overloaded=False)

    assert pace == Pace(at_once=8, cost=1.0)
