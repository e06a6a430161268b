from types import SimpleNamespace

import pytest

from chatbots.hosting import requests
from chatbots.hosting.requests import FAILURES_TO_OPEN, FIRST_BACKOFF_SECONDS, CircuitBreaker


class Clock:
    """Goes on only when it is told to."""

    now = 1000.0


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(requests, "time", SimpleNamespace(monotonic=lambda: clock.now))
    return clock


@pytest.fixture
def broken(clock: Clock) -> CircuitBreaker:
    found = CircuitBreaker()
    for _ in range(FAILURES_TO_OPEN):
        assert found.seconds_left() == 0
        found.failed()
    return found


def test_an_answer_between_failures_starts_the_count_again() -> None:
    found = CircuitBreaker()
    for _ in range(3 * FAILURES_TO_OPEN):
        for _ in range(FAILURES_TO_OPEN - 1):
            found.failed()
        found.answered()

    assert found.is_closed


def test_after_failures_in_a_row_nothing_goes_through_until_the_backoff_is_over(
    broken: CircuitBreaker, clock: Clock
) -> None:
    assert broken.seconds_left() == FIRST_BACKOFF_SECONDS

    clock.now += FIRST_BACKOFF_SECONDS

    assert broken.seconds_left() == 0


def test_after_the_backoff_one_request_goes_through_and_others_wait_for_its_end(
    broken: CircuitBreaker, clock: Clock
) -> None:
    clock.now += FIRST_BACKOFF_SECONDS
    broken.let_through(deadline=10)

    assert broken.seconds_left() == 10


def test_an_answered_probe_lets_everything_through_again(broken: CircuitBreaker, clock: Clock) -> None:
    clock.now += FIRST_BACKOFF_SECONDS
    broken.let_through(deadline=10)
    broken.answered()

    assert broken.is_closed
    assert broken.seconds_left() == 0


def test_each_failed_probe_doubles_the_backoff_up_to_its_limit(broken: CircuitBreaker) -> None:
    rests = []
    for _ in range(6):
        broken.let_through(deadline=10)
        broken.failed()
        rests.append(broken.backoff)

    assert rests == [10, 20, 40, 80, 120, 120]


def test_calls_running_when_the_breaker_opened_do_not_lengthen_the_backoff(
    broken: CircuitBreaker,
) -> None:
    for _ in range(10):
        broken.failed()

    assert broken.backoff == FIRST_BACKOFF_SECONDS
