"""How many conversations go on at once. Pure."""

import math
from dataclasses import dataclass

MOST_AT_ONCE = 32
# Quicker turns need no thought: a slice ends in time with any number of them under way.
QUICK_SECONDS = 6.0
# Of what a turn cost before: below the first it pays to ask for more at once, above the second for fewer.
CHEAPER, DEARER = 0.8, 1.2


@dataclass(slots=True)
class Pace:
    """Asks for twice as many at once while turns come quickly, or as long as that makes each of them cheaper.

    So a bot that batches is asked for whole batches however slow it is, and one that does not for few.

    Attributes:
        at_once: how many turns to ask for at once.
        cost: seconds for each turn, the least so far.
    """

    at_once: int = 1
    cost: float = math.inf

    def adapt(self, at_once: int, seconds: float, *, overloaded: bool) -> None:
        """Take in how long a turn took.

        Args:
            at_once: how many were asked for at once when it was.
            seconds: until it came.
            overloaded: whether the bot turned some away, or was late.
        """
        cost = seconds / at_once
        if overloaded:
            self.at_once, self.cost = 1, math.inf
        elif at_once != self.at_once:  # asked for at another pace: tells nothing of this one
            return
        elif seconds < QUICK_SECONDS or cost < CHEAPER * self.cost:
            self.at_once, self.cost = min(2 * at_once, MOST_AT_ONCE), min(cost, self.cost)
        elif cost > DEARER * self.cost:
            self.at_once = max(1, at_once // 2)
