"""Text in CSV files that a spreadsheet program may open."""

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import cast

# A spreadsheet takes a cell that begins so for a formula, and runs it; some also if it is full-width.
_FORMULA_STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r", "\n")
_MAY_BE_ONE = frozenset((*_FORMULA_STARTS, "'"))
_NUMBERS = frozenset((int, float, type(None)))
_TEXTS = frozenset((str, type(None)))
_TRUTHS = frozenset((bool, type(None)))
_AS_IN_JSON: Mapping[object, object] = {True: "true", False: "false", None: None}


def harmless(text: str) -> str:
    """The text as a cell that no spreadsheet runs: an apostrophe goes before what looks like a formula.

    A text that has such an apostrophe already gets one more, so that `original` gives every text back.

    Args:
        text: any text, untrusted.
    """
    return "'" + text if text.lstrip("'").startswith(_FORMULA_STARTS) else text


def original(cell: str) -> str:
    """The text that `harmless` made this cell of.

    Args:
        cell: as read from a CSV file.
    """
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(_FORMULA_STARTS) else cell


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Rows as CSV text without live formulas.

    Args:
        rows: cells as in `cell`, in each row as many; a header is the first row.
    """
    return csv_of(zip(*rows, strict=True))


def csv_of(columns: Iterable[Sequence[object]]) -> str:
    """The same of columns, all of them equally long.

    Of millions of values nearly all stand as they are, which is found out column by column: to look at each
    by itself would take half of the time.
    """
    buffer = io.StringIO()
    csv.writer(buffer).writerows(zip(*map(_cells, columns), strict=True))
    return buffer.getvalue()


def _cells(column: Sequence[object]) -> Iterable[object]:
    """What `cell` makes of each value."""
    kinds = set(map(type, column))
    if kinds <= _NUMBERS:
        return column
    if kinds <= _TRUTHS:
        return map(_AS_IN_JSON.__getitem__, column)
    if kinds <= _TEXTS:
        texts = cast(Sequence[str | None], column)
        if _MAY_BE_ONE.isdisjoint({text[:1] for text in texts if text}):
            return column
    return map(cell, column)


def cell(value: object) -> object:
    """A value as it stands in a CSV file: untrusted texts without live formulas, truth values as in JSON.

    Args:
        value: text, number, truth value or None (an empty cell).
    """
    if isinstance(value, str):
        return harmless(value)
    return str(value).lower() if isinstance(value, bool) else value
