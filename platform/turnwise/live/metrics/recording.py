"""Recording of measurements: each is one append in memory; the publishing thread does the rest."""

import threading
import time
from collections import deque
from collections.abc import Callable
from functools import cache, lru_cache
from typing import Any

from turnwise.live.metrics import families
from turnwise.live.metrics.families import OUTCOMES, SOCKETS

# More than a process measures between two publications. A process that never publishes keeps no more.
MOST_WAITING = 50_000

# Each with its kind first. Names and numbers only, which garbage collection need not follow: with functions
# in their place, the tens of thousands that wait on a busy server made full collections longer.
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
        self._seconds: dict[str, float] = {}

    def lap(self, stage: str) -> None:
        """End one of `families.STAGES`, which began with the end of the previous one."""
        now = time.perf_counter()
        self._seconds[stage] = now - self._previous
        self._previous = now

    def finish(self) -> None:
        """Record the turn, with the time since its beginning as the stage `whole`."""
        self._seconds["whole"] = time.perf_counter() - self._began
        _waiting.append(("turn", *self._seconds.items()))


def record_page(visitors: str, status: str, seconds: float) -> None:
    """Record a page of one of `families.VISITORS` that ended with one of `families.PAGE_STATUSES`."""
    _waiting.append(("page", visitors, status, seconds))


def record_reply(bot_id: int, outcome: str, seconds: float | None = None) -> None:
    """Record that a bot was asked, with one of `families.OUTCOMES` and the time of a response."""
    _waiting.append(("reply", bot_id, outcome, seconds))


def record_first_text(bot_id: int, seconds: float) -> None:
    """Record the time to the first text of a reply that grows."""
    _waiting.append(("first_text", bot_id, seconds))


def record_batch(step: str, steps: int, seconds: float, *, failed: bool = False) -> None:
    """Record a batch of the database function `step`."""
    _waiting.append(("batch", step, steps, seconds, failed))


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


# Looking up a labelled metric costs as much as observing it, and every turn needs six.
_page_seconds = cache(families.PAGE_SECONDS.labels)
_turn_seconds = cache(families.TURN_SECONDS.labels)
_reply_seconds = lru_cache(maxsize=256)(families.REPLY_SECONDS.labels)
_replies = lru_cache(maxsize=1024)(families.REPLIES.labels)


def _observe_turn(*stages: tuple[str, float]) -> None:
    for stage, seconds in stages:
        _turn_seconds(stage).observe(seconds)


def _observe_page(visitors: str, status: str, seconds: float) -> None:
    _page_seconds(visitors, status).observe(seconds)


def _observe_reply(bot_id: int, outcome: str, seconds: float | None) -> None:
    _replies(bot_id, outcome if outcome in OUTCOMES else "other").inc()
    if seconds is not None:
        _reply_seconds(bot_id).observe(seconds)


def _observe_first_text(bot_id: int, seconds: float) -> None:
    families.FIRST_TEXT_SECONDS.labels(bot_id).observe(seconds)


def _observe_batch(step: str, steps: int, seconds: float, failed: bool) -> None:
    families.BATCH_STEPS.labels(step).observe(steps)
    families.BATCH_SECONDS.labels(step).observe(seconds)
    if failed:
        families.BATCHES_FAILED.labels(step).inc()


def _observe_job(task: str, outcome: str, seconds: float) -> None:
    families.JOBS.labels(task, outcome).inc()
    families.JOB_SECONDS.labels(task).observe(seconds)


_OBSERVERS: dict[str, Callable[..., None]] = {
    "turn": _observe_turn,
    "page": _observe_page,
    "reply": _observe_reply,
    "first_text": _observe_first_text,
    "batch": _observe_batch,
    "job": _observe_job,
}
