"""Recording of measurements.

What event loops measure is counted at once. Pages and jobs run on many threads: each of theirs is one append
in memory, and the publishing thread does the rest.
"""

import threading
import time
from collections import deque
from collections.abc import Callable
from functools import cache
from typing import Any

from turnwise.live.metrics import families
from turnwise.live.metrics.families import OUTCOMES, SOCKETS

# More than a process measures between two publications. A process that never publishes keeps no more.
MOST_WAITING = 50_000

# Each with its kind first. Names and numbers only, which garbage collection need not follow: with functions
# in their place, those that wait on a busy server made full collections longer.
_waiting: deque[tuple[Any, ...]] = deque(maxlen=MOST_WAITING)
_before_reading: list[Callable[[], None]] = []
_sockets: dict[str, int] = dict.fromkeys(SOCKETS, 0)
# Two readers at once, such as a timer and the end of a process, would fill in a measurement twice.
_reading = threading.Lock()


class TurnClock:
    """Clock of one turn, which begins with its message."""

    __slots__ = ("_began", "_previous", "_seconds")

    def __init__(self) -> None:
        """Begin now."""
        self._began = self._previous = time.perf_counter()
        self._seconds: list[tuple[str, float]] = []

    def lap(self, stage: str) -> None:
        """End one of `families.STAGES`, which began with the end of the previous one."""
        now = time.perf_counter()
        self._seconds.append((stage, now - self._previous))
        self._previous = now

    def finish(self) -> None:
        """Count the turn, with the time since its beginning as the stage `whole`."""
        add = families.TURN_SECONDS.add
        add("whole", time.perf_counter() - self._began)
        for stage, seconds in self._seconds:
            add(stage, seconds)


def record_reply(bot_id: int, outcome: str, seconds: float | None = None) -> None:
    """Count that a bot was asked, with one of `families.OUTCOMES` and the time of a response."""
    families.REPLIES.add(bot_id, outcome if outcome in OUTCOMES else "other")
    if seconds is not None:
        families.REPLY_SECONDS.add(bot_id, seconds)


def record_first_text(bot_id: int, seconds: float) -> None:
    """Count the time to the first text of a reply that grows."""
    families.FIRST_TEXT_SECONDS.add(bot_id, seconds)


def record_batch(step: str, steps: int, seconds: float, *, failed: bool = False) -> None:
    """Count a batch of the database function `step`."""
    families.BATCH_STEPS.add(step, steps)
    families.BATCH_SECONDS.add(step, seconds)
    if failed:
        families.BATCHES_FAILED.add(step)


def record_page(visitors: str, status: str, seconds: float) -> None:
    """Record a page of one of `families.VISITORS` that ended with one of `families.PAGE_STATUSES`."""
    _waiting.append(("page", visitors, status, seconds))


def record_job(task: str, outcome: str, seconds: float) -> None:
    """Record a background job that ended, with one of `families.JOB_OUTCOMES`."""
    _waiting.append(("job", task, outcome, seconds))


def count_socket(kind: str, change: int) -> None:
    """Add an open socket of one of `families.SOCKETS`, or with -1 remove it. Only event loops call this."""
    _sockets[kind] += change


def before_reading(step: Callable[[], None]) -> None:
    """Have a function set gauges each time before they are read, on the reader's thread."""
    _before_reading.append(step)


def fill_in() -> None:
    """Move what was recorded into the metrics of `families`."""
    with _reading:
        while _waiting:
            kind, *values = _waiting.popleft()
            _OBSERVERS[kind](*values)
        for each, number in list(_sockets.items()):
            families.OPEN_SOCKETS.labels(each).set(number)
        for step in _before_reading:
            step()


_page_seconds = cache(families.PAGE_SECONDS.labels)  # looking one up costs as much as observing it


def _observe_page(visitors: str, status: str, seconds: float) -> None:
    _page_seconds(visitors, status).observe(seconds)


def _observe_job(task: str, outcome: str, seconds: float) -> None:
    families.JOBS.labels(task, outcome).inc()
    families.JOB_SECONDS.labels(task).observe(seconds)


_OBSERVERS: dict[str, Callable[..., None]] = {"page": _observe_page, "job": _observe_job}
