"""Numbers as everything prints them: a minus sign, never a p of 0, and no end of a line before a unit.

Text, numbers and tables in LaTeX that needs no package. What others wrote is printed, never run.

Text in CSV files that a spreadsheet program may open.
"""

import csv
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

MINUS = "\u2212"
NO_BREAK = "\u00a0"
"""Between a number and its unit; in templates `&nbsp;`."""


def figure(value: float, digits: int = 1) -> str:
    """A number with so many digits; zero has no sign."""
    return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", MINUS)


def signed(value: float, digits: int = 1) -> str:
    """The same with a plus before what is above zero."""
    shown = figure(value, digits)
    return f"+{shown}" if not shown.startswith(MINUS) and float(shown) > 0 else shown


def p_value(p: float | None) -> str:
    """A p-value with three digits, as papers have it; the smallest is a bound."""
    if p is None:
        return "unknown"
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def p_equals(p: float | None) -> str:
    """The same in a sentence: p = 0.042, p < 0.001."""
    shown = p_value(p)
    return f"p {shown}" if shown.startswith("<") else f"p = {shown}"


def percent(share: float) -> str:
    """A level or a share as it stands in sentences: 95 %."""
    return with_unit(f"{100 * share:g}", "%")


def with_unit(number: str, unit: str) -> str:
    """Both on one line, however narrow the page: 95 %, 12 ms."""
    return f"{number}{NO_BREAK}{unit}"


_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "%": r"\%",
    "_": r"\_", "^": r"\textasciicircum{}", "~": r"\textasciitilde{}", "<": r"\textless{}",
    ">": r"\textgreater{}", "|": r"\textbar{}", '"': "''", "`": r"\`{}", NO_BREAK: "~",
    # After the end of a row these would be its options.
    "[": "{[}", "*": "{*}",
}  # fmt: skip
UNKNOWN = "--"


def escaped(text: str) -> str:
    """Text of others as LaTeX prints it: no command of theirs runs, no line of theirs begins a new one."""
    plain = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", text)
    return "".join(_SPECIAL.get(character, character) for character in plain)


def number(value: float | None, digits: int = 1) -> str:
    """With a minus sign, not a hyphen, and no minus before zero; a dash where there is none."""
    return UNKNOWN if value is None else figure(value, digits).replace(MINUS, "$-$")


def estimate(cell: Mapping[str, Any], value: str = "value", digits: int = 1) -> str:
    """A number under this key, with the ends of its interval in brackets if it has one."""
    if cell.get(value) is None:
        return UNKNOWN
    ends = f" [{number(cell['low'], digits)}, {number(cell['high'], digits)}]" if "low" in cell else ""
    return number(cell[value], digits) + ends


def p(value: float | None) -> str:
    """A p-value with three digits."""
    return UNKNOWN if value is None else p_value(value).replace("<", "$<$")


def table(
    alignment: str,
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    notes: str,
    *,
    above: Sequence[str] = (),
) -> str:
    """A tabular; what it shows is said in a comment above.

    Args:
        alignment: a letter for each column.
        head: titles of the columns, escaped.
        rows: of each its cells, escaped.
        notes: for the comment, as plain text.
        above: rows of one cell over the head, escaped.
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
