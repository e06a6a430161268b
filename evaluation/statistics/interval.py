"""Results of statistics other than numbers: an interval, or the reason why there is none."""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

Method: TypeAlias = Literal["percentile", "bca", "studentised"]


@dataclass(frozen=True, slots=True)
class Undefined:
    """A number that the data do not define, with the reason in a sentence for the report."""

    reason: str

    def __str__(self) -> str:
        return f"cannot be told: {self.reason}"


@dataclass(frozen=True, slots=True)
class Interval:
    """A confidence interval.

    Attributes:
        low: lower end, in the unit of the statistic.
        high: upper end.
        level: nominal coverage, for instance 0.95.
        method: how it was computed, for instance "percentile" or "fisher".
        resamples: number of bootstrap resamples; 0 without a bootstrap.
    """

    low: float
    high: float
    level: float
    method: str
    resamples: int = 0

    def scaled(self, factor: float) -> "Interval":
        """Convert the interval to another unit.

        Args:
            factor: above 0; 100 turns shares into percent.
        """
        return Interval(self.low * factor, self.high * factor, self.level, self.method, self.resamples)

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def difference_of(first: float, of_first: Interval, second: float, of_second: Interval) -> Interval:
    """Interval of a difference of two independent values, from the intervals of both at the same level.

    The distance of each end from the difference is the root of the squared distances of the two values from
    their relevant ends ("MOVER": Zou & Donner 2008, Statistics in Medicine 27(10)).

    Args:
        first: a value within its interval.
        of_first: the interval of `first`.
        second: the value to subtract, within its interval.
        of_second: the interval of `second`.
    """
    gap = first - second
    down = math.hypot(first - of_first.low, of_second.high - second)
    up = math.hypot(of_first.high - first, second - of_second.low)
    return Interval(gap - down, gap + up, of_first.level, "from both intervals")
