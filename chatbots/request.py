"""A request on its way through a resident bot."""

import time
from collections.abc import Callable, Hashable
from dataclasses import dataclass

from chatbots.base import Context, Response
from chatbots.health import Outcome


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
    """

    context: Context
    since: float
    until: float
    party: Hashable
    deliver: Callable[[Outcome], None]
    taken: bool = False

    def held_for(self, response: Response) -> float:
        """Seconds until the response may be handed over; a tenth of the deadline is left for its way."""
        longest = 0.9 * (self.until - self.since)
        return max(0.0, self.since + min(response.least_seconds, longest) - time.monotonic())
