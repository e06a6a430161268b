"""Sending of values of which only the newest matters, such as a text that grows."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Generic, TypeVar

log = logging.getLogger(__name__)

Value = TypeVar("Value")

# All senders of a process together take turns of one event loop, which hands on every other message, too.
SENT_PER_SECOND = 12_000
SHORTEST_PAUSE, LONGEST_PAUSE = 0.005, 0.05
_at_work = 0


def fair_pause() -> float:
    """Pause of a sender, in seconds, with which all that send now stay below `SENT_PER_SECOND`.

    Alone, a sender passes on each word of a quick model; 200 at once send each at most 60 times a second.
    """
    return min(LONGEST_PAUSE, max(SHORTEST_PAUSE, _at_work / SENT_PER_SECOND))


class NewestSender(Generic[Value]):
    """Sends the newest value: the first immediately, then one at a time with a pause between two.

    A value that arrives while another is being sent replaces the one that waits, so a slow receiver gets
    fewer values, not later ones.

    Args:
        send: sends a value; an error is logged, and the next value is sent all the same.
        pause: returns the seconds between the end of one sending and the next.
    """

    def __init__(
        self, send: Callable[[Value], Awaitable[None]], pause: Callable[[], float] = fair_pause
    ) -> None:
        self._send, self._pause = send, pause
        self._waiting: list[Value] = []
        self._task: asyncio.Task[None] | None = None
        self._is_sending = self._is_closed = False

    def put(self, value: Value) -> None:
        """Send this value next. Called on the event loop; returns at once."""
        if self._is_closed:
            return
        self._waiting = [value]
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._run())

    async def close(self) -> None:
        """Send nothing more. Returns once the value that is being sent has left."""
        self._is_closed = True
        self._waiting = []
        if self._task is None:
            return
        if not self._is_sending:
            self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)

    async def _run(self) -> None:
        global _at_work
        _at_work += 1
        try:
            while self._waiting:
                await self._send_newest()
                if not self._is_closed:
                    await asyncio.sleep(self._pause())
        finally:
            _at_work -= 1

    async def _send_newest(self) -> None:
        self._is_sending = True
        try:
            await self._send(self._waiting.pop())
        except Exception:
            log.warning("A value could not be sent.", exc_info=True)
        finally:
            self._is_sending = False
