"""What the charts that are pointed at share: a mark with its numbers in words, and where it leads."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from evaluation.files.writing import figure, with_unit

Cell: TypeAlias = Mapping[str, Any]
Plot: TypeAlias = dict[str, Any]


class Behind(Protocol):
    """The address of what is behind a mark; empty if nothing can be read."""

    def __call__(
        self, system: str, *, reply: int = 0, question: str = "", score: str = "", ask: int = 0
    ) -> str:
        """Of a system as the report calls it.

        Args:
            system: the bot, or who else was judged.
            reply: only from this reply of its conversations on.
            question: by the answers to this question.
            score: by this score.
            ask: of which ask of the study question and score are, from 0.
        """


def plain_words() -> Plot:
    """What the page's script says."""
    return {
        "show": _("Show"),
        "published": _("Published"),
        "hint": _("Point at a mark for its numbers; open it to read what is behind it."),
        "tap": _("Tap again to read."),
    }


def mark(cell: Cell, words: list[str], address: str) -> Plot | None:
    """Where a value lies, with its interval if it has one; None without a value."""
    if cell["value"] is None:
        return None
    ends = {end: cell[end] for end in ("low", "high") if cell.get(end) is not None}
    return {"value": cell["value"], **ends, "words": [word for word in words if word], "href": address}


def said(title: str, cell: Cell, unit: str) -> str:
    if cell["value"] is None:
        return title
    return f"{title} {between(cell, 1, '%' if unit == 'percent' else '')}"


def between(cell: Cell, digits: int, unit: str = "") -> str:
    """A value with its interval: 75.0 % (61.1 to 85.0)."""
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
    """Points in a square.

    Args:
        across: title of the horizontal axis.
        up: of the vertical one.
        points: each with its `system`, whether it is `published`, its cell `across`, and its mark.
        ends_across: ends of the axis; None: those of the points.
        ends_up: likewise.
    """
    systems = [point["system"] for point in points if not point["published"]]
    return {
        "kind": "scatter", "systems": systems, "across": across, "up": up, "points": list(points),
        "ends_across": ends_across, "ends_up": ends_up,
    }  # fmt: skip
