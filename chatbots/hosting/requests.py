"""Requests of a resident bot, their queue, and the bot's circuit breaker.

The queue has a line for each tenant, such as a study, and serves the tenants in turn. The circuit breaker
stops requests to a bot that keeps failing and lets one probe through after a backoff.
"""

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from chatbots.base import Context
from chatbots.hosting.health import Outcome
from chatbots.replies import Response

MOST_DEADLINES = 6
"""A reply that keeps growing has this many times the deadline of one that shows nothing."""


@dataclass(slots=True, eq=False)
class Request:
    """A caller's request; times are those of `time.monotonic`.

    Attributes:
        context: the dialogue to answer.
        since: time of the request.
        until: its deadline.
        tenant: the study or other caller on whose behalf the bot is asked; tenants are served in turn.
        deliver: passes the outcome to the caller, who may be gone; must not raise or block.
        taken: True once the bot has started.
        cancelled: True if the caller has left before the deadline.
        on_text: passes a text so far to a caller who shows the reply as it grows; must not raise or block.
            None: the caller waits for the whole reply.
        first_until: the deadline before growth renewed it; None: it was not renewed.
    """

    context: Context
    since: float
    until: float
    tenant: Hashable
    deliver: Callable[[Outcome], None]
    taken: bool = False
    cancelled: bool = False
    on_text: Callable[[str], None] | None = None
    first_until: float | None = None

    def extend(self, now: float) -> None:
        """Renew the deadline of a reply that grows, up to `MOST_DEADLINES` from the request."""
        deadline = self.until - self.since if self.first_until is None else self.first_until - self.since
        self.first_until = self.since + deadline
        self.until = max(self.until, min(now + deadline, self.since + MOST_DEADLINES * deadline))

    def is_awaited(self, now: float) -> bool:
        """True if the caller still waits for the outcome."""
        return not self.cancelled and self.until > now

    def held_for(self, response: Response) -> float:
        """Seconds until the response may be delivered; a tenth of the deadline is left for delivery."""
        longest = 0.9 * (self.until - self.since)
        return max(0.0, self.since + min(response.least_seconds, longest) - time.monotonic())


Item = TypeVar("Item")


class TenantQueue(Generic[Item]):
    """Requests by tenant: first come, first served within a tenant; tenants take turns.

    A study with five hundred workers thus delays one with three by at most one request each. Not thread-safe:
    its owner locks. All operations take constant time except `remove`.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._lines: OrderedDict[Hashable, deque[Item]] = OrderedDict()
        self._length = 0

    def __len__(self) -> int:
        """Number of waiting requests."""
        return self._length

    def __iter__(self) -> Iterator[Item]:
        """Iterate over all waiting requests, line by line."""
        return (item for line in self._lines.values() for item in line)

    def append(self, tenant: Hashable, item: Item) -> None:
        """Add `item` to the end of its tenant's line."""
        self._lines.setdefault(tenant, deque()).append(item)
        self._length += 1

    def popleft(self) -> Item:
        """Take the first item of the next tenant, which then goes to the end.

        Raises:
            KeyError: nothing waits.
        """
        tenant, line = self._lines.popitem(last=False)
        item = line.popleft()
        if line:
            self._lines[tenant] = line
        self._length -= 1
        return item

    def remove(self, tenant: Hashable, item: Item) -> None:
        """Remove `item` from its tenant's line.

        Raises:
            KeyError: the tenant has no line.
            ValueError: the item is not in it.
        """
        line = self._lines[tenant]
        line.remove(item)
        if not line:
            del self._lines[tenant]
        self._length -= 1

    def clear(self) -> None:
        """Remove all items."""
        self._lines.clear()
        self._length = 0


FAILURES_TO_OPEN = 5
"""Failed calls in a row, with no response between them, that open the circuit breaker."""

FIRST_BACKOFF_SECONDS = 5.0
MAX_BACKOFF_SECONDS = 120.0
"""The backoff doubles after each failed probe, from the first to this maximum."""


@dataclass(slots=True)
class CircuitBreaker:
    """Circuit breaker that counts failures in a row. Not thread-safe: its owner locks.

    A closed breaker lets every request through. After `FAILURES_TO_OPEN` failures it opens and stops requests
    during the backoff; then it is half open and lets one request through, the probe. A response closes it, a
    failure opens it for twice as long.
    """

    failures: int = 0
    backoff: float = 0.0
    open_until: float = 0.0
    probe_until: float = 0.0

    @property
    def is_closed(self) -> bool:
        """True if every request goes through."""
        return self.failures < FAILURES_TO_OPEN

    def seconds_left(self) -> float:
        """Seconds until a request may go through; 0 if one may now."""
        if self.is_closed:
            return 0.0
        return max(0.0, max(self.open_until, self.probe_until) - time.monotonic())

    def let_through(self, deadline: float) -> None:
        """Record that a request, the probe if the breaker is open, runs for up to `deadline` seconds."""
        if not self.is_closed:
            self.probe_until = time.monotonic() + deadline

    def answered(self) -> None:
        """Record a response: close the breaker."""
        self.failures, self.backoff, self.probe_until = 0, 0.0, 0.0

    def failed(self) -> None:
        """Record a failed call. Calls that were running when the breaker opened change nothing."""
        self.failures += 1
        if self.failures == FAILURES_TO_OPEN or self.probe_until:
            self.backoff = min(2 * self.backoff or FIRST_BACKOFF_SECONDS, MAX_BACKOFF_SECONDS)
            self.open_until = time.monotonic() + self.backoff
            self.probe_until = 0.0
