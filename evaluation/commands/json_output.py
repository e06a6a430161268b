"""Results as JSON, and errors about rows as errors about lines; shared by the commands."""

from typing import Any

from evaluation.files.reading import FileError, Table
from evaluation.rater_agreement.reliability import Alpha
from evaluation.statistics.inference import Estimate, Nouns
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import LabelsError


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
