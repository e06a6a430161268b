"""Sample size: the number of conversations that a study needs to see a difference.

The unit of observation is the conversation: turns of one conversation are not independent. Sources: Cochran
1977, Sampling Techniques, section 6.4 (variance of a ratio); Kish 1965, Survey Sampling, section 5.4 (design
effect); Cohen 1988, Statistical Power Analysis, chapter 2 (noncentral t).
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy

from evaluation.statistics.differences import Difference
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import FloatArray
from evaluation.statistics.planning import Expected, power_of_test, smallest_sufficient


@dataclass(frozen=True, slots=True)
class Plan:
    """Sample size of a study of two bots.

    Attributes:
        conversations: number with each bot; or contexts that both answer, if a correlation was given.
        power: probability that the test sees the difference, at least the requested power.
        half_width: expected half-width of the interval of each bot's SSA, in [0, 1].
    """

    conversations: int
    power: float
    half_width: float


def conversations_needed(
    difference: float,
    deviation: float,
    *,
    power: float = 0.8,
    level: float = 0.95,
    correlation: float | None = None,
) -> Plan:
    """Number of conversations with each of two bots (or contexts for both) that shows a true SSA difference.

    Assumes a two-sided t test on independent conversations with equal spread in both bots. Without a
    correlation it is a test of two samples. With one it is a test of the differences on contexts that both
    bots answer, whose deviation is deviation · √(2 (1 - correlation)). Several pairs with Holm's correction
    need more: give 1 - 0.05 / pairs for `level`.

    Args:
        difference: true difference to see, in (0, 1]: 0.03 is 3 points.
        deviation: standard deviation of the score between conversations: from a pilot
            (`pilot_deviation`), from published rates (`deviation_from_rates`) or from repeated runs
            (`deviation_from_runs`).
        power: wanted probability to see it, in (0, 1).
        level: nominal coverage of the interval that must exclude zero, in (0, 1).
        correlation: in [-1, 1), of the two bots' scores over the contexts that both answer; None if each bot
            has separate conversations.

    Returns:
        The smallest sufficient plan.

    Raises:
        ValueError: an argument out of range, or more than ten million conversations needed.
    """
    _check(difference, deviation, power, level)
    high = smallest_sufficient(
        lambda n: power_of(n, difference, deviation, level=level, correlation=correlation), power, difference
    )
    half = float(scipy.special.stdtrit(high - 1, (1 + level) / 2)) * deviation / math.sqrt(high)
    return Plan(high, power_of(high, difference, deviation, level=level, correlation=correlation), half)


def power_of(
    conversations: int,
    difference: float,
    deviation: float,
    *,
    level: float = 0.95,
    correlation: float | None = None,
) -> float:
    """Probability that a number of conversations per bot (or contexts for both) shows the difference.

    Args:
        conversations: with each bot, or contexts that both answer; at least 2.
        difference: as a share in (0, 1]; 3 points are 0.03.
        deviation: standard deviation of a conversation's score, as a share, above 0.
        level: 1 minus the error rate of the two-sided test, in (0, 1).
        correlation: correlation of both bots' scores in a context, in [-1, 1); None where they share none.

    Returns:
        A probability in (0, 1), by the noncentral t.

    Raises:
        ValueError: a number out of its range; names it.
    """
    _check(difference, deviation, 0.5, level)
    if conversations < 2:
        raise ValueError(f"conversations={conversations} is not a study; it needs at least 2 with each bot.")
    if correlation is not None and not -1 <= correlation < 1:
        raise ValueError(f"correlation={correlation} must lie in [-1, 1); at 1 the difference has no spread.")
    freedom = (2 if correlation is None else 1) * (conversations - 1)
    error = deviation * math.sqrt(2 * (1 - (correlation or 0.0)) / conversations)
    return power_of_test(difference, Expected(error, freedom), level)


def difference_seen(
    conversations: int,
    deviation: float,
    *,
    power: float = 0.8,
    level: float = 0.95,
    correlation: float | None = None,
) -> float | Undefined:
    """Smallest true difference of two bots that a number of conversations with each would show.

    The inverse of `conversations_needed`, with the same assumptions.

    Args:
        conversations: with each bot; at least 2.
        deviation: standard deviation of the score between conversations, as a share, above 0.
        power: wanted probability to see it, in (0, 1).
        level: nominal coverage of the interval that must exclude zero, in (0, 1).
        correlation: correlation of both bots' scores in a context, in [-1, 1); None where they share none.

    Returns:
        A share in (0, 1], to a relative error of 1/10,000; `Undefined` if not even 1 would be seen.
    """
    if conversations < 2:
        return Undefined(f"{conversations} conversation shows no spread; it needs at least 2 with each bot.")
    if power_of(conversations, 1.0, deviation, level=level, correlation=correlation) < power:
        return Undefined(f"{conversations} conversations with each bot would show no difference of any size.")
    low, high = 0.0, 1.0
    while high - low > 1e-4 * high:
        middle = (low + high) / 2
        seen = power_of(conversations, middle, deviation, level=level, correlation=correlation)
        low, high = (low, middle) if seen >= power else (middle, high)
    return high


def further_needed(difference: Difference, *, power: float = 0.8) -> int | Undefined:
    """Number of further conversations with each system that would show the observed difference.

    Assumes that the difference stays the same, and that further conversations have the same spread, the same
    number for each worker and the same balance of systems. Then the error found, which allows for workers
    with several conversations, shrinks with the root of the study's size, and its degrees of freedom grow
    with it. The difference found in a small study is uncertain: plan for the smallest difference that matters
    instead (`planning.units_needed`). The level is Bonferroni's over the pairs compared, which is more
    cautious than Holm's.

    Args:
        difference: a difference that is not yet clear.
        power: wanted probability to see it, in (0, 1).
    """
    if isinstance(difference.error, Undefined):
        return difference.error
    if isinstance(difference.interval, Undefined) or isinstance(difference.p_holm, Undefined):
        return Undefined("The difference has no interval yet.")
    if difference.p_holm < 1 - difference.interval.level:
        return Undefined("The difference is already clear.")
    first, second, _ = difference.clusters
    level = 1 - (1 - difference.interval.level) / difference.pairs_compared
    error, fewest = difference.error, min(first, second)

    def power_with(conversations: int) -> float:
        growth = conversations / fewest
        expected = Expected(error / math.sqrt(growth), max(1.0, difference.freedom * growth))
        return power_of_test(difference.difference, expected, level)

    try:
        plan = smallest_sufficient(power_with, power, difference.difference)
    except ValueError:
        return Undefined("The two are so close that no study of a sensible size would tell them apart.")
    return max(1, plan - fewest)


def pilot_deviation(rows: FloatArray) -> float | Undefined:
    """Estimate the standard deviation of the SSA between conversations from a pilot.

    Args:
        rows: (k, 3) sums of sensible, specific and turns per conversation of one bot, as `ssa.dialogue_sums`
            gives. Longer conversations weigh more, as they do in the score.

    Returns:
        The deviation such that the score of n conversations has standard error deviation / √n.
    """
    if len(rows) < 2:
        return Undefined(f"A pilot of {len(rows)} conversation(s) shows no spread; it needs at least 2.")
    score, turns = rows[:, :2].sum(axis=1) / 2, rows[:, 2]
    residual = score - score.sum() / turns.sum() * turns
    deviation = float(np.sqrt((residual**2).sum() / (len(rows) - 1)) / turns.mean())
    if deviation == 0:
        return Undefined("All conversations of the pilot have the same score, so it shows no spread.")
    return deviation


def deviation_from_rates(
    sensibleness: float, specificity: float, *, turns: int = 7, intraclass: float = 0.0
) -> float:
    """Compute the standard deviation of the SSA between conversations from published rates.

    A label contributes 0, ½ or 1 (neither, sensible only, both), which fixes its variance. A conversation
    averages `turns` labels, with the design effect 1 + (turns - 1) · intraclass.

    Args:
        sensibleness: share in [0, 1].
        specificity: share in [0, sensibleness].
        turns: labelled turns per conversation; the paper has 7 at least.
        intraclass: correlation of two turns of one conversation, in [0, 1]; the papers do not print it, so
            0 is the optimistic end.

    Raises:
        ValueError: rates or correlation out of range.
    """
    if not 0 <= specificity <= sensibleness <= 1 or not 0 <= intraclass <= 1 or turns < 1:
        raise ValueError(
            f"sensibleness={sensibleness}, specificity={specificity}, intraclass={intraclass}, turns={turns} "
            f"do not fit: shares lie in [0, 1], specificity is at most sensibleness, turns are 1 or more."
        )
    mean = (sensibleness + specificity) / 2
    variance = (sensibleness - specificity) / 4 + specificity - mean**2
    return math.sqrt(variance * (1 + (turns - 1) * intraclass) / turns)


def deviation_from_runs(deviation_of_score: float, conversations: int) -> float:
    """Compute the standard deviation between conversations from that of a score over repeated studies.

    Adiwardana et al. 2020 report 1 % for interactive SSA over 7 studies of about 100 conversations: 0.10.

    Args:
        deviation_of_score: standard deviation of the score of a study, as a share.
        conversations: number in each study.
    """
    return deviation_of_score * math.sqrt(conversations)


def _check(difference: float, deviation: float, power: float, level: float) -> None:
    if not 0 < difference <= 1:
        raise ValueError(f"difference={difference} must lie in (0, 1]; 3 points are 0.03.")
    if not 0 < deviation < math.inf:
        raise ValueError(f"deviation={deviation} must be positive: it is the spread between conversations.")
    for name, value in (("power", power), ("level", level)):
        if not 0 < value < 1:
            raise ValueError(f"{name}={value} must lie between 0 and 1, such as 0.8 or 0.95.")
