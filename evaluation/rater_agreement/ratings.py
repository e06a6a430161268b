"""Ratings of units by raters on one question (the input of every coefficient), and their distances."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from evaluation.questions import Level
from evaluation.statistics.labels import AnyArray, BoolArray, FloatArray, IntArray, LabelsError, coded


class Metric(StrEnum):
    """Distance between two ratings c and k that weighs their disagreement in alpha."""

    NOMINAL = "nominal"
    """0 if equal, else 1."""
    ORDINAL = "ordinal"
    """Squared difference of mid-ranks: how many ratings lie between the two."""
    INTERVAL = "interval"
    """(c - k)²."""
    RATIO = "ratio"
    """((c - k) / (c + k))²; ratings must not be negative."""


def metric_of(level: Level) -> Metric:
    """Distance for a question's level of measurement; binary answers are nominal."""
    return Metric.NOMINAL if level is Level.BINARY else Metric(level.value)


def numbers(values: AnyArray, metric: Metric) -> FloatArray:
    """Convert ratings to numbers.

    Args:
        values: (c,) ratings of any type.
        metric: the distance to be used.

    Raises:
        ValueError: a rating is not a number, or is negative for the ratio distance.
    """
    if values.dtype.kind not in "iufb":
        raise ValueError(
            f"The {metric} distance needs numbers, but a rating is '{values[0]}'. Give ratings as numbers in "
            f"their order, or use the nominal distance."
        )
    number = values.astype(np.float64)
    if metric is Metric.RATIO and number.min() < 0:
        raise ValueError(f"The ratio distance needs ratings from 0 upward, but one is {number.min():g}.")
    return number


@dataclass(frozen=True, eq=False)
class Ratings:
    """One entry per rating, as codes. Missing ratings are absent.

    Build it with `from_columns`, `from_matrix` or `from_counts`.

    Attributes:
        unit: (n,) code of the rated unit, in [0, units).
        rater: (n,) code of the rater, in [0, raters).
        value: (n,) code of the rating, in [0, len(values)).
        units: number of units.
        raters: number of raters.
        values: (c,) the distinct ratings in rising order.
    """

    unit: IntArray
    rater: IntArray
    value: IntArray
    units: int
    raters: int
    values: AnyArray

    @classmethod
    def from_columns(
        cls,
        unit: ArrayLike,
        rater: ArrayLike,
        value: ArrayLike,
        scale: Sequence[Hashable] | None = None,
    ) -> "Ratings":
        """Build ratings from three columns (n,) of identifiers and ratings.

        Args:
            unit: the rated units.
            rater: the raters.
            value: the ratings.
            scale: all possible ratings in rising order; None: those that occur. The scale matters for
                weighted and free-marginal kappa, where a rating that nobody gave still counts.

        Raises:
            LabelsError: columns of different length, a rating that is not on the scale, or two ratings of
                one unit by the same rater; names the row.
        """
        unit, rater, value = np.asarray(unit), np.asarray(rater), np.asarray(value)
        if not unit.shape == rater.shape == value.shape:
            raise LabelsError(f"The columns have {unit.size}, {rater.size} and {value.size} rows.", "value")
        (units, u), (raters, r), (values, v) = coded(unit), coded(rater), coded(value)
        _refuse_duplicates(u * max(len(raters), 1) + r, unit, rater)
        if scale is not None:
            values, v = np.asarray(scale), _on_scale(values, v, scale)
        return cls(u, r, v, len(units), len(raters), values)

    @classmethod
    def from_matrix(cls, matrix: ArrayLike) -> "Ratings":
        """Build ratings from a matrix of numbers.

        Args:
            matrix: (raters, units); NaN is a missing rating, and a unit may have none.
        """
        table = np.atleast_2d(np.asarray(matrix, dtype=np.float64))
        present = ~np.isnan(table)
        raters, units = table.shape
        if present.all():
            rater, unit = np.repeat(np.arange(raters), units), np.tile(np.arange(units), raters)
            values, codes = coded(table.ravel())
        else:
            rater, unit = np.nonzero(present)
            values, codes = coded(table[present])
        return cls(unit, rater, codes, units, raters, values)

    @classmethod
    def from_counts(cls, counts: ArrayLike, values: Sequence[Hashable] | None = None) -> "Ratings":
        """Build ratings from the number of raters who gave unit u the rating c.

        The identity of raters is unknown, so they are numbered within each unit. Use the result only with
        coefficients that do not distinguish raters (alpha, Fleiss' kappa, percent agreement).

        Args:
            counts: (units, c) whole numbers.
            values: the c ratings in rising order; by default 0 to c - 1.
        """
        table = np.asarray(counts, dtype=np.int64)
        per_unit = table.sum(axis=1)
        unit = np.repeat(np.arange(len(table)), per_unit)
        value = np.repeat(np.tile(np.arange(table.shape[1]), len(table)), table.ravel())
        rater = np.arange(len(unit)) - np.repeat(np.cumsum(per_unit) - per_unit, per_unit)
        names = np.asarray(range(table.shape[1]) if values is None else values)
        return cls(unit, rater, value, len(table), int(per_unit.max(initial=0)), names)

    def __len__(self) -> int:
        return len(self.value)

    @cached_property
    def counts(self) -> FloatArray:
        """(units, c) number of raters who gave each unit each rating."""
        c = len(self.values)
        flat = np.bincount(self.unit * c + self.value, minlength=self.units * c)
        return flat.reshape(self.units, c).astype(np.float64)

    @cached_property
    def pairable(self) -> tuple[FloatArray, FloatArray]:
        """(u, c) counts of the units with at least two ratings, and (u,) their numbers of ratings."""
        per_unit = self.counts @ np.ones(len(self.values))
        enough = per_unit >= 2
        return (self.counts, per_unit) if enough.all() else (self.counts[enough], per_unit[enough])

    @cached_property
    def is_pairable(self) -> BoolArray:
        """(units,) true if the unit has at least two ratings."""
        return np.bincount(self.unit, minlength=self.units) >= 2

    def table(self, first: int, second: int) -> FloatArray:
        """(c, c) number of units to which `first` gave the row's rating and `second` the column's.

        Args:
            first: code of a rater.
            second: code of another rater.
        """
        cells = pair_cells(self, first, second)
        c = len(self.values)
        return np.bincount(cells, minlength=c * c).reshape(c, c).astype(np.float64)


