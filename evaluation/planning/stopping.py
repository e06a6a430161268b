"""Stopping rule: a repeated confidence interval of a difference, tuned to a largest number of conversations.

The interval holds at all moments together up to the largest number, so a study may be looked at after every
conversation and stopped as soon as it is decided. At a share f of the largest number it is the estimate plus
or minus c / sqrt(f) standard errors. Here c is the height that a Brownian motion crosses up to time 1 with
probability 1 - level (2.2414 for 95 %): the limit of O'Brien and Fleming's boundary for ever more looks. At
the largest number the interval is only 14 % wider than one that is computed once.

Standard errors of few workers are uncertain, so each normal quantile is replaced by Student's t quantile with
the same tail probability. Sources: O'Brien & Fleming 1979, Biometrics 35(3); Jennison & Turnbull 1989,
Interim analyses: the repeated confidence interval approach, Journal of the Royal Statistical Society B 51(3);
Jennison & Turnbull 2000, Group Sequential Methods, chapters 4 (t quantiles) and 9 (repeated intervals);
Billingsley 1968, Convergence of Probability Measures, section 11 (maximum of the Brownian motion).
"""

import math
from enum import StrEnum
from functools import lru_cache

import scipy

from evaluation.statistics.differences import Difference
from evaluation.statistics.interval import Interval, Undefined

FEWEST_WORKERS = 10
"""Fewest workers of each system with which a rule decides: a standard error of fewer is a guess."""
MOST_TIMES_PLANNED = 1.5
"""Largest number of conversations as a multiple of the planned one: beyond it, intervals get too wide."""
_SERIES = 40


class Outcome(StrEnum):
    """Outcome of a comparison by a stopping rule."""

    DIFFERENT = "different"
    """The interval excludes 0."""
    EQUIVALENT = "equivalent"
    """The interval lies within plus and minus the smallest difference that matters."""
    UNDECIDED = "undecided"
    """Neither holds."""


def crossing_probability(height: float) -> float:
    """Probability that a standard Brownian motion leaves [-height, height] up to time 1.

    Args:
        height: above 0.
    """
    if height < 1e-3:
        return 1.0
    inside = sum(
        (-1) ** k / (2 * k + 1) * math.exp(-((math.pi * (2 * k + 1)) ** 2) / (8 * height**2))
        for k in range(_SERIES)
    )
    if height > 4:  # the series loses its digits where almost nothing crosses; at most two ends are crossed
        return 4 * float(scipy.special.ndtr(-height))
    return float(1 - 4 / math.pi * inside)


@lru_cache(maxsize=64)
def critical_height(level: float) -> float:
    """Height that a Brownian motion crosses up to time 1 with probability 1 - level.

    Args:
        level: in (0, 1).

    Raises:
        ValueError: a level out of range.
    """
    if not 0 < level < 1:
        raise ValueError(f"level={level} is not a coverage between 0 and 1, such as 0.95.")
    return float(scipy.optimize.brentq(lambda c: crossing_probability(c) - (1 - level), 0.1, 12, xtol=1e-12))


def multiplier(share: float, freedom: float, level: float) -> float:
    """Number of standard errors between the estimate and either end of the interval.

    Args:
        share: share of the largest number of conversations, above 0; more than 1 counts as 1.
        freedom: degrees of freedom of the standard error, above 0.
        level: probability that the intervals at all moments together hold the truth, in (0, 1).

    Returns:
        A number above 0; infinite while conversations are too few for an interval.
    """
    if not share > 0:
        raise ValueError(f"share={share} must be above 0: without conversations there is no interval.")
    tail = float(scipy.special.ndtr(-critical_height(level) / math.sqrt(min(share, 1.0))))
    if tail < 1e-300:
        return math.inf
    return -float(scipy.special.stdtrit(freedom, tail))


def repeated_interval(difference: Difference, share: float, level: float) -> Interval | Undefined:
    """Compute the interval of a difference that holds at every look.

    Args:
        difference: the difference with its standard error, from `differences`.
        share: share of the largest number of conversations that has come, above 0.
        level: probability that the intervals at all moments together hold the truth.

    Returns:
        The interval, at most as wide as the scale allows; `Undefined` without a standard error, and with
        fewer than `FEWEST_WORKERS` workers of either system.
    """
    if isinstance(difference.error, Undefined):
        return difference.error
    fewest = min(difference.raters[:2])
    if fewest < FEWEST_WORKERS:
        return Undefined(
            f"{fewest} workers with one of the bots so far; the interval begins with {FEWEST_WORKERS}."
        )
    times, width = multiplier(share, difference.freedom, level), difference.scale[1] - difference.scale[0]
    half = times * difference.error
    low, high = difference.difference - half, difference.difference + half
    return Interval(max(low, -width), min(high, width), level, "repeated")


def decision(interval: Interval | Undefined, margin: float, *, equivalence: bool) -> Outcome:
    """Decide a comparison by its interval.

    Args:
        interval: an interval that holds at every look.
        margin: smallest difference that matters, above 0, in the unit of the interval.
        equivalence: true if the rule also stops when no difference that matters is left.
    """
    if isinstance(interval, Undefined):
        return Outcome.UNDECIDED
    if equivalence and -margin < interval.low and interval.high < margin:
        return Outcome.EQUIVALENT
    if interval.low > 0 or interval.high < 0:
        return Outcome.DIFFERENT
    return Outcome.UNDECIDED


def share_needed(distance: float, error: float, share: float, level: float) -> float:
    """Share of the largest number at which the half length of the interval falls to a distance.

    Large samples are assumed: the standard error shrinks with the root of the number of conversations.

    Args:
        distance: half length that is wanted, above 0; 0 and less are never reached.
        error: standard error now, above 0.
        share: share of the largest number now, above 0.
        level: as in `multiplier`.

    Returns:
        The share; above 1 if the largest number does not suffice.
    """
    if distance <= 0:
        return math.inf
    # At a share g the half length is c / sqrt(g) * error * sqrt(share / g): c * error * sqrt(share) / g.
    return critical_height(level) * error * math.sqrt(share) / distance
