"""A request on its way through a resident bot.

The queue of a resident bot: a line for each study, served in turn.

Leaves a bot alone that keeps failing, and lets one request at a time find out whether it is well again.
"""

import time
from collections import OrderedDict, deque
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass
from typing import Generic, TypeVar

from chatbots.base import Context, Response
from chatbots.hosting.health import Outcome


@dataclass(slots=True, eq=False)
class Request:
    """What a caller asked for; times are those of `time.monotonic`.

    Attributes:
        context: what to answer.
        since: when it was asked.
        until: when its caller gives up.
        party: who asks; parties are served in turn.
        deliver: hands the outcome to the caller, who may be gone; must not raise or block.
        taken: whether the bot has begun with it.
        cancelled: whether its caller has left before the deadline.
    """

    context: Context
    since: float
    until: float
    party: Hashable
    deliver: Callable[[Outcome], None]
    taken: bool = False
    cancelled: bool = False

    def is_awaited(self, now: float) -> bool:
        """Whether somebody still waits for the outcome."""
        return not self.cancelled and self.until > now

    def held_for(self, response: Response) -> float:
        """Seconds until the response may be handed over; a tenth of the deadline is left for its way."""
        longest = 0.9 * (self.until - self.since)
        return max(0.0, self.since + min(response.least_seconds, longest) - time.monotonic())


Item = TypeVar("Item")


class Lines(Generic[Item]):
    """Requests of several parties, first come first served within a party, the parties in turn.

    A study with five hundred workers then delays one with three by at most one request each. Not safe for
    threads: its owner locks. Every step takes the same time however many wait, but for `remove`.
    """

    def __init__(self) -> None:
        """Start empty."""
        self._lines: OrderedDict[Hashable, deque[Item]] = OrderedDict()
        self._length = 0

    def __len__(self) -> int:
        """How many wait in all lines."""
        return self._length

    def __iter__(self) -> Iterator[Item]:
        """Everything that waits, line by line."""
        return (item for line in self._lines.values() for item in line)

    def append(self, party: Hashable, item: Item) -> None:
        """Queue `item` at the end of its party's line."""
        self._lines.setdefault(party, deque()).append(item)
        self._length += 1

    def popleft(self) -> Item:
        """Take the first item of the party whose turn it is; the party goes to the end.

        Raises:
            KeyError: nothing waits.
        """
        party, line = self._lines.popitem(last=False)
        item = line.popleft()
        if line:
            self._lines[party] = line
        self._length -= 1
        return item

    def remove(self, party: Hashable, item: Item) -> None:
        """Take `item` out of its party's line.

        Raises:
            KeyError: the party has no line.
            ValueError: it does not wait in it.
        """
        line = self._lines[party]
        line.remove(item)
        if not line:
            del self._lines[party]
        self._length -= 1

    def clear(self) -> None:
        """Forget everything that waits."""
        self._lines.clear()
        self._length = 0


FAILURES_IN_A_ROW = 5
"""So many calls of the bot must fail, with none answered between them, before it is left alone."""

FIRST_REST_SECONDS = 5.0
LONGEST_REST_SECONDS = 120.0
"""A bot rests for the first time this long, after each failed probe twice as long, and never longer."""


@dataclass(slots=True)
class Breaker:
    """Counts failures in a row. Not safe for threads: its owner locks.

    Closed, it lets every request through. After `FAILURES_IN_A_ROW` failures it is open and lets none
    through until the rest is over; then it is half open: one request, the probe, goes through. An answer
    closes it, a failure opens it for twice as long.
    """

    failures: int = 0
    rest: float = 0.0
    rested_at: float = 0.0
    probe_until: float = 0.0

    @property
    def is_closed(self) -> bool:
        """Whether every request goes through."""
        return self.failures < FAILURES_IN_A_ROW

    def seconds_left(self) -> float:
        """How long no request goes through from now; 0 if one would."""
        if self.is_closed:
            return 0.0
        return max(0.0, max(self.rested_at, self.probe_until) - time.monotonic())

    def let_through(self, deadline: float) -> None:
        """A request goes to the bot for `deadline` seconds at most; the probe, if the bot had to rest."""
        if not self.is_closed:
            self.probe_until = time.monotonic() + deadline

    def answered(self) -> None:
        """A call was answered: the bot is well."""
        self.failures, self.rest, self.probe_until = 0, 0.0, 0.0

    def failed(self) -> None:
        """A call failed. Those that were on their way when the bot was first left alone change nothing."""
        self.failures += 1
        if self.failures == FAILURES_IN_A_ROW or self.probe_until:
            self.rest = min(2 * self.rest or FIRST_REST_SECONDS, LONGEST_REST_SECONDS)
            self.rested_at = time.monotonic() + self.rest
            self.probe_until = 0.0
