"""Effects of factors on scores, with errors clustered by participant: main effects and interactions.

Participants are assigned to the cells of a design; a factor may also vary within participants, such as the
chatbot in a study with several conversations each. Every participant counts once in each cell they were in,
with the mean of their scores. The effects are contrasts of the means of the cells, each cell weighted alike
(the hypotheses of type III: Speed, Hocking & Hackney 1978, Journal of the American Statistical Association
73(361)). Errors assume neither equal variance in the cells nor independence within a participant
(`sandwich`). For a factor with two levels and one score each the statistic is that of Welch's t-test.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, product
from typing import NamedTuple

import numpy as np
import scipy
from numpy.typing import ArrayLike

from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.comparison import holm
from evaluation.statistics.inference import t, two_sided_p
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import AnyArray, FloatArray, IntArray, coded
from evaluation.statistics.linear_models.sandwich import errors, wald

FEWEST = 2
"""Fewest participants in a cell; of one, nothing tells the spread."""
MOST_CELLS = 48
"""Most cells of a design, for memory: time and space grow with the square of their number."""
MOST_CONTRASTS = 36
"""Most differences of differences of two factors; with more, only their joint test is readable."""


@dataclass(frozen=True, slots=True)
class Effect:
    """Test of a main effect or an interaction.

    Attributes:
        factors: names of the factors; one for a main effect.
        freedom: degrees of freedom of the numerator.
        error_freedom: degrees of freedom of the denominator.
        f: the F statistic.
        p: its p-value; NaN if the participants are too few to tell.
        p_holm: p-value after Holm's correction over all effects of the table.
    """

    factors: tuple[str, ...]
    freedom: int
    error_freedom: float
    f: float
    p: float
    p_holm: float = float("nan")


@dataclass(frozen=True, slots=True)
class LevelMean:
    """Mean of a level, averaged over the cells of the other factors.

    Attributes:
        factor: name of the factor.
        level: the level.
        participants: number of participants in it.
        value: the mean, in the unit of the scores.
        interval: by Student's t.
    """

    factor: str
    level: str
    participants: int
    value: float
    interval: Interval


@dataclass(frozen=True, slots=True)
class LevelDifference:
    """Difference of two levels of a factor, averaged over the cells of the other factors.

    Attributes:
        factor: name of the factor.
        first, second: the levels.
        value: mean of the first less that of the second, in the unit of the scores.
        interval: by Student's t.
        p: two-sided p-value of "the difference is 0".
        p_holm: p-value after Holm's correction over all pairs of levels of this factor.
    """

    factor: str
    first: str
    second: str
    value: float
    interval: Interval
    p: float
    p_holm: float


@dataclass(frozen=True, slots=True)
class DifferenceOfDifferences:
    """How far the difference of two levels of a factor depends on another factor.

    Attributes:
        factors: names of both factors.
        first, second: of each factor the two levels.
        value: (first less second level of the first factor) at the first level of the second factor, less the
            same at its second level; averaged over the cells of the other factors.
        interval: by Student's t.
        p: two-sided p-value of "both differences are equal".
        p_holm: p-value after Holm's correction over all of these two factors.
    """

    factors: tuple[str, str]
    first: tuple[str, str]
    second: tuple[str, str]
    value: float
    interval: Interval
    p: float
    p_holm: float


@dataclass(frozen=True, slots=True)
class Factorial:
    """Analysis of a design.

    Attributes:
        effects: single factors first, then pairs, and so on.
        means: of each level of each factor.
        differences: of every two levels of each factor.
        interactions: of every two factors with at most `MOST_CONTRASTS` of them.
        participants: number of participants.
    """

    effects: Sequence[Effect]
    means: Sequence[LevelMean]
    differences: Sequence[LevelDifference]
    interactions: Sequence[DifferenceOfDifferences]
    participants: int


@dataclass(frozen=True, eq=False)
class _Cells:
    """Means of a design's cells.

    Attributes:
        levels: by factor, its levels; the last factor varies fastest over the cells.
        cell: (n,) the cell of each row.
        means: (c,) means of the cells.
        weights: (c, n) weight of each row in each mean.
        basis: (n, c) orthonormal columns, one for each cell.
        residuals: (n,) distance of each row from the mean of its cell.
        participant: (n,) code of the participant of each row.
    """

    levels: Mapping[str, list[str]]
    cell: IntArray
    means: FloatArray
    weights: FloatArray
    basis: FloatArray
    residuals: FloatArray
    participant: IntArray

    def contrast(self, of_factor: Mapping[str, FloatArray]) -> FloatArray:
        """(k, c) products of contrasts of these factors, averaged over the levels of the others."""
        rows: FloatArray = np.ones((1, 1))
        for name, levels in self.levels.items():
            average = np.full((1, len(levels)), 1 / len(levels))
            rows = np.asarray(np.kron(rows, of_factor.get(name, average)), dtype=np.float64)
        return rows


def factorial(
    scores: ArrayLike, factors: Mapping[str, ArrayLike], participants: ArrayLike, level: float = LEVEL
) -> Factorial | Undefined:
    """Analyse scores by factors, every interaction included.

    Args:
        scores: (n,) numbers; rows with NaN are left out.
        factors: by name, (n,) the level of each score.
        participants: (n,) the participant of each score.
        level: nominal coverage of the intervals.

    Returns:
        The analysis, or `Undefined`: no scores, a factor with one level, more than `MOST_CELLS` cells, a
        cell with fewer than `FEWEST` participants, or scores that do not vary within the cells.

    Raises:
        ValueError: columns of different length.
    """
    y = np.asarray(scores, dtype=np.float64)
    columns = {name: np.asarray(column) for name, column in factors.items()}
    who = np.asarray(participants)
    if wrong := next((len(each) for each in (*columns.values(), who) if len(each) != len(y)), None):
        raise ValueError(f"There are {len(y)} scores, and another column has {wrong} rows.")
    known = ~np.isnan(y)
    coded_levels = {name: coded(column[known]) for name, column in columns.items()}
    cells = _cells(y[known], coded_levels, coded(who[known])[1])
    if isinstance(cells, Undefined):
        return cells
    effects = [
        _effect(cells, term)
        for size in range(1, len(columns) + 1)
        for term in combinations(cells.levels, size)
    ]
    differences = [each for name in cells.levels for each in _differences(cells, name, level)]
    return Factorial(
        _with_holm(effects),
        [each for name in cells.levels for each in _means(cells, name, level)],
        differences,
        [each for pair in combinations(cells.levels, 2) for each in _interactions(cells, pair, level)],
        int(cells.participant.max()) + 1,
    )


def _cells(
    y: FloatArray, factors: Mapping[str, tuple[AnyArray, IntArray]], who: IntArray
) -> _Cells | Undefined:
    levels = {name: [str(each) for each in names] for name, (names, _) in factors.items()}
    if reason := _why_unfit(levels, len(y)):
        return Undefined(reason)
    names = list(product(*levels.values()))
    cell = np.zeros(len(y), np.int64)
    for of_factor, (_, codes) in zip(levels.values(), factors.values(), strict=True):
        cell = cell * len(of_factor) + codes
    # One row for each participant and cell.
    row, of_row = np.unique(who * len(names) + cell, return_inverse=True)
    means = np.bincount(of_row, y) / np.bincount(of_row)
    cell, who = row % len(names), row // len(names)
    counts = np.bincount(cell, minlength=len(names))
    if (counts < FEWEST).any():
        few = int(np.argmax(counts < FEWEST))
        where = ", ".join(f"{name} {level}" for name, level in zip(levels, names[few], strict=True))
        number = "no participant" if counts[few] == 0 else "only one participant"
        return Undefined(f"There is {number} with {where}; each cell needs {FEWEST}.")
    is_of = cell[:, None] == np.arange(len(names))
    of_cells = np.bincount(cell, means) / counts
    residuals = means - of_cells[cell]
    if np.abs(residuals).max() <= 1e-9 * max(1.0, float(np.abs(means).max())):
        return Undefined("Scores do not vary within the cells, so nothing can be told from chance.")
    return _Cells(levels, cell, of_cells, (is_of / counts).T, is_of / np.sqrt(counts), residuals, who)


def _why_unfit(levels: Mapping[str, Sequence[str]], scores: int) -> str:
    if not levels or not scores:
        return "There are no scores, or no factor to tell them apart by."
    for name, of_factor in levels.items():
        if len(of_factor) < 2:
            return f"Factor “{name}” has scores at the one level “{of_factor[0]}”; a comparison needs two."
    cells = int(np.prod([len(each) for each in levels.values()]))
    return f"The design has {cells} cells, more than {MOST_CELLS}." if cells > MOST_CELLS else ""


def _effect(cells: _Cells, term: tuple[str, ...]) -> Effect:
    contrast = cells.contrast({name: _helmert(len(cells.levels[name])) for name in term})
    found = wald(
        contrast @ cells.means, contrast @ cells.weights, cells.basis, cells.residuals, cells.participant
    )
    return Effect(term, found.numerator, found.denominator, found.f, found.p)


def _helmert(levels: int) -> FloatArray:
    """(levels - 1, levels) orthonormal contrasts; a test does not depend on which ones."""
    rows: FloatArray = scipy.linalg.helmert(levels)
    return rows


class _Tested(NamedTuple):
    """An estimate with its interval and p-values."""

    value: float
    interval: Interval
    p: float
    p_holm: float


def _tested(cells: _Cells, contrast: FloatArray, level: float) -> list[_Tested]:
    """Estimates of the rows of a contrast, with Holm's correction over all of them."""
    found = errors(contrast @ cells.weights, cells.basis, cells.residuals, cells.participant)
    values = (contrast @ cells.means).tolist()
    halves = [t(freedom, level) * error for error, freedom in zip(found.values, found.freedom, strict=True)]
    p = [two_sided_p(*each) for each in zip(values, found.values, found.freedom, strict=True)]
    return [
        _Tested(value, Interval(value - half, value + half, level, "t"), own, corrected)
        for value, half, own, corrected in zip(values, halves, p, holm(p), strict=True)
    ]


