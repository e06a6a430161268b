"""Reading tables from CSV and JSON Lines files; every error names the line and the column.

`missing_value_codes` finds values that look like codes for "no answer"; only a person who knows the data can
say whether they are.
"""

import csv
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from _csv import Reader


T = TypeVar("T")

_TRUE = {"1", "true", "yes"}
_FALSE = {"0", "false", "no"}
_LARGEST = 1e100  # squares of larger numbers, and their sums, can leave the range of a float


_WHOLE = re.compile(r"[+-]?[0-9]+")
_DECIMAL = re.compile(r"[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)(e[+-]?[0-9]+)?", re.IGNORECASE)
_NOT_FINITE = re.compile(r"[+-]?(nan|inf|infinity)", re.IGNORECASE)
_LONGEST = 4_000  # digits; Python's own limit for numbers is slightly higher


class FileError(ValueError):
    """A file that cannot be used; the message says where and why."""


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

    def without(self, column: str, values: Sequence[str]) -> "Table":
        """Drop rows with one of these values in this column.

        Args:
            column: name of a column of this table.
            values: values as written in the file.

        Raises:
            FileError: no row remains.
        """
        keep = [row for row, cell in enumerate(self.columns[column]) if cell not in values]
        if not keep:
            raise FileError(f"{self.path}, column {column}: every value is declared missing.")
        columns = {name: [cells[row] for row in keep] for name, cells in self.columns.items()}
        return Table(self.path, [self.lines[row] for row in keep], columns)

    def converted(self, column: str, convert: Callable[[str], T]) -> list[T]:
        """Convert the cells of one column, in the order of the rows.

        Args:
            column: name of a column of this table.
            convert: converts a cell, or raises `ValueError` with the reason.

        Raises:
            FileError: `convert` raised `ValueError`; names line, column and reason.
        """
        values = []
        for line, text in zip(self.lines, self.columns[column], strict=True):
            try:
                values.append(convert(text))
            except ValueError as error:
                raise FileError(f"{self.path}, line {line}, column {column}: {error}") from None
        return values


