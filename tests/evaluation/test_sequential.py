"""The always-valid interval: its definition at one mean, and its error rate under watching."""

import math

import numpy as np
import pytest

from evaluation.planning.sequential import always_valid_difference, always_valid_mean
from evaluation.statistics.interval import Interval, Undefined


def conversations(studies: int, n: int, *, mean: float = 0.79, seed: int = 1) -> np.ndarray:
    """(studies, n) scores of conversations of 7 turns, clustered within conversation."""
    draw = np.random.default_rng(seed)
    return draw.binomial(7, draw.beta(8 * mean, 8 * (1 - mean), (studies, n))) / 7


def literal_capital(scores: list[float], mean: float, alpha: float) -> list[float]:
    """Hedged capital at one mean, from the definition."""
    up = down = 1.0
    capital, variance, running = [], 0.25, [0.5]
    squares = 0.25
    for t, x in enumerate(scores, start=1):
        stake = math.sqrt(2 * math.log(2 / alpha) / (variance * t * math.log(1 + t)))
        up *= 1 + min(stake, 0.5 / mean) * (x - mean)
        down *= 1 - min(stake, 0.5 / (1 - mean)) * (x - mean)
        capital.append(max(0.5 * up, 0.5 * down))
        running.append(x)
        squares += (x - sum(running) / (t + 1)) ** 2
        variance = squares / (t + 1)
    return capital


def test_a_mean_leaves_the_interval_when_the_capital_against_it_reaches_the_bound():
    scores = conversations(1, 60)[0].tolist()
    sequence = always_valid_mean(scores)

    for mean in (0.5, 0.6, 0.7, 0.9):
        reached = np.maximum.accumulate(literal_capital(scores, mean, 0.05)) >= 20
        inside = (sequence.low < mean) & (mean < sequence.high)
        # The grid widens the interval by at most 0.001, so the moments differ by a step or two at most.
        assert abs(int(reached.sum()) - int((~inside).sum())) <= 3


def test_watching_every_conversation_keeps_the_error_rate():
    studies = conversations(400, 120)

    ever_wrong = sum(
        not ((sequence.low <= 0.79) & (sequence.high >= 0.79)).all()
        for sequence in map(always_valid_mean, studies)
    )

    assert ever_wrong / 400 <= 0.05


def test_an_ordinary_interval_does_not_survive_watching():
    studies = conversations(400, 120)
    n = np.arange(1, 121)
    mean = studies.cumsum(axis=1) / n
    deviation = np.sqrt(np.maximum((studies**2).cumsum(axis=1) / n - mean**2, 1e-9))
    wrong = np.abs(mean - 0.79) > 1.96 * deviation / np.sqrt(n)

    assert wrong[:, 10:].any(axis=1).mean() > 0.15


def test_the_interval_never_widens_and_closes_in():
    sequence = always_valid_mean(conversations(1, 2000)[0])

    assert (np.diff(sequence.low) >= 0).all()
    assert (np.diff(sequence.high) <= 0).all()
    assert sequence.high[-1] - sequence.low[-1] < 0.05
    assert 0.79 in sequence.now()


def test_a_difference_is_found_early_and_its_absence_is_not():
    good, poor = conversations(1, 300, mean=0.9)[0], conversations(1, 200, mean=0.6, seed=2)[0]

    interval = always_valid_difference(good, poor).now()

    assert isinstance(interval, Interval)
    assert 0.3 in interval
    assert interval.low > 0
    assert 0 in always_valid_difference(good, conversations(1, 300, mean=0.9, seed=3)[0]).now()


def test_the_absence_of_conversations_is_named():
    assert isinstance(always_valid_mean([]).now(), Undefined)


def test_a_score_that_changes_while_the_study_runs_is_named():
    answer = always_valid_mean([1.0] * 300 + [0.0] * 300).now()

    assert isinstance(answer, Undefined)
    assert "changed" in answer.reason


def test_scores_outside_the_range_are_refused():
    with pytest.raises(ValueError, match=r"scores\[1\] is 79"):
        always_valid_mean([0.5, 79])
    with pytest.raises(ValueError, match=r"second\[0\] is 62"):
        always_valid_difference([0.5, 0.6], [62, 0.5])
