"""What the charts of scores share: which scores stand in one panel, its axis, and how a value is said."""

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias

from evaluation.protocols import Published, published_beside

Result: TypeAlias = Mapping[str, Any]
Cell: TypeAlias = Mapping[str, Any]
# Scores in one panel, as many as there are colours; further panels than these are left to the tables.
_SCORES_PER_PANEL, MOST_PANELS = 3, 6
MARKERS = ("o", "s", "^")


@dataclass(frozen=True, slots=True)
class Panel:
    """Scores that share an axis: their columns, their titles, and the ends of the axis."""

    scores: tuple[tuple[int, str], ...]
    low: float
    high: float
    unit: str

    @property
    def titles(self) -> list[str]:
        return [title for _, title in self.scores]

    @property
    def axis(self) -> str:
        return "percent of labels" if self.unit == "percent" else "mean, points"


def panels_of(result: Result) -> list[Panel]:
    """The columns by the scale that they share, some to a panel."""
    found = []
    scales = [(each["percent"], each["low"], each["high"]) for each in result["columns"]]
    for (percent, low, high), same in groupby(range(len(scales)), scales.__getitem__):
        titled = [(column, result["columns"][column]["title"]) for column in same]
        for start in range(0, len(titled), _SCORES_PER_PANEL):
            some = tuple(titled[start : start + _SCORES_PER_PANEL])
            found.append(Panel(some, low, high, "percent" if percent else "points"))
    return found[:MOST_PANELS]


def headline(result: Result) -> int:
    """The column of the score that represents the set."""
    return [column["key"] for column in result["columns"]].index(result["headline"])


def main_panel(result: Result) -> Panel:
    """The panel with the score that represents the set."""
    panels, column = panels_of(result), headline(result)
    return next((panel for panel in panels if column in dict(panel.scores)), panels[0])


def ranked(result: Result) -> Sequence[Mapping[str, Any]]:
    """The bots, the best by the score that represents the set first."""
    column = headline(result)

    def lowness(bot: Mapping[str, Any]) -> float:
        value: float | None = bot["cells"][column]["value"]
        return math.inf if value is None else -value

    return sorted(result["bots"], key=lowness)


def published_in(result: Result) -> Sequence[Published]:
    """Published systems that the charts of a result show, too."""
    if "question_set" not in result:
        return ()
    protocol = published_beside(result.get("protocol_key", ""), result["question_set"])
    return protocol.published if protocol else ()


def published_cells(
    result: Result, panel: Panel, published: Sequence[Published]
) -> Iterator[tuple[str, list[Cell]]]:
    """Published systems with a cell for each score of the panel, the best first."""
    keys = [result["columns"][index]["key"] for index, _ in panel.scores]
    known = [system for system in published if any(key in system.scores for key in keys)]
    for system in sorted(known, key=lambda system: -system.scores.get(result["headline"], -math.inf)):
        yield system.system, [{"value": system.scores.get(key)} for key in keys]


def sentences(bots: Sequence[Mapping[str, Any]], panel: Panel) -> Iterator[str]:
    for bot in bots:
        told = [said(title, bot["cells"][index], panel.unit) for index, title in panel.scores]
        yield f"{bot['bot']}: {', '.join(told)}."


def said(title: str, cell: Cell, unit: str) -> str:
    if cell["value"] is None:
        return f"{title} unknown"
    digits = 0 if unit == "percent" else 1
    value = f"{title} {cell['value']:.{digits}f} {unit}"
    if "low" not in cell:
        return value
    return f"{value} (interval {cell['low']:.{digits}f} to {cell['high']:.{digits}f})"
