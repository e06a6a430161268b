"""Krippendorff's alpha with an interval over units or conversations and raters; AC1; intraclass correlations.

Sources: Gwet 2008, British Journal of Mathematical and Statistical Psychology 61(1) (AC1); Gwet 2014,
Handbook of Inter-Rater Reliability, chapter 2 (several raters, missing ratings); Shrout & Fleiss 1979,
Psychological Bulletin 86(2); McGraw & Wong 1996, Psychological Methods 1(1) (intraclass correlations).
"""

import math
from dataclasses import dataclass

import numpy as np
import scipy

from evaluation.rater_agreement.coefficients import krippendorff_alpha, percent_mean_of_units
from evaluation.rater_agreement.disagreement import largest_distance, pairs_of
from evaluation.rater_agreement.ratings import Metric, Ratings, numbers
from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.inference import NOUNS, Nouns, generalises, share_unseen, t
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import AnyArray, FloatArray, coded
from evaluation.statistics.variance import Numbers, Over, spread, summed

FEWEST_RATERS = 3
"""Fewest raters for an interval over raters: two raters always contribute equally to their disagreement."""


@dataclass(frozen=True, slots=True)
class Alpha:
    """Krippendorff's alpha.

    Attributes:
        value: at most 1; 0 is chance agreement.
        interval: `method` is "fisher t", or "exact" if no two ratings of a unit differ.
        over: what the interval generalises to; None if there is none.
        numbers: number of clusters, of raters, and of pairs of both.
        units: number of units with two ratings or more.
    """

    value: float
    interval: Interval | Undefined
    over: Over | None
    numbers: Numbers
    units: int

    def describe_interval(self, nouns: Nouns = NOUNS) -> str:
        """State in sentences what the interval generalises to and what it cannot tell.

        Args:
            nouns: what clusters and raters are called.
        """
        if isinstance(self.interval, Undefined):
            return f"No interval: {self.interval.reason}"
        return generalises(self.over, self.numbers, self.interval.level, nouns)


def alpha(
    ratings: Ratings, metric: Metric | FloatArray = Metric.NOMINAL, *, clusters: AnyArray | None = None,
    level: float = LEVEL,
) -> Alpha | Undefined:  # fmt: skip
    """Krippendorff's alpha with Student's t interval on Fisher's z of alpha.

    The variance is that of alpha's influence values over clusters of units, over raters, or both, as the
    ratings cross (`variance`). With two raters the interval is over clusters with the same raters.

    Args:
        ratings: any number of raters, with missing ratings; a unit with one rating does not count.
        metric: as in `agreement.krippendorff_alpha`.
        clusters: (units,) the cluster of each unit, such as the conversation of a turn; None if units are
            independent.
        level: nominal coverage, in (0, 1).

    Returns:
        Alpha; `Undefined` as in `krippendorff_alpha`.

    Raises:
        ValueError: as `krippendorff_alpha`, or a level out of range.
    """
    if not 0 < level < 1:
        raise ValueError(f"level={level} is not a coverage between 0 and 1, such as 0.95.")
    value = krippendorff_alpha(ratings, metric)
    if isinstance(value, Undefined):
        return value
    pairs = pairs_of(ratings, metric)
    unit = ratings.unit[pairs.kept]
    cluster = unit if clusters is None else coded(clusters)[1][unit]
    rater = ratings.rater[pairs.kept]
    several = len(np.unique(rater)) >= FEWEST_RATERS
    sums = summed(pairs.influence(), cluster, rater if several else None)
    variance, numbers, units = spread(sums), sums.numbers, len(pairs.size)
    if variance is None:
        alone = Undefined(
            "All units belong together; an interval needs 2 that are independent of each other."
        )
        return Alpha(value, alone, None, numbers, units)
    if value == 1:
        low = (
            1 - share_unseen(numbers.independent, level) * largest_distance(ratings, metric) / pairs.expected
        )
        return Alpha(value, Interval(max(low, -1.0), 1.0, level, "exact"), variance.over, numbers, units)
    if variance.variance <= 1e-12:
        alike = Undefined("All clusters or all raters disagree alike, so they do not tell how others would.")
        return Alpha(value, alike, variance.over, numbers, units)
    half = t(variance.freedom, level) * math.sqrt(variance.variance) / (1 - value**2)
    low, high = (math.tanh(math.atanh(value) + step) for step in (-half, half))
    return Alpha(value, Interval(low, high, level, "fisher t"), variance.over, numbers, units)


