"""Requests that were not sent because of a service's rate limit: no failure of the bot."""

from collections.abc import Sequence

import pytest

from chatbots.base import Bot, BotConfiguration, Context
from chatbots.errors import BotBusyError, CircuitOpenError, RateLimitWaitError, ServiceError
from chatbots.hosting.health import State
from chatbots.hosting.resident import Resident
from chatbots.replies import Failure

HELLO = Context.from_texts(["Hello"])


class FailingBot(Bot):
    """Fails in every context with one error."""

    def __init__(self, error: Exception) -> None:
        super().__init__(BotConfiguration())
        self._error = error

    def respond(self, contexts: Sequence[Context]) -> list[Failure]:
        return [Failure(self._error) for _ in contexts]


def asked_often(error: Exception) -> tuple[State, set[type[Exception]]]:
    kinds: set[type[Exception]] = set()
    with Resident("bot", lambda: FailingBot(error)) as resident:
        for _ in range(8):
            try:
                resident.respond_now(HELLO)
            except Exception as raised:
                kinds.add(type(raised))
        return resident.state, kinds


def test_a_wait_that_would_be_too_long_leaves_the_circuit_breaker_closed() -> None:
    state, kinds = asked_often(RateLimitWaitError("the limit is used up for 90 s"))

    assert state is State.READY
    assert kinds == {BotBusyError}


def test_another_error_of_the_service_opens_it() -> None:
    state, kinds = asked_often(ServiceError("status 500"))

    assert state is State.FAILING
    assert CircuitOpenError in kinds


def test_callers_read_why() -> None:
    with Resident("bot", lambda: FailingBot(RateLimitWaitError("used up for 90 s"))) as resident:
        with pytest.raises(BotBusyError, match="busy: used up for 90 s"):
            resident.respond_now(HELLO)
        assert (resident.health().busy, resident.health().failed) == (1, 0)
