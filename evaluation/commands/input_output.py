"""Reading and writing that commands share: groups of units, results as JSON, errors about rows and lines."""

from typing import Any

import numpy as np

from evaluation.files.reading import FileError, Table
from evaluation.rater_agreement.reliability import Alpha
from evaluation.statistics.inference import Estimate, Nouns
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import AnyArray, IntArray, LabelsError, coded


def group_of_units(
    table: Table, unit: str, group: str, *, relation: tuple[str, str] = ("belongs to", "to"), cure: str = ""
) -> tuple[AnyArray, IntArray]:
    """Read the group of each unit, which must be the same in all rows of the unit.

    Args:
        table: the file.
        unit: column that names the unit.
        group: column that names its group.
        relation: words of the refusal before the group of a row, and before that of the unit's first row.
        cure: end of the refusal: what to do.

    Returns:
        Names of the groups, rising, and (units,) their codes, in the order of the units.

    Raises:
        FileError: two rows of a unit name different groups; it names the line of both.
    """
    units, of_row = coded(table.columns[unit])
    names, codes = coded(table.columns[group])
    _, first = np.unique(of_row, return_index=True)
    of_unit: IntArray = codes[first]
    differs = np.flatnonzero(of_unit[of_row] != codes)
    if differs.size:
        row = int(differs[0])
        here, there = relation
        raise FileError(
            f"{table.path}, line {table.lines[row]}, column {group}: unit '{units[of_row[row]]}' {here} "
            f"'{names[codes[row]]}' here, but {there} '{names[of_unit[of_row[row]]]}' in line "
            f"{table.lines[first[of_row[row]]]}.{cure}"
        )
    return names, of_unit


def to_json(value: float | Interval | Undefined) -> float | list[float] | dict[str, str]:
    """Convert a result to JSON: a number, [low, high], or {"cannot_be_told": reason}."""
    if isinstance(value, Undefined):
        return {"cannot_be_told": value.reason}
    return [value.low, value.high] if isinstance(value, Interval) else value


def times(interval: Interval | Undefined, factor: float) -> Interval | Undefined:
    """Convert an interval to another unit, such as percent; a reason stays as it is."""
    return interval if isinstance(interval, Undefined) else interval.scaled(factor)


def interval_to_json(
    estimate: Alpha | Estimate | Undefined, nouns: Nouns, factor: float = 1.0
) -> dict[str, Any]:
    """Interval of an estimate with its level, its method, and a sentence on what it generalises to."""
    interval = estimate if isinstance(estimate, Undefined) else estimate.interval
    if isinstance(estimate, Undefined) or isinstance(interval, Undefined):
        return {"interval": to_json(interval)}
    return {
        "interval": to_json(times(interval, factor)),
        "interval_level": interval.level,
        "interval_method": interval.method,
        "interval_for": estimate.describe_interval(nouns),
    }


def located(error: LabelsError, table: Table, names: dict[str, str]) -> FileError:
    """Convert an error about a row to an error about the line of the file.

    Args:
        error: names a row and a column of the computation.
        table: the file.
        names: by column of the computation, the column of the file.
    """
    column = names.get(error.column, error.column)
    where = "" if error.row is None else f", line {table.lines[error.row]}"
    before = "" if error.earlier is None else f" See line {table.lines[error.earlier]}."
    return FileError(f"{table.path}{where}, column {column}: {error.problem}{before}")
