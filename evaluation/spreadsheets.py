"""Text in CSV files that a spreadsheet program may open."""

import csv
import io
from collections.abc import Iterable, Sequence

# A spreadsheet takes a cell that begins so for a formula, and runs it; some also if it is full-width.
_FORMULA_STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r", "\n")
_MAY_BE_ONE = frozenset((*_FORMULA_STARTS, "'"))
_AS_THEY_ARE = frozenset((int, float, type(None)))


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
        rows: cells as in `cell`; a header is the first row.
    """
    buffer = io.StringIO()
    # Of millions of values nearly all stand as they are: a call for each would take half of the time.
    csv.writer(buffer).writerows(
        [
            value
            if value.__class__ in _AS_THEY_ARE or (isinstance(value, str) and value[:1] not in _MAY_BE_ONE)
            else cell(value)
            for value in row
        ]
        for row in rows
    )
    return buffer.getvalue()


def cell(value: object) -> object:
    """A value as it stands in a CSV file: untrusted texts without live formulas, truth values as in JSON.

    Args:
        value: text, number, truth value or None (an empty cell).
    """
    if isinstance(value, str):
        return harmless(value)
    return str(value).lower() if isinstance(value, bool) else value
