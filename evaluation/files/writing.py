"""Formatting of numbers, LaTeX tables and CSV files.

Numbers have a minus sign, p-values are never 0, and no line breaks before a unit. LaTeX needs no package.
Untrusted text is escaped: LaTeX never runs it as commands, spreadsheets never as formulas.
"""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, cast

MINUS = "\u2212"
NO_BREAK = "\u00a0"
"""Between a number and its unit; in templates `&nbsp;`."""


# A report of 30 systems prints 32,000 numbers, most of them twice, and is read again and again.
@lru_cache(maxsize=32_768)
def figure(value: float, digits: int = 1) -> str:
    """Format a number with this number of decimals, from a million on as 2.7e23; zero has no sign."""
    if abs(value) >= 1e6:  # such as the upper end of an odds ratio that two raters leave open
        return f"{value:.1e}".replace("e+0", "e").replace("e+", "e").replace("-", MINUS)
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", MINUS)


def signed(value: float, digits: int = 1) -> str:
    """Format a number like `figure`, with a plus sign if it is positive."""
    text = figure(value, digits)
    return f"+{text}" if not text.startswith(MINUS) and float(text) > 0 else text


def p_value(p: float | None) -> str:
    """Format a p-value with three digits, as papers do; the smallest is "< 0.001"."""
    if p is None:
        return "unknown"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def p_equals(p: float | None) -> str:
    """Format a p-value for a sentence: p = 0.042, p < 0.001."""
    text = p_value(p)
    return f"p {text}" if text.startswith("<") else f"p = {text}"


def percent(share: float) -> str:
    """Format a level or a share for a sentence: 95 %."""
    return with_unit(f"{100 * share:g}", "%")


def with_unit(number: str, unit: str) -> str:
    """Join a number and its unit by a space that does not break: 95 %, 12 ms."""
    return f"{number}{NO_BREAK}{unit}"


_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%",
    "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''", "`": r"\`{}", NO_BREAK: "~",
    # At the start of a row LaTeX would read these as options of the row end.
    "[": "{[}", "*": "{*}",
}  # fmt: skip
UNKNOWN = "--"


def escaped(text: str) -> str:
    """Escape untrusted text for LaTeX, so that it cannot contain commands or line breaks."""
    plain = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", text)
    return "".join(_SPECIAL.get(character, character) for character in plain)


def number(value: float | None, digits: int = 1) -> str:
    """Format a number for LaTeX, with a minus sign in math mode; a dash for None."""
    return UNKNOWN if value is None else figure(value, digits).replace(MINUS, "$-$")


def estimate(cell: Mapping[str, Any], value: str = "value", digits: int = 1) -> str:
    """Format the number under this key for LaTeX, with its interval in brackets if there is one."""
    if cell.get(value) is None:
        return UNKNOWN
    ends = f" [{number(cell['low'], digits)}, {number(cell['high'], digits)}]" if "low" in cell else ""
    return number(cell[value], digits) + ends


def p(value: float | None) -> str:
    """Format a p-value for LaTeX with three digits; a dash for None."""
    return UNKNOWN if value is None else p_value(value).replace("<", "$<$")


def table(
    alignment: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    notes: str,
    *,
    above: Sequence[str] = (),
) -> str:
    """Make a LaTeX tabular, with notes in a comment above it.

    Args:
        alignment: a letter for each column.
        head: titles of the columns, escaped.
        rows: cells of each row, escaped.
        notes: text of the comment, plain.
        above: rows of one cell above the head, escaped.
    """
    lines = [" & ".join(row) + r" \\" for row in rows]
    return "\n".join(
        [
            f"% {' '.join(notes.split())}",
            rf"\begin{{tabular}}{{{alignment}}}",
            r"\hline",
            *((*(rf"{cell} \\" for cell in above), r"\hline") if above else ()),
            " & ".join(head) + r" \\",
            r"\hline",
            *lines,
            r"\hline",
            r"\end{tabular}",
            "",
        ]
    )


# Spreadsheets run a cell that begins with one of these as a formula; some do so for full-width signs.
_FORMULA_STARTS = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20", "\t", "\r", "\n")
_MAY_BE_ONE = frozenset((*_FORMULA_STARTS, "'"))
_NUMBERS = frozenset((int, float, type(None)))
_TEXTS = frozenset((str, type(None)))
_TRUTHS = frozenset((bool, type(None)))
_AS_IN_JSON: Mapping[object, object] = {True: "true", False: "false", None: None}


def harmless(text: str) -> str:
    """Make a cell that no spreadsheet runs, by an apostrophe before anything that looks like a formula.

    A text that already has such an apostrophe gets another one, so that `original` restores every text.

    Args:
        text: any text, untrusted.
    """
    return "'" + text if text.lstrip("'").startswith(_FORMULA_STARTS) else text


def original(cell: str) -> str:
    """Restore the text from a cell made by `harmless`.

    Args:
        cell: as read from a CSV file.
    """
    return cell[1:] if cell.startswith("'") and cell.lstrip("'").startswith(_FORMULA_STARTS) else cell


def csv_text(rows: Iterable[Sequence[object]]) -> str:
    """Write rows as CSV text without live formulas.

    Args:
        rows: values as in `cell`, equally many in each row; the first row is the header.
    """
    return csv_of(zip(*rows, strict=True))


def csv_of(columns: Iterable[Sequence[object]]) -> str:
    """Write equally long columns as CSV text without live formulas.

    Nearly all values need no change. That is checked column by column, since a check of each single value
    would take half of the time.
    """
    buffer = io.StringIO()
    csv.writer(buffer).writerows(zip(*map(_cells, columns), strict=True))
    return buffer.getvalue()


def _cells(column: Sequence[object]) -> Iterable[object]:
    """Apply `cell` to each value, skipping columns that need no change."""
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
    """Convert a value for a CSV file: untrusted texts without live formulas, truth values as in JSON.

    Args:
        value: text, number, truth value or None (an empty cell).
    """
    if isinstance(value, str):
        return harmless(value)
    return str(value).lower() if isinstance(value, bool) else value
