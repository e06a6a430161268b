"""Agreement among any number of raters: percent, Krippendorff's alpha, Fleiss' kappa.

A unit counts only if at least two raters rated it. Sources: Krippendorff 2011, Computing Krippendorff's
Alpha-Reliability; Hayes & Krippendorff 2007, Communication Methods and Measures 1(1); Fleiss 1971,
Psychological Bulletin 76(5); Randolph 2005 (free-marginal kappa). Each coefficient is a function of sums over
units, so its bootstrap interval over units comes from `bootstrap.cluster_interval`.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from evaluation.rater_agreement.disagreement import pairs_of
from evaluation.rater_agreement.ratings import Metric as Metric
from evaluation.rater_agreement.ratings import Ratings, numbers
from evaluation.rater_agreement.ratings import metric_of as metric_of
from evaluation.statistics.bootstrap import LEVEL, RESAMPLES, Ratio, Statistic, cluster_interval
from evaluation.statistics.interval import Interval, Method, Undefined
from evaluation.statistics.labels import AnyArray, FloatArray, coded

MANY_VALUES = 64
"""Above this number of distinct ratings, tables of pairs of values cost more than sums by rating."""


@dataclass(frozen=True, slots=True)
class Coefficient:
    """A coefficient that is a function of sums over units.

    Attributes:
        rows: (u, m) one row per unit.
        statistic: function from sums of rows (r, m) to values (r,).
    """

    rows: FloatArray
    statistic: Statistic

    def value(self) -> float:
        """The coefficient over all units; NaN if it is undefined."""
        return float(self.statistic(self.rows.sum(axis=0)[None])[0])


def percent_pooled(ratings: Ratings) -> float | Undefined:
    """Share of agreeing pairs among all pairs of ratings of the same unit.

    A unit with more raters weighs more. Most papers print this percentage.

    Returns:
        A share in [0, 1]; `Undefined` if no unit has two ratings.
    """
    missing = _too_little(ratings)
    return missing or _pooled(ratings).value()


def percent_mean_of_units(ratings: Ratings) -> float | Undefined:
    """Mean over units of the share of agreeing pairs; every unit weighs the same.

    Returns:
        A share in [0, 1]; `Undefined` if no unit has two ratings.
    """
    missing = _too_little(ratings)
    if missing:
        return missing
    rows = _pooled(ratings).rows
    return float(np.mean(rows[:, 0] / rows[:, 1]))


def percent_interval(
    ratings: Ratings, rng: Generator, *, resamples: int = RESAMPLES, level: float = LEVEL
) -> Interval | Undefined:
    """Bootstrap interval of `percent_pooled`: percentiles of resamples of units.

    Args:
        ratings: as in `percent_pooled`.
        rng: seeded generator.
        resamples: number of resamples of units.
        level: coverage in (0, 1).

    Returns:
        An interval of a share in [0, 1]; `Undefined` as in `percent_pooled`, or if too few resamples have a
        value.
    """
    missing = _too_little(ratings)
    return missing or _interval(_pooled(ratings), rng, resamples, level, "percentile")


@dataclass(frozen=True, slots=True)
class Disagreement:
    """Krippendorff's observed and expected disagreement D_o and D_e; alpha is 1 - D_o / D_e.

    Both have the unit of the distance; for nominal ratings they are shares in [0, 1].
    """

    observed: float
    expected: float


def krippendorff_alpha(ratings: Ratings, metric: Metric | FloatArray = Metric.NOMINAL) -> float | Undefined:
    """Krippendorff's alpha: 1 is perfect agreement, 0 is chance agreement; it can be negative.

    Args:
        ratings: any number of raters, with missing ratings; a unit with one rating does not count.
        metric: distance between ratings, or a symmetric matrix (c, c) of distances between
            `ratings.values` (in the order given there), zero on the diagonal.

    Returns:
        Alpha, or `Undefined`: fewer than two units have two ratings, or all ratings that count are the same.

    Raises:
        ValueError: ratings that are not numbers for an ordinal, interval or ratio distance; a negative rating
            for the ratio distance; a matrix of the wrong shape.
    """
    parts = disagreement(ratings, metric)
    return parts if isinstance(parts, Undefined) else 1 - parts.observed / parts.expected


def disagreement(ratings: Ratings, metric: Metric | FloatArray = Metric.NOMINAL) -> Disagreement | Undefined:
    """Observed and expected disagreement; arguments, errors and `Undefined` as in `krippendorff_alpha`."""
    missing = _too_little(ratings) or _one_unit(ratings)
    if missing:
        return missing
    if isinstance(metric, Metric) and len(ratings.values) > MANY_VALUES:
        pairs = pairs_of(ratings, metric)
        result = Disagreement(pairs.observed, pairs.expected)
    else:
        result = _by_tables(ratings, metric)
    if result.expected:
        return result
    n = np.count_nonzero(ratings.is_pairable[ratings.unit])
    if len(np.unique(ratings.value[ratings.is_pairable[ratings.unit]])) == 1:
        return Undefined(f"All {n} ratings are the same, so agreement cannot be told from chance.")
    return Undefined("No two ratings differ by this distance, so agreement cannot be told from chance.")


def _by_tables(ratings: Ratings, metric: Metric | FloatArray) -> Disagreement:
    """Disagreement from tables of pairs of values: the fastest method for few values."""
    counts, per_unit = ratings.pairable
    marginals = counts.sum(axis=0)
    n = float(marginals.sum())
    distances = _distances(metric, ratings.values, marginals[None])[0]
    observed = float((_coincidences(counts, per_unit) * distances).sum()) / n
    return Disagreement(observed, float(marginals @ distances @ marginals) / (n * (n - 1)))


def alpha_interval(
    ratings: Ratings,
    rng: Generator,
    metric: Metric | FloatArray = Metric.NOMINAL,
    *,
    clusters: AnyArray | None = None,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    method: Method = "percentile",
) -> Interval | Undefined:
    """Bootstrap interval of alpha, resampling whole units, or clusters of units, with all their ratings.

    Assumes that units (or clusters) are independent. Krippendorff's bootstrap resamples pairs as if they were
    independent and gives shorter intervals; this one keeps each unit's ratings together. Resamples with only
    one distinct rating leave alpha undefined and are dropped; with more than 5 % of them the result is
    `Undefined`.

    Args:
        ratings: the ratings.
        rng: seeded generator.
        metric: distance of two ratings.
        clusters: (units,) the cluster of each unit, such as the conversation of a turn; None if units are
            independent.
        resamples: at least 100.
        level: nominal coverage, in (0, 1).
        method: "percentile" or "bca".

    Raises:
        ValueError: as `krippendorff_alpha`; or more than `MANY_VALUES` distinct ratings.
    """
    if len(ratings.values) > MANY_VALUES:
        raise ValueError(
            f"The bootstrap of alpha keeps tables of pairs of ratings, too many for {len(ratings.values)} "
            f"distinct ratings; use alpha.alpha, which has no such limit."
        )
    alpha = krippendorff_alpha(ratings, metric)
    if isinstance(alpha, Undefined):
        return alpha
    coefficient = alpha_coefficient(ratings, metric)
    if clusters is None:
        return _interval(coefficient, rng, resamples, level, method)
    rows = _summed(coefficient.rows, clusters[ratings.is_pairable])
    return cluster_interval(
        rows, coefficient.statistic, rng, resamples=resamples, level=level, method=method,
        cluster="cluster with a unit of two ratings or more",
    )  # fmt: skip


def _summed(rows: FloatArray, clusters: AnyArray) -> FloatArray:
    """(k, m) sums of the (u, m) rows of each cluster."""
    _, code = coded(clusters)
    return np.column_stack([np.bincount(code, column) for column in rows.T])


def alpha_coefficient(ratings: Ratings, metric: Metric | FloatArray = Metric.NOMINAL) -> Coefficient:
    """Alpha as a function of sums, for resampling: one row per unit with two ratings or more.

    Args:
        ratings: ratings of any units; those with one rating are left out.
        metric: distance of two ratings, or a (values, values) table of distances, at least 0.

    Returns:
        The coefficient; its `value()` is alpha: at most 1, 0 by chance, NaN without variation.
    """
    build = _by_coincidences if metric is Metric.ORDINAL else _by_disagreement
    return build(ratings.pairable[0], metric, ratings.values)


def fleiss_kappa(ratings: Ratings) -> float | Undefined:
    """Fleiss' kappa for units with the same number of ratings; Scott's pi if that number is two.

    Chance agreement comes from the pooled shares of the ratings. The raters need not be the same persons.

    Returns:
        Kappa, at most 1; `Undefined` for a single unit, for units with different numbers of ratings, or if
        all ratings are the same.
    """
    reason = _why_no_fleiss(ratings)
    return reason or _chance_corrected(ratings.pairable[0], _pooled_chance).value()


def free_marginal_kappa(ratings: Ratings) -> float | Undefined:
    """Randolph's kappa: chance agreement is 1 / c for c possible ratings; Bennett's S if raters are two.

    c is `len(ratings.values)`, so use `Ratings.from_counts` if nobody gave one of the possible ratings.

    Returns:
        Kappa in [-1 / (c - 1), 1]; `Undefined` if only one rating is possible, or no unit has two ratings.
    """
    if len(ratings.values) < 2:
        return Undefined("Only one rating occurs, so agreement cannot be told from chance.")
    return _too_little(ratings) or _chance_corrected(ratings.pairable[0], _uniform_chance).value()


def fleiss_interval(
    ratings: Ratings, rng: Generator, *, resamples: int = RESAMPLES, level: float = LEVEL
) -> Interval | Undefined:
    """Bootstrap interval of `fleiss_kappa`; arguments and `Undefined` as in `percent_interval`."""
    reason = _why_no_fleiss(ratings)
    coefficient = _chance_corrected(ratings.pairable[0], _pooled_chance)
    return reason or _interval(coefficient, rng, resamples, level, "percentile")


def _interval(
    coefficient: Coefficient, rng: Generator, resamples: int, level: float, method: Method
) -> Interval | Undefined:
    return cluster_interval(
        coefficient.rows,
        coefficient.statistic,
        rng,
        resamples=resamples,
        level=level,
        method=method,
        cluster="unit with two ratings or more",
    )


def _too_little(ratings: Ratings) -> Undefined | None:
    if ratings.is_pairable.any():
        return None
    if ratings.raters == 1:
        return Undefined("One rater only; agreement needs at least two.")
    return Undefined("No unit was rated by two raters, so there is nothing to agree on.")


def _one_unit(ratings: Ratings) -> Undefined | None:
    """Refuse ratings with one pairable unit: observed and expected disagreement are then always equal."""
    if np.count_nonzero(ratings.is_pairable) > 1:
        return None
    return Undefined("Only one unit has two ratings or more, so agreement cannot be told from chance.")


def _why_no_fleiss(ratings: Ratings) -> Undefined | None:
    missing = _too_little(ratings) or _one_unit(ratings)
    if missing:
        return missing
    per_unit = ratings.pairable[1]
    if np.ptp(per_unit):
        return Undefined(
            f"Fleiss' kappa needs the same number of ratings of every unit, but here it ranges from "
            f"{per_unit.min():.0f} to {per_unit.max():.0f}; use Krippendorff's alpha."
        )
    if np.count_nonzero(ratings.pairable[0].sum(axis=0)) == 1:
        n = per_unit.sum()
        return Undefined(f"All {n:.0f} ratings are the same, so agreement cannot be told from chance.")
    return None


def _pooled(ratings: Ratings) -> Coefficient:
    pairs = pairs_of(ratings, Metric.NOMINAL)
    agreeing = np.bincount(pairs.unit, 1 - pairs.within) * (pairs.size - 1)
    return Coefficient(np.column_stack([agreeing, pairs.size * (pairs.size - 1)]), Ratio((1.0, 0.0), 1))


def _uniform_chance(marginals: FloatArray) -> FloatArray:
    return np.full(len(marginals), 1 / marginals.shape[1])


def _pooled_chance(marginals: FloatArray) -> FloatArray:
    chance: FloatArray = ((marginals / marginals.sum(axis=1, keepdims=True)) ** 2).sum(axis=1)
    return chance


def _chance_corrected(counts: FloatArray, chance: Callable[[FloatArray], FloatArray]) -> Coefficient:
    """(observed - chance) / (1 - chance); observed is the mean over units of the share of agreeing pairs."""
    per_unit = counts.sum(axis=1)
    agreeing = (counts * (counts - 1)).sum(axis=1) / (per_unit * (per_unit - 1))

    def kappa(sums: FloatArray) -> FloatArray:
        expected = chance(sums[:, 2:])
        with np.errstate(invalid="ignore", divide="ignore"):
            value: FloatArray = (sums[:, 0] / sums[:, 1] - expected) / (1 - expected)
        return np.where(np.isclose(expected, 1), np.nan, value)

    return Coefficient(np.column_stack([agreeing, np.ones(len(counts)), counts]), kappa)


def _coincidences(counts: FloatArray, per_unit: FloatArray) -> FloatArray:
    """(c, c) Krippendorff's coincidences, with each rating paired with itself added on the diagonal."""
    if per_unit.min() == per_unit.max():
        together: FloatArray = counts.T @ counts / (per_unit[0] - 1)
        return together
    return (counts / (per_unit - 1)[:, None]).T @ counts


