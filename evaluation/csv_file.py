"""Reading columns of a CSV file; every error names the line and the column."""

import csv
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from _csv import Reader

T = TypeVar("T")

_TRUE = {"1", "true", "yes"}
_FALSE = {"0", "false", "no"}
_LARGEST = 1e100  # squares of what lies beyond, and sums of them, can leave the range of a float


class FileError(ValueError):
    """A file that cannot be used, with where and why."""


@dataclass(frozen=True, slots=True)
class Table:
    """Some columns of a CSV file as text.

    Attributes:
        path: the file.
        lines: for each row, the line of the file on which it starts, counted from 1.
        columns: values by column name, in file order, without surrounding spaces.
    """

    path: Path
    lines: Sequence[int]
    columns: dict[str, list[str]]

    def converted(self, column: str, convert: Callable[[str], T]) -> list[T]:
        """One column through `convert`.

        Raises:
            FileError: `convert` raised `ValueError`; names line and column and gives its message.
        """
        values = []
        for line, text in zip(self.lines, self.columns[column], strict=True):
            try:
                values.append(convert(text))
            except ValueError as error:
                raise FileError(f"{self.path}, line {line}, column {column}: {error}") from None
        return values


def read_table(path: Path, columns: Sequence[str]) -> Table:
    """Read the named columns of a CSV file with a header line (UTF-8, comma).

    Raises:
        FileError: no such file, not UTF-8, no header, a missing column, a row of other length than the
            header, an empty cell in a named column, or no rows.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return _read(path, csv.reader(file, strict=True), columns)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}. Give the path of a CSV file.") from None
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: byte {error.start} is not UTF-8. Save the file as UTF-8.") from None


def _read(path: Path, reader: "Reader", columns: Sequence[str]) -> Table:
    lines: list[int] = []
    rows: list[list[str]] = []
    try:
        header = [name.strip() for name in next(reader, [])]
        chosen = [_position(path, header, name) for name in columns]
        start = reader.line_num + 1
        for row in reader:
            if row:
                rows.append(_cells(path, start, row, header, chosen))
                lines.append(start)
            start = reader.line_num + 1
    except csv.Error as error:
        raise FileError(
            f"{path}, line {reader.line_num}: {error}. Is a quotation mark left open above?"
        ) from None
    if not rows:
        raise FileError(f"{path}: no rows below the header.")
    return Table(path, lines, {name: [row[k] for row in rows] for k, name in enumerate(columns)})


def _position(path: Path, header: Sequence[str], name: str) -> int:
    if name not in header:
        found = ", ".join(filter(None, header)) or "nothing"
        raise FileError(f"{path}, line 1: there is no column {name}. The header has: {found}.")
    if header.count(name) > 1:
        raise FileError(
            f"{path}, line 1: {header.count(name)} columns are called {name}. Rename all but one."
        )
    return header.index(name)


def _cells(
    path: Path, line: int, row: Sequence[str], header: Sequence[str], chosen: Sequence[int]
) -> list[str]:
    if len(row) != len(header):
        column = header[min(len(row), len(header) - 1)]
        raise FileError(
            f"{path}, line {line}, column {column}: the row has {len(row)} cells, the header {len(header)}."
        )
    cells = [row[k].strip() for k in chosen]
    if "" in cells:
        column = header[chosen[cells.index("")]]
        raise FileError(f"{path}, line {line}, column {column}: empty. Fill it in or leave the row out.")
    return cells


def boolean(text: str) -> bool:
    """1, true or yes; 0, false or no; in any case."""
    if text.casefold() in _TRUE | _FALSE:
        return text.casefold() in _TRUE
    raise ValueError(f"'{text}' is neither true (1, true, yes) nor false (0, false, no).")


def whole_number(text: str) -> int:
    """An integer in decimal digits, of at most 64 bits."""
    try:
        value = int(text)
    except ValueError:
        raise ValueError(f"'{text}' is not a whole number.") from None
    if abs(value) >= 2**63:
        raise ValueError(f"'{text}' is too large; the largest whole number is {2**63 - 1}.")
    return value


def number(text: str) -> float:
    """A decimal number whose square is finite, too."""
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"'{text}' is not a number.") from None
    if value - value != 0:
        raise ValueError(f"'{text}' is not a finite number.")
    if abs(value) > _LARGEST:
        raise ValueError(f"'{text}' is too large for a rating; the largest is {_LARGEST:g}.")
    return value


def number_from_zero(text: str) -> float:
    """A finite decimal number that is not negative."""
    value = number(text)
    if value < 0:
        raise ValueError(f"'{text}' is negative; the ratio level needs numbers from 0 upward.")
    return value
