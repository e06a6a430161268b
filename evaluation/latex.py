"""Text, numbers and tables in LaTeX that needs no package. What others wrote is printed, never run."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from evaluation.printed import MINUS, NO_BREAK, figure, p_value

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
