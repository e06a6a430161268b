"""Intervals of assisted estimates, and of people alone beside them, for few labels and few workers.

A share p with variance V counts like n = p (1 - p) / V independent labels. Wilson's interval of so many holds
all shares whose own error, not the estimate's, reaches the estimate (Wilson 1927, Journal of the American
Statistical Association 22(158); with the effective number of labels, Korn & Graubard 1998, Survey Methodology
24(2)). With few labels it is less cautious than an interval on the logit, whose error is large whenever the
estimate is far from 1/2; with many, both are the same. Log-odds are mapped to shares and back.
"""

import math
from collections.abc import Iterable
from enum import StrEnum

import scipy

from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.inference import t, two_sided_p
from evaluation.statistics.interval import Interval
from evaluation.statistics.variance import Numbers, Spread, combined

_LARGEST_FREEDOM = 1e6


class IntervalRule(StrEnum):
    """A rule for the intervals of people alone and assisted; always the same for both."""

    SCORE = "score"
    """Score intervals; each of several sources of error has its own quantile of Student's t."""
    WALD = "wald"
    """Student's t on the logit or the log-odds, as in the other tables of a report. Version 1.0.0 had it."""


def score_interval(
    value: float, spread: Spread, low: float | None, high: float | None, level: float
) -> Interval:
    """Compute Wilson's interval of a mean on a scale.

    Args:
        value: the estimate, between the ends of the scale and equal to neither.
        spread: its variance and degrees of freedom.
        low: the lower end of the scale; None for both ends if it has none: plain Student's t.
        high: the upper end.
        level: nominal coverage, in (0, 1).

    Returns:
        An interval within the scale; `method` is "score t", or "t" without a scale.
    """
    quantile = t(spread.freedom, level)
    if low is None or high is None:
        half = quantile * math.sqrt(spread.variance)
        return Interval(value - half, value + half, level, "t")
    width = high - low
    first, last = wilson((value - low) / width, spread.variance / width**2, quantile)
    return Interval(low + width * first, low + width * last, level, "score t")


def score_interval_of_log_odds(
    value: float, spread: Spread, level: float, *, factor: float = 1.0
) -> Interval:
    """Compute Wilson's interval of the share that belongs to log-odds, mapped back to log-odds.

    Args:
        value: the estimate; `factor` times it is a log-odds.
        spread: its variance and degrees of freedom.
        level: nominal coverage, in (0, 1).
        factor: above 0. A Bradley-Terry strength among b systems, times b / (b - 1), is the mean log-odds
            against the others.
    """
    shares = float(scipy.special.expit(factor * value)), float(scipy.special.expit(-factor * value))
    variance = spread.variance * (factor * shares[0] * shares[1]) ** 2
    quantile = t(spread.freedom, level)
    ends = (wilson(share, variance, quantile)[0] for share in shares)
    first, last = (math.log(end / (1 - end)) / factor for end in ends)
    return Interval(first, -last, level, "score t")


def score_p_of_log_odds(value: float, spread: Spread) -> float:
    """Two-sided p-value of "the log-odds are 0"; below 0.05 exactly if the 95 % score interval excludes 0."""
    share = float(scipy.special.expit(value))
    error = math.sqrt(spread.variance * share * (1 - share)) / 2  # at a share of 1/2
    return two_sided_p(share - 0.5, error, spread.freedom)


def wilson(share: float, variance: float, quantile: float) -> tuple[float, float]:
    """Ends of Wilson's interval with the effective number of labels.

    Args:
        share: in (0, 1).
        variance: its variance; `share` (1 - `share`) / `variance` is the effective number of labels.
        quantile: of the error in standard errors, above 0.

    Returns:
        Ends in [0, 1], equal to the share if the variance is 0.
    """
    labels = share * (1 - share) / variance if variance else math.inf
    relative = quantile**2 / labels
    root = math.sqrt(relative * share * (1 - share) + relative**2 / 4)
    # Products of the roots of the quadratic equation, since differences lose digits.
    low, high = (each**2 / (each + relative / 2 + root) for each in (share, 1 - share))
    return low, 1 - high


def together(terms: Iterable[tuple[float, float]]) -> tuple[float, float]:
    """Add variances, each with the quantile of its own degrees of freedom.

    The half length of the interval is the root of the sum of squared half lengths that each term alone would
    give (Howe 1974, Journal of the American Statistical Association 69(347); "MOVER": Zou & Donner 2008). A
    variance between two workers has a quantile of 12.7, which must not lengthen the precisely known error of
    a judge's 400 labels, and these must not lend degrees of freedom to it.

    Args:
        terms: variance and degrees of freedom of each, at least one; independent of each other.

    Returns:
        The sum of variances, and the degrees of freedom with which Student's 95 % quantile gives that length.
    """
    given = [(variance, max(freedom, 1.0)) for variance, freedom in terms]
    total = sum(variance for variance, _ in given)
    inhabited = [each for each in given if each[0] > 0]
    if len(inhabited) < 2:
        return total, (inhabited or given)[0][1]
    squared = sum(t(freedom, LEVEL) ** 2 * variance for variance, freedom in inhabited)
    return total, _freedom_of(math.sqrt(squared / total))


def crossed(variances: tuple[float, ...], freedoms: tuple[float, ...]) -> tuple[float, float]:
    """Combine the variances over clusters, over raters and over pairs of both, in this order.

    The larger of the first two is what one kind alone gives. The other kind adds its variance less that over
    pairs, with the quantile of its own degrees of freedom. By chance, this difference can be negative. To
    leave it out makes intervals too long on average; to subtract it makes them too short if it rests on few
    raters. So half of it is subtracted, less the fewer its degrees of freedom are, and nothing below 2. With
    two raters, no quantile of their own variance helps where it is small by chance: towards one degree of
    freedom, the result becomes that of `variance.combined`, in which it counts for the whole.

    Returns:
        The variance, at least half of the larger one, and its degrees of freedom.
    """
    (large, of_large), (small, of_small) = sorted(
        zip(variances[:2], freedoms[:2], strict=True), key=lambda kind: -kind[0]
    )
    added = small - variances[2]
    if added > 0:
        found = together([(large, of_large), (added, of_small)])
    else:
        counts = max(0.0, 1 - 2 / max(of_small, 1.0)) / 2
        found = max(large + counts * added, large / 2), max(of_large, 1.0)
    few = min(max(2 - min(freedoms[:2]), 0.0), 1.0)
    if not few:
        return found
    whole = combined(_CROSSED, variances, freedoms)
    assert whole is not None
    return _mixed(few, (whole.variance, max(whole.freedom, 1.0)), found)


_CROSSED = Numbers(clusters=2, raters=2, pairs=4)
"""Any numbers of clusters and raters that cross."""


def _mixed(share: float, first: tuple[float, float], second: tuple[float, float]) -> tuple[float, float]:
    """Mean of two variances, and the degrees of freedom with which squared interval lengths are averaged."""
    variance = share * first[0] + (1 - share) * second[0]
    if share == 1 or variance <= 0:
        return first
    squares = [t(freedom, LEVEL) ** 2 * each for each, freedom in (first, second)]
    return variance, _freedom_of(math.sqrt((share * squares[0] + (1 - share) * squares[1]) / variance))


def _freedom_of(quantile: float) -> float:
    """Degrees of freedom of Student's t with this 95 % quantile, at most a million."""
    if quantile <= t(_LARGEST_FREEDOM, LEVEL):
        return _LARGEST_FREEDOM
    return float(scipy.special.stdtridf((1 + LEVEL) / 2, quantile))