def _by_disagreement(counts: FloatArray, metric: Metric | FloatArray, values: AnyArray) -> Coefficient:
    """Alpha for a distance that does not depend on the frequencies of the ratings."""
    distances = _distances(metric, values, counts[:1])[0]
    per_unit = counts.sum(axis=1)
    disagreeing = ((counts @ distances) * counts).sum(axis=1) / (per_unit - 1)

    def alpha(sums: FloatArray) -> FloatArray:
        marginals = sums[:, 1:]
        return _one_minus(sums[:, 0], ((marginals @ distances) * marginals).sum(axis=1), marginals)

    return Coefficient(np.column_stack([disagreeing, counts]), alpha)


def _by_coincidences(counts: FloatArray, metric: Metric | FloatArray, values: AnyArray) -> Coefficient:
    """Alpha for a distance that depends on the frequencies of the ratings, such as the ordinal one."""
    c = counts.shape[1]
    row, column = np.triu_indices(c, 1)
    per_unit = counts.sum(axis=1)
    pairs = 2 * counts[:, row] * counts[:, column] / (per_unit - 1)[:, None]

    def alpha(sums: FloatArray) -> FloatArray:
        marginals = sums[:, len(row) :]
        distances = _distances(metric, values, marginals)[:, row, column]
        expected = 2 * (marginals[:, row] * marginals[:, column] * distances).sum(axis=1)
        return _one_minus((sums[:, : len(row)] * distances).sum(axis=1), expected, marginals)

    return Coefficient(np.hstack([pairs, counts]), alpha)


