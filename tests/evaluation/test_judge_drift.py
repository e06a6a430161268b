"""Drift of a machine judge: an exact test, checked by hand, by enumeration, and by simulated days."""

from itertools import product
from typing import Any

import numpy as np
import pytest

from evaluation.machine_judges.drift import ALARM_P, Repeats, departure


def test_a_judge_that_never_varied_by_hand() -> None:
    """Of 20 items with 5 equal earlier replies, 4 have changed: (1/6)^4, and 3 are no alarm yet."""
    same, changed = Repeats([(1,)] * 5, (1,)), Repeats([(1,)] * 5, (0,))

    four = departure([changed] * 4 + [same] * 16)
    assert four.p == pytest.approx(6**-4, rel=1e-9)
    assert (four.items, four.agreement, four.expected, four.changed) == (20, 0.8, 1.0, 4)
    assert four.is_alarm
    three = departure([changed] * 3 + [same] * 17)
    assert three.p == pytest.approx(6**-3, rel=1e-9)
    assert not three.is_alarm
    assert departure([same] * 20).p == pytest.approx(1.0)


def test_answers_and_their_agreement_with_the_first_reply() -> None:
    """Two questions: today has 1 of 2 answers of the first reply; earlier replies share 1 of 2 and 2 of 2."""
    found = departure([Repeats([("a", 1), ("a", 2)], ("b", 1)), Repeats([("c", 1), ("c", 1)], ("c", 1))])

    assert found.agreement == 3 / 4
    assert found.expected == 3 / 4
    assert found.changed == 1


def enumerated(repeats: list[Repeats]) -> float:
    """The same probability by going through all positions of today's replies."""

    def agreement(replies: Any, nth: int) -> float:
        others = [reply for k, reply in enumerate(replies) if k != nth]
        return float(np.mean([np.sum(np.equal(replies[nth], other)) for other in others]))

    items: list[Any] = [[*each.earlier, each.now] for each in repeats]
    today = sum(agreement(replies, len(replies) - 1) for replies in items)
    sums = [
        sum(agreement(replies, nth) for replies, nth in zip(items, positions, strict=True))
        for positions in product(*(range(len(replies)) for replies in items))
    ]
    return float(np.mean(np.array(sums) <= today + 1e-9))


def test_the_distribution_is_that_of_all_positions() -> None:
    draw = np.random.default_rng(3)
    for _ in range(10):
        repeats = [
            Repeats([tuple(draw.integers(0, 2, 2)) for _ in range(earlier)], tuple(draw.integers(0, 3, 2)))
            for earlier in (1, 2, 3, 4, 5)
        ]
        assert departure(repeats).p == pytest.approx(enumerated(repeats), abs=1e-12)


@pytest.mark.parametrize(("varies", "found"), [(0.02, 0.9), (0.1, 0.4)])
def test_false_alarms_and_departures_of_simulated_judges(varies: float, found: float) -> None:
    """A share of answers varies by chance. A judge of which 40 % of the answers turn over is found, too."""
    draw = np.random.default_rng(7)

    def replies(n: int, turned: float = 0.0) -> list[list[tuple[bool, ...]]]:
        base = turned > draw.random(20)
        return [[(bool(base[i] ^ (draw.random() < varies)),) for _ in range(n)] for i in range(20)]

    def p_of_a_day(turned: float) -> float:
        days = zip(replies(8), replies(1, turned), strict=True)
        return departure([Repeats(before, now[0]) for before, now in days]).p

    quiet = np.array([p_of_a_day(0.0) for _ in range(500)])
    assert np.mean(quiet < 0.05) <= 0.05 + 3 * np.sqrt(0.05 * 0.95 / 500)
    assert np.mean(quiet < ALARM_P) <= 0.006
    departed = np.array([p_of_a_day(0.4) for _ in range(100)])
    assert np.mean(departed < ALARM_P) > found


def test_incomplete_replies_are_refused() -> None:
    with pytest.raises(ValueError, match="no items"):
        departure([])
    with pytest.raises(ValueError, match="no earlier reply"):
        departure([Repeats([], (1,))])
    with pytest.raises(ValueError, match=r"different numbers of answers, or none: \[1, 2\]"):
        departure([Repeats([(1, 2)], (1,))])
