"""What a statistic returns beside a number: an interval, or the reason why there is none."""

import math
from dataclasses import dataclass
from typing import Literal, TypeAlias

Method: TypeAlias = Literal["percentile", "bca", "studentised"]


@dataclass(frozen=True, slots=True)
class Undefined:
    """The data cannot tell this number, for a reason in plain words that a report prints."""

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
        resamples: bootstrap resamples that it rests on; 0 if none.
    """

    low: float
    high: float
    level: float
    method: str
    resamples: int = 0

    def scaled(self, factor: float) -> "Interval":
        """The same interval in another unit.

        Args:
            factor: above 0; 100 turns shares into percent.
        """
        return Interval(self.low * factor, self.high * factor, self.level, self.method, self.resamples)

    def __contains__(self, value: float) -> bool:
        return self.low <= value <= self.high


def difference_of(first: float, of_first: Interval, second: float, of_second: Interval) -> Interval:
    """The interval of a difference of two independent values, from their own intervals of the same level.

    Each end is as far from the difference as the distances of the two values from the ends that matter to it,
    taken as the sides of a right angle ("MOVER": Zou & Donner 2008, Statistics in Medicine 27(10)).

    Args:
        first: a value within its interval.
        of_first: that interval.
        second: what is subtracted, within its interval.
        of_second: that interval.
    """
    gap = first - second
    down = math.hypot(first - of_first.low, of_second.high - second)
    up = math.hypot(of_first.high - first, second - of_second.low)
    return Interval(gap - down, gap + up, of_first.level, "from both intervals")
