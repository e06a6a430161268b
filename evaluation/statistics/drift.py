"""Drift detection: has a bot changed since it answered the same contexts before?"""

from collections.abc import Sequence
from dataclasses import dataclass

import scipy

ALARM_P = 0.001
"""A distribution counts as shifted below this p: with two measures a day, one false alarm in 500 days."""

FEWEST = 10
"""Fewest values on either side from which distributions are compared."""


@dataclass(frozen=True, slots=True)
class Change:
    """A context whose answer has changed.

    Attributes:
        number: index of the context, from 0.
        before: the earlier answer.
        now: the present answer.
    """

    number: int
    before: str
    now: str


@dataclass(frozen=True, slots=True)
class Shift:
    """A measure whose distribution has changed.

    Attributes:
        measure: name of the measure.
        before: median of the earlier values.
        now: median of the present values.
        p: two-sided p of the two-sample Kolmogorov-Smirnov test.
    """

    measure: str
    before: float
    now: float
    p: float


def changed_answers(
    before: Sequence[str | None], now: Sequence[str | None], repeatable: Sequence[bool]
) -> list[Change]:
    """List answers that differ although the bot is known to repeat itself on this context.

    Args:
        before: (n,) answers to the contexts; None: no answer.
        now: (n,) answers to the same contexts with the same seeds; None: no answer.
        repeatable: (n,) whether the bot gave the same answer when it was asked twice before.

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
    """Compare a measure of sampled answers with its earlier values.

    The two-sample Kolmogorov-Smirnov test (SciPy, exact for samples of this size) detects changes of location
    and of spread, and assumes nothing about either. Answers count as independent draws. The contexts are the
    same on both sides, which makes the test conservative.

    Args:
        measure: name for the result.
        before: values from earlier days, any unit.
        now: values of today, same unit.

    Returns:
        The shift if p is below `ALARM_P`; otherwise, or with fewer than `FEWEST` values on a side, None.
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