def pair_cells(ratings: Ratings, first: int, second: int) -> IntArray:
    """Cells of the units that two raters share, in the table of their ratings.

    Args:
        ratings: ratings of any number of raters over c values.
        first: code of the rater of the rows.
        second: code of the rater of the columns.

    Returns:
        (p,) row-major cells of the (c, c) table, from 0 to c² - 1.
    """
    by_unit = np.full((2, ratings.units), -1, np.int64)
    for row, rater in enumerate((first, second)):
        mine = ratings.rater == rater
        by_unit[row, ratings.unit[mine]] = ratings.value[mine]
    both = (by_unit >= 0).all(axis=0)
    cells: IntArray = by_unit[0, both] * len(ratings.values) + by_unit[1, both]
    return cells


def _on_scale(values: AnyArray, codes: IntArray, scale: Sequence[Hashable]) -> IntArray:
    """(n,) position of each rating on the scale."""
    position_of = {value: index for index, value in enumerate(scale)}
    positions = np.array([position_of.get(value, -1) for value in values.tolist()], dtype=np.int64)
    outside = positions[codes] < 0
    if outside.any():
        row = int(np.argmax(outside))
        listed = ", ".join(map(str, scale))
        raise LabelsError(f"'{values[codes[row]]}' is not on the scale {listed}.", "value", row)
    on_scale: IntArray = positions[codes]
    return on_scale


def _refuse_duplicates(code: IntArray, unit: AnyArray, rater: AnyArray) -> None:
    order = np.argsort(code, kind="stable")
    repeats = np.flatnonzero(np.diff(code[order]) == 0)
    if repeats.size:
        at = repeats[np.argmin(order[repeats + 1])]
        first, row = int(order[at]), int(order[at + 1])
        raise LabelsError(
            f"rater '{rater[row]}' already rated unit '{unit[row]}'; keep one of the two.",
            "rater",
            row,
            first,
        )
