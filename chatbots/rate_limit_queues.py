"""Requests that wait for the rate limit of a service."""

import itertools
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import time


@dataclass(frozen=True, slots=True)
class RateLimitQueue:
    """The rate limit of a service for one key, and the requests of one bot that wait for it.

    Attributes:
        bucket: name of the limit's token bucket; the same for all bots with this key, and hides the key.
        requests_per_minute: limit of requests; None without one.
        tokens_per_minute: limit of tokens of prompts and replies; None without one.
        waiting: number of requests that wait now.
        waiting_since: when the oldest of them began to wait, in seconds since 1970 (UTC); None if none waits.
        last_sent_at: when the last of them will be sent, likewise.
    """

    bucket: str
    requests_per_minute: int | None = None
    tokens_per_minute: int | None = None
    waiting: int = 0
    waiting_since: float | None = None
    last_sent_at: float | None = None


class WaitingRequests:
    """The waiting requests of one bot. Any thread may read them while the bot adds and removes some.

    Args:
        clock: seconds since 1970 (UTC).
    """

    def __init__(self, clock: Callable[[], float] = time) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._waiting: dict[int, tuple[float, float]] = {}

    @contextmanager
    def entry(self, seconds: float) -> Iterator[None]:
        """Count a request as waiting inside the block.

        Args:
            seconds: planned time until it is sent.
        """
        now = self._clock()
        with self._lock:
            number = next(self._numbers)
            self._waiting[number] = now, now + seconds
        try:
            yield
        finally:
            with self._lock:
                del self._waiting[number]

    def times(self) -> tuple[int, float | None, float | None]:
        """Return how many requests wait, since when the oldest does, and when the last one will be sent."""
        with self._lock:
            waiting = list(self._waiting.values())
        since = min((began for began, _ in waiting), default=None)
        return len(waiting), since, max((sent for _, sent in waiting), default=None)