def gwet_ac1(ratings: Ratings) -> float | Undefined:
    """Gwet's AC1: chance agreement as if raters guessed only where they are unsure; at most 1.

    Unlike alpha and kappa it stays high if nearly all ratings are the same. Some prefer it for that, others
    mistrust it; read it together with alpha.

    Args:
        ratings: nominal; every unit counts once, and a unit with one rating counts only for chance agreement.
            The categories are `ratings.values`, so give the scale if nobody gave one of the ratings.

    Returns:
        AC1, or `Undefined`: no unit has two ratings, or there is one category only.
    """
    categories = len(ratings.values)
    if categories < 2:
        return Undefined("Only one rating occurs, so agreement cannot be told from chance.")
    observed = percent_mean_of_units(ratings)
    if isinstance(observed, Undefined):
        return observed
    per_unit = np.bincount(ratings.unit, minlength=ratings.units)
    weight = 1 / per_unit[ratings.unit] / np.count_nonzero(per_unit)
    share = np.bincount(ratings.value, weight, categories)
    chance = float((share * (1 - share)).sum()) / (categories - 1)
    return (observed - chance) / (1 - chance)


@dataclass(frozen=True, slots=True)
class Intraclass:
    """Intraclass correlations of raters who all rated all units; intervals by the F distribution.

    Attributes:
        one_way: ICC(1): every unit has other raters, so rater bias is error.
        agreement: ICC(2,1), ICC(A,1): the same raters, as a sample of others; rater bias is error.
        consistency: ICC(3,1), ICC(C,1): the same raters; rater bias does not count.
        of_means: ICC(2,k): agreement of the mean over these raters.
        one_way_interval: interval of `one_way`.
        consistency_interval: interval of `consistency`.
        units: number of units.
        raters: number of raters.
    """

    one_way: float
    agreement: float
    consistency: float
    of_means: float
    one_way_interval: Interval
    consistency_interval: Interval
    units: int
    raters: int


def intraclass(ratings: Ratings, *, level: float = LEVEL) -> Intraclass | Undefined:
    """Intraclass correlations of an interval scale, from the two-way analysis of variance.

    Assumes normal ratings for the intervals. Every rater must have rated every unit; if ratings are missing,
    use alpha with the interval distance, which corresponds to `agreement`.

    Returns:
        The correlations; `Undefined` for missing ratings, fewer than two units or raters, or no variation.

    Raises:
        ValueError: ratings that are not numbers.
    """
    n, k = ratings.units, ratings.raters
    if min(n, k) < 2:
        return Undefined(f"Units: {n}, raters: {k}; an intraclass correlation needs 2 of each.")
    if len(ratings) < n * k:
        return Undefined(
            f"{n * k - len(ratings)} of {n * k} ratings are missing; an intraclass correlation needs them "
            f"all. Use Krippendorff's alpha with the interval distance."
        )
    table = np.empty((n, k))
    table[ratings.unit, ratings.rater] = numbers(ratings.values, Metric.INTERVAL)[ratings.value]
    of_units, of_raters = table.mean(axis=1) - table.mean(), table.mean(axis=0) - table.mean()
    rest = table - table.mean() - of_units[:, None] - of_raters
    rows = k * float((of_units**2).sum()) / (n - 1)
    columns = n * float((of_raters**2).sum()) / (k - 1)
    error = float((rest**2).sum()) / ((n - 1) * (k - 1))
    within = ((k - 1) * columns + (n - 1) * (k - 1) * error) / (n * (k - 1))
    if not rows + within:
        return Undefined("All ratings are the same, so agreement cannot be told from chance.")
    shared = rows + (columns - error) / n
    return Intraclass(
        one_way=(rows - within) / (rows + (k - 1) * within),
        agreement=(rows - error) / (rows + (k - 1) * error + k * (columns - error) / n),
        consistency=(rows - error) / (rows + (k - 1) * error) if rows + error else 1.0,
        of_means=(rows - error) / shared if shared else 0.0,
        one_way_interval=_by_f(rows, within, k, (n - 1, n * (k - 1)), level),
        consistency_interval=_by_f(rows, error, k, (n - 1, (n - 1) * (k - 1)), level),
        units=n,
        raters=k,
    )


def further_coefficients(ratings: Ratings, metric: Metric) -> dict[str, float | Undefined]:
    """Coefficients reported together with alpha: `gwet_ac1` for names, `icc_2_1` for scales.

    Args:
        ratings: as for `gwet_ac1` and `intraclass`; the ICC uses units with several ratings.
        metric: the distance of alpha.
    """
    if metric is Metric.NOMINAL:
        return {"gwet_ac1": gwet_ac1(ratings)}
    is_pairable = ratings.is_pairable[ratings.unit]
    several = Ratings.from_columns(
        ratings.unit[is_pairable], ratings.rater[is_pairable], ratings.values[ratings.value][is_pairable]
    )
    icc = intraclass(several)
    return {"icc_2_1": icc if isinstance(icc, Undefined) else icc.agreement}


def _by_f(rows: float, error: float, k: int, freedom: tuple[int, int], level: float) -> Interval:
    """Interval of (F - 1) / (F + k - 1), where F is the ratio of two mean squares."""
    if not error:
        return Interval(1.0, 1.0, level, "F")
    f, tail = rows / error, (1 + level) / 2
    low = f / float(scipy.special.fdtri(freedom[0], freedom[1], tail))
    high = f * float(scipy.special.fdtri(freedom[1], freedom[0], tail))
    return Interval((low - 1) / (low + k - 1), (high - 1) / (high + k - 1), level, "F")