def _one_minus(observed: FloatArray, expected: FloatArray, marginals: FloatArray) -> FloatArray:
    n = marginals.sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        value: FloatArray = 1 - (n - 1) * observed / expected
    return np.where(expected > 0, value, np.nan)


def _distances(metric: Metric | FloatArray, values: AnyArray, marginals: FloatArray) -> FloatArray:
    """(r, c, c) distances; r is 1 unless they depend on the marginals (r, c)."""
    if not isinstance(metric, Metric):
        return _check_distances(np.asarray(metric, dtype=np.float64), len(values))
    if metric is Metric.NOMINAL:
        return 1 - np.eye(len(values))[None]
    number = numbers(values, metric)
    mid_rank = np.cumsum(marginals, axis=1) - marginals / 2
    position = mid_rank if metric is Metric.ORDINAL else number[None]
    difference = position[:, :, None] - position[:, None, :]
    if metric is Metric.RATIO:
        total = number[:, None] + number
        difference = np.divide(difference[0], total, out=np.zeros_like(total), where=total > 0)[None]
    return difference**2


def _check_distances(distances: FloatArray, c: int) -> FloatArray:
    symmetric = (
        distances.shape == (c, c) and (distances == distances.T).all() and not np.diag(distances).any()
    )
    if not symmetric:
        raise ValueError(
            f"A distance matrix of shape {distances.shape} was given; it must be ({c}, {c}), symmetric, and "
            f"zero on the diagonal, one row for each of the ratings."
        )
    return distances[None]
