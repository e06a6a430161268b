"""Full factorial analysis of variance: the facets of bots, alone or together, by which ratings differ.

With unequal numbers in the cells a facet has no unique sum of squares, so both common ones are given. Type II
is what a term adds to all terms that do not contain it. Type III is what it adds to all other terms, with
contrasts that sum to zero. Sources: Yates 1934, Journal of the American Statistical Association 29; Langsrud
2003, Statistics and Computing 13.

Also normalises ratings to standard deviations of their rater, so that strict and lenient raters weigh alike.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, product

import numpy as np
import scipy
from numpy.typing import ArrayLike

from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import AnyArray, FloatArray, IntArray, coded


@dataclass(frozen=True, slots=True)
class Squares:
    """A sum of squares with its test.

    Attributes:
        sum: the sum of squares.
        f: mean square of the term over that of the error.
        p: probability of this F or a larger one if nothing depends on the term.
    """

    sum: float
    f: float
    p: float


@dataclass(frozen=True, slots=True)
class Term:
    """A facet, or several facets together.

    Attributes:
        factors: names of the facets.
        freedom: degrees of freedom.
        second, third: type II and type III sums of squares.
    """

    factors: tuple[str, ...]
    freedom: int
    second: Squares
    third: Squares


@dataclass(frozen=True, slots=True)
class Anova:
    """A table of the analysis of variance.

    Attributes:
        terms: single facets first, then pairs, and so on.
        error: sum of squares within the cells.
        error_freedom: degrees of freedom of the error.
        scores: number of scores.
    """

    terms: Sequence[Term]
    error: float
    error_freedom: int
    scores: int


def anova(scores: ArrayLike, factors: Mapping[str, ArrayLike]) -> Anova | Undefined:
    """Analysis of variance of scores by facets, every interaction included.

    Assumes independent scores of equal variance within the cells, normal for the p-values; several scores of
    one rater are not independent.

    Args:
        scores: (n,) finite numbers.
        factors: by name, (n,) the level of each score.

    Returns:
        The table, or `Undefined`: no facet, a facet with one level, a cell without scores, one score in each
        cell, or scores that do not vary within the cells.

    Raises:
        ValueError: columns of different length, or a score that is not finite.
    """
    y = np.asarray(scores, dtype=np.float64)
    levels = {name: coded(column) for name, column in factors.items()}
    _check(y, levels)
    if reason := _too_little(y, levels):
        return reason
    columns = {name: _contrasts(codes, len(names)) for name, (names, codes) in levels.items()}
    terms = [term for size in range(1, len(levels) + 1) for term in combinations(levels, size)]
    blocks = {term: _together([columns[name] for name in term]) for term in terms}
    error = _residual_sum(y, [blocks[term] for term in terms])
    freedom = len(y) - 1 - sum(block.shape[1] for block in blocks.values())
    if error <= 1e-12 * max(1.0, float((y**2).sum())):
        return Undefined("Scores do not vary within the cells, so nothing can be told from chance.")

    def squares(term: tuple[str, ...], others: Sequence[tuple[str, ...]]) -> Squares:
        without = _residual_sum(y, [blocks[each] for each in others])
        columns_of_term = blocks[term].shape[1]
        added = max(0.0, without - _residual_sum(y, [blocks[each] for each in (*others, term)]))
        f = added / columns_of_term / (error / freedom)
        return Squares(added, f, float(scipy.special.fdtrc(columns_of_term, freedom, f)))

    return Anova(
        [
            Term(
                term,
                blocks[term].shape[1],
                second=squares(term, [each for each in terms if not set(term) <= set(each)]),
                third=squares(term, [each for each in terms if each != term]),
            )
            for term in terms
        ],
        error,
        freedom,
        len(y),
    )


def _check(y: FloatArray, levels: Mapping[str, tuple[AnyArray, IntArray]]) -> None:
    for name, (_, codes) in levels.items():
        if len(codes) != len(y):
            raise ValueError(f"There are {len(y)} scores, and facet {name} has {len(codes)} levels for them.")
    wrong = np.flatnonzero(~np.isfinite(y))
    if wrong.size:
        raise ValueError(f"Score {wrong[0] + 1} is {y[wrong[0]]}; leave out those who gave none.")


def _too_little(
    y: FloatArray,
    levels: Mapping[str, tuple[AnyArray, IntArray]],
) -> Undefined | None:
    if not levels or not len(y):
        return Undefined("There are no scores, or no facet to tell them apart by.")
    for name, (names, _) in levels.items():
        if len(names) < 2:
            return Undefined(f"Facet “{name}” has the one level “{names[0]}”; a comparison needs two.")
    filled = set(zip(*(codes.tolist() for _, codes in levels.values()), strict=True))
    for cell in product(*(range(len(names)) for names, _ in levels.values())):
        if cell not in filled:
            where = ", ".join(
                f"{n} {names[k]}" for (n, (names, _)), k in zip(levels.items(), cell, strict=True)
            )
            return Undefined(f"Nothing was rated with {where}, so the facets cannot be told apart.")
    if len(y) == len(filled):
        return Undefined("There is one score in each cell, so nothing can be told from chance.")
    return None


def _contrasts(codes: IntArray, levels: int) -> FloatArray:
    """(n, levels - 1) columns whose coefficients sum to zero over the levels."""
    table = np.vstack([np.eye(levels - 1), -np.ones(levels - 1)])
    contrasts: FloatArray = table[codes]
    return contrasts


def _together(columns: Sequence[FloatArray]) -> FloatArray:
    """All products of one column of each facet."""
    columns_of_product = columns[0]
    for more in columns[1:]:
        columns_of_product = (columns_of_product[:, :, None] * more[:, None, :]).reshape(
            len(columns_of_product), -1
        )
    return columns_of_product


def _residual_sum(y: FloatArray, blocks: Sequence[FloatArray]) -> float:
    """Residual sum of squares of a fit by a mean and these columns."""
    design = np.column_stack([np.ones(len(y)), *blocks])
    fitted, *_ = np.linalg.lstsq(design, y, rcond=None)
    return float(((y - design @ fitted) ** 2).sum())


FEWEST = 10
"""Fewest ratings from which a rater's mean and spread are known well (Ghandeharioun et al. 2019)."""


def normalised(scores: ArrayLike, raters: ArrayLike, *, fewest: int = FEWEST) -> FloatArray:
    """(n,) scores in standard deviations of their rater, from the rater's mean.

    NaN where there is no score, and for raters with fewer scores or with equal scores only.

    Args:
        scores: (n,) numbers; NaN: none.
        raters: (n,) the rater of each score.
        fewest: number of scores that a rater needs.
    """
    values = np.asarray(scores, dtype=np.float64)
    code: IntArray = coded(np.asarray(raters))[1]
    z_scores = np.full(len(values), np.nan)
    for rater in range(int(code.max(initial=-1)) + 1):
        rows = np.flatnonzero((code == rater) & ~np.isnan(values))
        of_rater = values[rows]
        if len(rows) >= max(2, fewest) and np.ptp(of_rater) > 0:
            z_scores[rows] = (of_rater - of_rater.mean()) / of_rater.std(ddof=1)
    return z_scores
