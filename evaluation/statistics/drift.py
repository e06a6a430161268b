"""Has a bot changed since the same contexts were put to it before?"""

from collections.abc import Sequence
from dataclasses import dataclass

import scipy

ALARM_P = 0.001
"""A distribution counts as shifted below this p: with two measures a day, one false alarm in 500 days."""

FEWEST = 10
"""Fewer values than this on either side tell nothing of a distribution."""


@dataclass(frozen=True, slots=True)
class Change:
    """A context whose answer is another one than before.

    Attributes:
        number: which context, from 0.
        before: the answer that it got.
        now: the answer that it gets.
    """

    number: int
    before: str
    now: str


@dataclass(frozen=True, slots=True)
class Shift:
    """A measure whose values have another distribution than before.

    Attributes:
        measure: its name.
        before: median of the values before.
        now: median of the values now.
        p: two-sided p of the two-sample Kolmogorov-Smirnov test.
    """

    measure: str
    before: float
    now: float
    p: float


def changed_answers(
    before: Sequence[str | None], now: Sequence[str | None], repeatable: Sequence[bool]
) -> list[Change]:
    """Answers that differ where the bot is known to repeat itself.

    Args:
        before: (n,) answers to the contexts; None where there was none.
        now: (n,) answers to the same contexts with the same seeds; None where there was none.
        repeatable: (n,) whether the bot gave the same answer twice when it was asked twice before.

    Returns:
        One entry per context that is repeatable, answered both times, and answered differently.

    Raises:
        ValueError: the three have different lengths.
    """
    return [
        Change(number, old, new)
        for number, (old, new, same) in enumerate(zip(before, now, repeatable, strict=True))
        if same and old is not None and new is not None and old != new
    ]


def shift(measure: str, before: Sequence[float], now: Sequence[float]) -> Shift | None:
    """Compare a measure of sampled answers with its values before.

    The two-sample Kolmogorov-Smirnov test (SciPy, exact for samples of this size) sees a moved location as
    well as another spread, and needs no assumption about either. Answers count as independent draws: the
    contexts are the same on both sides, which makes the test err on the cautious side.

    Args:
        measure: name for the result.
        before: values from earlier days, any unit.
        now: values of today, same unit.

    Returns:
        The shift if its p is below `ALARM_P`; None if not, or if either side has fewer than `FEWEST` values.
    """
    if min(len(before), len(now)) < FEWEST:
        return None
    p = float(scipy.stats.ks_2samp(before, now).pvalue)
    if p >= ALARM_P:
        return None
    return Shift(measure, _median(before), _median(now), p)


def _median(values: Sequence[float]) -> float:
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2