def read_table(
    path: Path, columns: Sequence[str], may_lack: Sequence[str] = (), may_be_empty: Sequence[str] = ()
) -> Table:
    """Read the named columns of a CSV file with a header line (UTF-8, comma).

    Args:
        path: the file.
        columns: required columns, with a value in each row.
        may_lack: optional columns; their cells may be empty.
        may_be_empty: required columns whose cells may be empty.

    Raises:
        FileError: no such file, not UTF-8, no header, a missing column, a row with another length than the
            header, an empty cell in a required column, or no rows.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            return _read(path, csv.reader(file, strict=True), columns, may_lack, may_be_empty)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}. Give the path of a CSV file.") from None
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: byte {error.start} is not UTF-8. Save the file as UTF-8.") from None


def _read(
    path: Path, reader: "Reader", columns: Sequence[str], may_lack: Sequence[str], may_be_empty: Sequence[str]
) -> Table:
    lines: list[int] = []
    rows: list[list[str]] = []
    try:
        header = [name.strip() for name in next(reader, [])]
        positions = [_position(path, header, name) for name in columns]
        others = [name for name in may_lack if name in header]
        other_positions = [_position(path, header, name) for name in others]
        start = reader.line_num + 1
        for row in reader:
            if row:
                cells = _cells(path, start, row, header, positions, may_be_empty)
                rows.append([*cells, *(row[k].strip() for k in other_positions)])
                lines.append(start)
            start = reader.line_num + 1
    except csv.Error as error:
        raise FileError(
            f"{path}, line {reader.line_num}: {error}. Is a quotation mark left open above?"
        ) from None
    if not rows:
        raise FileError(f"{path}: no rows below the header.")
    names = [*columns, *others]
    return Table(path, lines, {name: [row[k] for row in rows] for k, name in enumerate(names)})


def _position(path: Path, header: Sequence[str], name: str) -> int:
    if name not in header:
        _refuse_other_separator(path, header)
        names = ", ".join(filter(None, header)) or "nothing"
        raise FileError(f"{path}, line 1: there is no column {name}. The header has: {names}.")
    if header.count(name) > 1:
        raise FileError(
            f"{path}, line 1: {header.count(name)} columns are called {name}. Rename all but one."
        )
    return header.index(name)


def _refuse_other_separator(path: Path, header: Sequence[str]) -> None:
    for separator, called in ((";", "semicolons"), ("\t", "tabs")):
        if len(header) == 1 and separator in header[0]:
            raise FileError(
                f"{path}, line 1: the columns are separated by {called}. Save the file with commas, as "
                f"“CSV UTF-8 (comma delimited)” or by your program's option for the separator."
            )


def _cells(
    path: Path, line: int, row: Sequence[str], header: Sequence[str], positions: Sequence[int],
    may_be_empty: Sequence[str],
) -> list[str]:  # fmt: skip
    if len(row) != len(header):
        column = header[min(len(row), len(header) - 1)]
        raise FileError(
            f"{path}, line {line}, column {column}: the row has {len(row)} cells, the header {len(header)}."
        )
    cells = [row[k].strip() for k in positions]
    empty = (header[k] for k, cell in zip(positions, cells, strict=True) if not cell)
    for column in (name for name in empty if name not in may_be_empty):
        raise FileError(f"{path}, line {line}, column {column}: empty. Fill it in or leave the row out.")
    return cells


def boolean(text: str) -> bool:
    """Parse a boolean: 1, true or yes; 0, false or no; upper or lower case.

    Raises:
        ValueError: any other text; names it.
    """
    if text.casefold() in _TRUE | _FALSE:
        return text.casefold() in _TRUE
    raise ValueError(f"'{text}' is neither true (1, true, yes) nor false (0, false, no).")


def whole_number(text: str) -> int:
    """Parse an integer of at most 64 bits in ASCII digits, with an optional sign.

    Raises:
        ValueError: any other text; names it.
    """
    if not _WHOLE.fullmatch(text) or len(text) > _LONGEST:
        raise ValueError(f"'{text}' is not a whole number{_plainly(text)}.")
    value = int(text)
    if abs(value) >= 2**63:
        raise ValueError(f"'{text}' is too large; the largest whole number is {2**63 - 1}.")
    return value


def number(text: str) -> float:
    """Parse a decimal number whose square is finite.

    Raises:
        ValueError: any other text; names it.
    """
    if _NOT_FINITE.fullmatch(text):
        raise ValueError(f"'{text}' is not a finite number.")
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"'{text}' is not a number{_plainly(text)}.")
    value = float(text)
    if abs(value) > _LARGEST:
        raise ValueError(f"'{text}' is too large for a rating; the largest is {_LARGEST:g}.")
    return value


def _plainly(text: str) -> str:
    """Advice for a text that only looks like a number (other digits, underscores, a comma); else empty."""
    looks = any(sign.isdigit() for sign in text) and not any(sign.isalpha() for sign in text)
    return "; write it with the digits 0 to 9 and a point" if looks else ""


def number_from_zero(text: str) -> float:
    """Parse a finite decimal number that is not negative.

    Raises:
        ValueError: any other text; names it.
    """
    value = number(text)
    if value < 0:
        raise ValueError(f"'{text}' is negative; the ratio level needs numbers from 0 upward.")
    return value


Row = tuple[str, Mapping[str, Any]]
"""Location of a row for error messages, and its cells; cells of CSV are text."""


def read_rows(path: Path) -> Iterator[Row]:
    """Read the rows of a file: JSON Lines if its name ends in `.jsonl`, otherwise CSV.

    Raises:
        FileError: no such file, not UTF-8, or an invalid line; names the line.
    """
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            yield from _json_rows(path, file) if path.suffix == ".jsonl" else _csv_rows(path, file)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}. Give the path of a CSV or .jsonl file.") from None
    except UnicodeDecodeError as error:
        raise FileError(f"{path}: byte {error.start} is not UTF-8. Save the file as UTF-8.") from None


def _csv_rows(path: Path, file: Iterable[str]) -> Iterator[Row]:
    reader = csv.DictReader(file)
    try:
        for row in reader:
            yield f"{path}, line {reader.line_num}", row
    except csv.Error as error:
        raise FileError(f"{path}, line {reader.line_num}: {error}. Save the file as CSV again.") from None


def _json_rows(path: Path, file: Iterable[str]) -> Iterator[Row]:
    for number, line in enumerate(file, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise FileError(f"{path}, line {number}: {error}. Write one JSON object a line.") from None
        if not isinstance(row, dict):
            raise FileError(f"{path}, line {number}: not a JSON object. Write one a line.")
        yield f"{path}, line {number}", row


_WORDS = re.compile(
    r"""(n\s*/\s*a|n\.a\.?|na|nan|none|null|nil|missing|unknown|undefined|unlabell?ed|skip(ped)?|refused
    |no\ (answer|response|rating|label)|not\ (applicable|available|answered|rated|sure)
    |(i\ )?do(\ not|n['\u2019]?t)\ know|dk|[-\u2013\u2014]+|\.+|\?+|\#n/a)(?!\w)""",
    re.VERBOSE | re.IGNORECASE,
)
_BELOW = {-8, -9, -88, -97, -98, -99, -888, -999, -9999}
_ABOVE = {88, 98, 99, 888, 998, 999, 9999}


def missing_value_codes(values: Iterable[str]) -> list[str]:
    """Find distinct values that look like codes for a missing rating, in order.

    These are values that begin with words such as "N/A" or "don't know", and outlying numbers such as -99 or
    999: negative if no other number is, or more than twice as large as the others.
    """
    distinct = sorted(set(values))
    numbers = {value: number for value in distinct if (number := _number(value)) is not None}
    usual = [number for number in numbers.values() if number not in _BELOW | _ABOVE]
    codes = []
    for value in distinct:
        number = numbers.get(value)
        if number is None:
            looks = _WORDS.match(value) is not None
        else:
            looks = bool(usual) and (
                (number in _BELOW and min(usual) >= 0) or (number in _ABOVE and number > 2 * max(usual))
            )
        if looks:
            codes.append(value)
    return codes


def _number(value: str) -> float | None:
    try:
        number = float(value)
    except ValueError:
        return None
    return number if number == number else None


def folded(value: str) -> str:
    """Reduce a text to what is left without case, repeated blanks and ways to encode accents."""
    return " ".join(unicodedata.normalize("NFC", value).casefold().split())


def alike_spellings(values: Sequence[str]) -> list[list[str]]:
    """Find distinct values that differ only in case or blanks, such as "Yes" and "yes".

    Returns:
        Groups of two or more values, in the order of their first occurrence; in each group the most frequent
        value first.
    """
    counts = Counter(values)
    groups: dict[str, list[str]] = {}
    for value in counts:
        groups.setdefault(folded(value), []).append(value)
    return [sorted(group, key=lambda each: -counts[each]) for group in groups.values() if len(group) > 1]
