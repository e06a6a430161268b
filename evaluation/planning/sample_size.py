"""Sample size of a study that is under way: the number of further conversations that would show a difference.

The size of a study to come is that of `power` and `study_plans`.
"""

import math

from evaluation.planning.power import Expected, power_of_test, smallest_sufficient
from evaluation.statistics.differences import Difference
from evaluation.statistics.interval import Undefined


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
