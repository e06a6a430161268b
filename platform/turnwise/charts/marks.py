"""Shared parts of interactive charts: a mark with its text and link."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evaluation.files.writing import figure, with_unit

Cell: TypeAlias = Mapping[str, Any]
Plot: TypeAlias = dict[str, Any]


class DrilldownLink(Protocol):
    """Function that returns the address of the data behind a mark; "" if there is none."""

    def __call__(
        self, system: str, *, reply: int = 0, question: str = "", score: str = "", ask: int = 0
    ) -> str:
        """Address for one system.

        Args:
            system: name of the bot or other system in the report.
            reply: only conversations from this reply on.
            question: key of the question to filter by.
            score: key of the score to filter by.
            ask: number of the ask that question and score belong to, from 0.
        """


def plain_words() -> Plot:
    """Texts of the page's script."""
    return {
        "show": _("Show"),
        "published": _("Published"),
        "hint": _("Point at a mark for its numbers; open it to read what is behind it."),
        "tap": _("Tap again to read."),
    }


def mark(cell: Cell, words: list[str], address: str) -> Plot | None:
    """Mark of a value, with its interval if there is one; None without a value."""
    if cell["value"] is None:
        return None
    ends = {end: cell[end] for end in ("low", "high") if cell.get(end) is not None}
    return {"value": cell["value"], **ends, "words": [word for word in words if word], "href": address}


def format_score(title: str, cell: Cell, unit: str) -> str:
    if cell["value"] is None:
        return title
    return f"{title} {between(cell, 1, '%' if unit == 'percent' else '')}"


def between(cell: Cell, digits: int, unit: str = "") -> str:
    """Value with its interval, such as 75.0 % (61.1 to 85.0)."""
    value = figure(cell["value"], digits)
    value = with_unit(value, unit) if unit else value
    if cell.get("low") is None:
        return value
    ends = {"low": figure(cell["low"], digits), "high": figure(cell["high"], digits)}
    return value + _(" (%(low)s to %(high)s)") % ends


def labels(n: int) -> str:
    return ngettext("%(n)d label", "%(n)d labels", n) % {"n": n}


def conversations(n: int) -> str:
    return ngettext("%(n)d conversation", "%(n)d conversations", n) % {"n": n}


def scatter(
    across: str,
    up: str,
    points: Sequence[Plot],
    ends_across: tuple[float, float] | None,
    ends_up: tuple[float, float],
) -> Plot:
    """Scatter plot in a square.

    Args:
        across: title of the horizontal axis.
        up: title of the vertical axis.
        points: each has `system`, `published`, its cell `across`, and its mark.
        ends_across: ends of the horizontal axis; None for those of the points.
        ends_up: ends of the vertical axis.
    """
    systems = [point["system"] for point in points if not point["published"]]
    return {
        "kind": "scatter", "systems": systems, "across": across, "up": up, "points": list(points),
        "ends_across": ends_across, "ends_up": ends_up,
    }  # fmt: skip
