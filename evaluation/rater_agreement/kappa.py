"""Cohen's kappa of two raters, plain and weighted.

Sources: Cohen 1960, Educational and Psychological Measurement 20(1); Cohen 1968, Psychological Bulletin 70(4)
(weights); Fleiss, Cohen & Everitt 1969, Psychological Bulletin 72(5) (standard errors).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from evaluation.rater_agreement.ratings import Ratings
from evaluation.statistics.bootstrap import LEVEL, RESAMPLES, cluster_interval
from evaluation.statistics.inference import z
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import FloatArray

Weights: TypeAlias = Literal["plain", "linear", "quadratic"]


@dataclass(frozen=True, slots=True)
class Kappa:
    """Cohen's kappa with its asymptotic errors.

    Attributes:
        value: kappa, at most 1; 0 is chance agreement.
        observed: (weighted) share of units on which the raters agree, in [0, 1].
        expected: this share if the raters rated independently with their frequencies.
        error: standard error of the value for large samples.
        error_if_zero: standard error if the true kappa is zero, for a test against chance.
        units: number of units with ratings of both.
    """

    value: float
    observed: float
    expected: float
    error: float
    error_if_zero: float
    units: int

    @property
    def z(self) -> float | Undefined:
        """Standard normal test statistic of "kappa is zero"."""
        if self.error_if_zero == 0:
            return Undefined("One rater gave all units one rating, so agreement cannot differ from chance.")
        return self.value / self.error_if_zero

    def interval(self, level: float = LEVEL) -> Interval:
        """Interval by the normal approximation; with fewer than about 50 units prefer `kappa_interval`."""
        half = z(level) * self.error
        return Interval(self.value - half, self.value + half, level, "normal")


def cohen_kappa(table: ArrayLike, weights: Weights = "plain") -> Kappa | Undefined:
    """Compute Cohen's kappa from a table of two raters.

    Args:
        table: (c, c) units to which the first rater gave the row's rating and the second the column's;
            `Ratings.table` makes one. For weighted kappa the ratings are in rising order and count as
            equally spaced, so a rating of the scale that nobody gave keeps its (empty) row and column.
        weights: "plain" (all disagreements count alike), "linear" or "quadratic" in the distance.

    Returns:
        Kappa, or `Undefined`: fewer than two units, or both raters always gave one and the same rating.

    Raises:
        ValueError: a table that is not square or has negative entries.
    """
    counts = _checked(table)
    n = float(counts.sum())
    if n == 0:
        return Undefined("The two raters rated no unit in common.")
    if n == 1:
        return Undefined("The two raters rated one unit in common: agreement cannot be told from chance.")
    share, weight = counts / n, _weights(len(counts), weights)
    rows, columns = share.sum(axis=1), share.sum(axis=0)
    observed, expected = float((share * weight).sum()), float(rows @ weight @ columns)
    if np.isclose(expected, 1):
        return Undefined(f"Both raters gave the same rating to all {n:.0f} units: chance would do the same.")
    kappa = (observed - expected) / (1 - expected)
    mean_weight = (weight @ columns)[:, None] + rows @ weight
    scale = n * (1 - expected) ** 2
    spread = (share * (weight - mean_weight * (1 - kappa)) ** 2).sum()
    spread_if_zero = (np.outer(rows, columns) * (weight - mean_weight) ** 2).sum()
    return Kappa(
        value=kappa,
        observed=observed,
        expected=expected,
        error=_root(float(spread - (kappa - expected * (1 - kappa)) ** 2) / scale),
        error_if_zero=_root(float(spread_if_zero - expected**2) / scale),
        units=int(n),
    )


@dataclass(frozen=True, slots=True)
class PairOfRaters:
    """Cohen's kappa of two raters, identified by their codes in `Ratings.rater`."""

    first: int
    second: int
    units: int
    kappa: Kappa | Undefined


def pairwise_kappas(ratings: Ratings, weights: Weights = "plain") -> list[PairOfRaters]:
    """Cohen's kappa of every two raters with a common unit, in the order of their codes.

    It shows raters who differ from the rest, which a single coefficient cannot.

    Args:
        ratings: any number of raters, with missing ratings; for weighted kappa with their whole scale.
        weights: as in `cohen_kappa`.
    """
    order = np.argsort(ratings.unit, kind="stable")
    by_unit = np.split(ratings.rater[order], np.cumsum(np.bincount(ratings.unit))[:-1])
    met = {pair for raters in by_unit for pair in combinations(sorted(raters.tolist()), 2)}
    tables = ((pair, ratings.table(*pair)) for pair in sorted(met))
    return [PairOfRaters(*pair, int(table.sum()), cohen_kappa(table, weights)) for pair, table in tables]


def median_kappa(met: Sequence[PairOfRaters]) -> float | Undefined:
    """Median of the defined kappas."""
    defined = [each.kappa.value for each in met if not isinstance(each.kappa, Undefined)]
    if not defined:
        return Undefined("No two raters judged enough of the same for a kappa of theirs.")
    return float(np.median(defined))


def kappa_interval(
    tables: ArrayLike,
    rng: Generator,
    weights: Weights = "plain",
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Interval | Undefined:
    """Bootstrap interval of `cohen_kappa`, resampling whole clusters of units.

    Args:
        tables: (k, c, c) one table per independent cluster, such as a conversation whose turns were rated;
            (c, c) if units are independent of each other.
        rng: seeded generator.
        weights: as in `cohen_kappa`.
        resamples: at least 100.
        level: nominal coverage, in (0, 1).

    Returns:
        The interval; `Undefined` if kappa is, or with fewer than two clusters.
    """
    each = np.asarray(tables, dtype=np.float64)
    table = _checked(each.sum(axis=0) if each.ndim == 3 else each)
    kappa = cohen_kappa(table, weights)
    if isinstance(kappa, Undefined):
        return kappa
    weight = _weights(len(table), weights)

    def statistic(sums: FloatArray) -> FloatArray:
        share = sums.reshape(-1, *table.shape) / sums.sum(axis=1)[:, None, None]
        rows, columns = share.sum(axis=2), share.sum(axis=1)
        expected = ((rows @ weight) * columns).sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            value: FloatArray = ((share * weight).sum(axis=(1, 2)) - expected) / (1 - expected)
        return np.where(np.isclose(expected, 1), np.nan, value)

    if each.ndim == 3:
        rows, cluster = each.reshape(len(each), -1), "cluster of common units"
    else:
        cells = np.repeat(np.arange(table.size), table.astype(np.int64).ravel())
        rows, cluster = np.eye(table.size)[cells], "common unit"
    return cluster_interval(rows, statistic, rng, resamples=resamples, level=level, cluster=cluster)


def _root(variance: float) -> float:
    """Square root; 0 for numbers that differ from 0 only by rounding."""
    return math.sqrt(variance) if variance > 1e-15 else 0.0


def _checked(table: ArrayLike) -> FloatArray:
    counts = np.asarray(table, dtype=np.float64)
    if counts.ndim != 2 or counts.shape[0] != counts.shape[1] or (counts < 0).any():
        raise ValueError(f"A table of counts must be square and not negative, but this is {counts.tolist()}.")
    return counts


def _weights(c: int, weights: Weights) -> FloatArray:
    """(c, c) agreement weights: 1 on the diagonal, 0 for the largest disagreement."""
    if weights == "plain" or c < 2:
        return np.eye(c)
    distance = np.abs(np.arange(c)[:, None] - np.arange(c)) / (c - 1)
    weight: FloatArray = 1 - (distance if weights == "linear" else distance**2)
    return weight
