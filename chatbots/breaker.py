"""Leaves a bot alone that keeps failing, and lets one request at a time find out whether it is well again."""

import time
from dataclasses import dataclass

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