def _means(cells: _Cells, name: str, level: float) -> list[LevelMean]:
    of_factor = cells.levels[name]
    contrast = cells.contrast({name: np.eye(len(of_factor))})
    return [
        LevelMean(name, of_factor[index], len(set(cells.participant[inside].tolist())), *tested[:2])
        for index, tested in enumerate(_tested(cells, contrast, level))
        for inside in [(contrast[index] > 0)[cells.cell]]
    ]


def _pairs(levels: Sequence[str]) -> tuple[list[tuple[str, str]], FloatArray]:
    """Every two levels, and (pairs, levels) the contrasts that subtract the second from the first."""
    pairs = list(combinations(range(len(levels)), 2))
    rows = np.zeros((len(pairs), len(levels)))
    for row, (first, second) in enumerate(pairs):
        rows[row, first], rows[row, second] = 1, -1
    return [(levels[first], levels[second]) for first, second in pairs], rows


def _differences(cells: _Cells, name: str, level: float) -> list[LevelDifference]:
    pairs, rows = _pairs(cells.levels[name])
    tested = _tested(cells, cells.contrast({name: rows}), level)
    return [
        LevelDifference(name, first, second, *each)
        for (first, second), each in zip(pairs, tested, strict=True)
    ]


def _interactions(cells: _Cells, names: tuple[str, str], level: float) -> list[DifferenceOfDifferences]:
    (one, one_rows), (other, other_rows) = (_pairs(cells.levels[name]) for name in names)
    if len(one) * len(other) > MOST_CONTRASTS:
        return []
    contrast = cells.contrast(dict(zip(names, (one_rows, other_rows), strict=True)))
    return [
        DifferenceOfDifferences(names, first, second, *each)
        for (first, second), each in zip(product(one, other), _tested(cells, contrast, level), strict=True)
    ]


def _with_holm(effects: Sequence[Effect]) -> list[Effect]:
    tested = [effect.p for effect in effects if not np.isnan(effect.p)]
    corrected = iter(holm(tested))
    return [effect if np.isnan(effect.p) else replace(effect, p_holm=next(corrected)) for effect in effects]
