"""Callers of a resident bot on an event loop: their deadlines, and the texts that they are shown."""

import asyncio
import math
import time
from collections.abc import Callable
from contextlib import suppress

from chatbots.hosting.growth import TextFeed
from chatbots.hosting.health import Outcome
from chatbots.hosting.requests import Request
from chatbots.replies import Response


class WaitingCaller:
    """A caller on an event loop, from its request to the outcome.

    Args:
        name: of the bot, for messages.
        on_seconds: called with the seconds that the response took, on the bot's thread; inf without one.
        on_text: called with texts so far; None: the caller waits for the whole reply.
    """

    def __init__(
        self, name: str, on_seconds: Callable[[float], None], on_text: Callable[[str], None] | None
    ) -> None:
        self._name, self._on_seconds, self._on_text = name, on_seconds, on_text
        self._loop = asyncio.get_running_loop()
        self._answer: asyncio.Future[Outcome] = self._loop.create_future()
        self._since, self._is_answered = time.monotonic(), False
        self.feed = TextFeed(self._loop, self._grow).put if on_text else None

    def deliver(self, outcome: Outcome) -> None:
        """Receive the outcome, on the bot's thread."""
        self._on_seconds(_seconds_of(outcome, self._since))
        self._is_answered = True
        with suppress(RuntimeError):  # the loop is closed: no caller waits
            self._loop.call_soon_threadsafe(self._settle, outcome)

    async def outcome(
        self, request: Request, late: Callable[[Request], Outcome], timeout: float | None
    ) -> Outcome:
        """Wait for the outcome until the deadline, or until `timeout`, which raises `TimeoutError`."""
        self._request, self._late = request, late
        if timeout is None:
            self._timer = self._loop.call_later(request.until - request.since, self._on_deadline)
        else:
            self._timer = self._loop.call_later(timeout, self._on_timeout)
        try:
            return await self._answer
        finally:
            self._timer.cancel()
            # The request refers to this caller: without these, only a garbage collection frees the two.
            del self._timer, self._request, self._late

    def _settle(self, outcome: Outcome) -> None:
        if not self._answer.done():
            self._answer.set_result(outcome)

    def _on_timeout(self) -> None:
        if not self._is_answered and not self._answer.done():
            self._on_seconds(math.inf)
            self._answer.set_exception(TimeoutError(f"Bot '{self._name}' did not answer at once."))

    def _on_deadline(self) -> None:
        if (left := self._request.until - time.monotonic()) > 0:  # growth has renewed it
            self._timer = self._loop.call_later(left, self._on_deadline)
        else:
            self._settle(self._late(self._request))

    def _grow(self, text: str) -> None:
        if not self._answer.done():
            self._request.extend(time.monotonic())
            if self._on_text:
                self._on_text(text)


def _seconds_of(outcome: Outcome, since: float) -> float:
    """Seconds that the caller waits for a response, delay included; inf for an error."""
    if not isinstance(outcome, Response):
        return math.inf
    return max(time.monotonic() - since, outcome.least_seconds)
