"""What the charts of a report are called.

How much room a chart has, and names as they stand in it. Knows no Matplotlib.

The colours of charts: those of the page where a chart stands in it, fixed ones in files to take away.

What the charts of scores share: which scores stand in one panel, its axis, and how a value is said.
"""

import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias
from xml.etree import ElementTree

from evaluation.protocols import Published, published_beside


def name_of(kind: str, ask: int) -> str:
    """What a chart of an ask is called: by its kind, and by the number of the ask unless it is the first."""
    return f"{kind}-{ask}" if ask else kind


def kind_and_ask(name: str) -> tuple[str, int]:
    kind, _, number = name.rpartition("-")
    return (kind, int(number)) if number.isdecimal() else (name, 0)


LONGEST_NAME = 34
# Pixels of the page for a point of the figure: its small print is then as large as the page's.
SCALE = 1.35
POINTS = 72  # in an inch
LINE = 0.19  # inches


@dataclass(frozen=True, slots=True)
class Room:
    """How much a figure has.

    Attributes:
        width: inches.
        letters: that stand beside each other over its whole width, in the size of names.
        longest: letters of a name.
        panels: beside each other.
    """

    width: float
    letters: int
    longest: int
    panels: int


WIDE = Room(7.6, 84, LONGEST_NAME, 3)
# A window of 320 pixels, less the margins of the page and of the chart's frame.
NARROW = Room(2.74, 31, 28, 1)


def pixels(inches: float) -> int:
    """How many pixels of the page a length of a figure takes."""
    return round(SCALE * POINTS * inches)


def columns_of(text: str) -> int:
    """How wide a text is, in letters: those of East Asia are as wide as two."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def short(name: str, longest: int = LONGEST_NAME) -> str:
    """A name as it stands in a figure; the table beside it has all of it."""
    if columns_of(name) <= longest:
        return name
    kept = len(name)
    while columns_of(name[:kept]) >= longest:
        kept -= 1
    return f"{name[:kept].rstrip()}…"


def legend_lines(titles: Sequence[str], room: Room) -> int:
    """One if all titles stand beside each other, else one each."""
    letters = sum(columns_of(short(title)) + 4 for title in titles)
    return 1 if letters <= room.letters else len(titles)


def beside(titles: Sequence[str], room: Room) -> int:
    """How many titles of a legend stand beside each other."""
    return 1 if legend_lines(titles, room) > 1 else 3


def letter(number: int) -> str:
    """The sign of a published system, counted from 0."""
    return chr(ord("a") + number)


# Inches left of a square plane, below it and above it.
LEFT, BELOW, ABOVE = 0.62, 0.55, 0.15


def side(room: Room) -> float:
    """Inches of each side of a square plane."""
    return min(room.width - LEFT - 0.15, 4.2)


def square_height(names: int, room: Room) -> float:
    """Inches down of a square plane with a key of so many names: beside it, or below it on a phone."""
    needed, key = ABOVE + side(room) + BELOW, LINE * names + 0.1
    return max(needed, key) if room is WIDE else needed + key


SVG = "http://www.w3.org/2000/svg"


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours of a chart as #rrggbb."""

    ink: str
    grid: str
    reference: str
    series: tuple[str, str, str]
    surface: str

    @property
    def style(self) -> Mapping[str, Any]:
        """Matplotlib's settings for it."""
        return {
            "svg.fonttype": "none",
            "svg.hashsalt": "turnwise",
            "pdf.fonttype": 42,
            "font.family": "sans-serif",
            "font.sans-serif": ["DejaVu Sans"],
            "text.parse_math": False,  # a dollar sign in a bot's title is a dollar sign
            "text.color": self.ink,
            "axes.labelcolor": self.ink,
            "axes.titlecolor": self.ink,
            "axes.edgecolor": self.grid,
            "axes.facecolor": "none",
            "xtick.color": self.ink,
            "ytick.color": self.ink,
            "grid.color": self.grid,
        }


# static/css/tokens.css has the same, for the page.
LIGHT = Palette("#505a5c", "#7a7970", "#7a7970", ("#0a5b51", "#8c3b7d", "#b06f00"), "#ffffff")
DARK = Palette("#b0b5af", "#868e88", "#868e88", ("#62cfbb", "#d793cb", "#f4c56d"), "#1a201f")
PALETTES = {"light": LIGHT, "dark": DARK}

# Stand-ins that Matplotlib draws with; the page's own colours, light or dark, take their places.
PAGE = Palette("#010101", "#020202", "#030303", ("#040404", "#050505", "#060606"), "#070707")
_VARIABLES = ("ink", "grid", "reference", "1", "2", "3")
OF_PAGE = {
    stand_in: f"var(--chart-{name})"
    for stand_in, name in zip((PAGE.ink, PAGE.grid, PAGE.reference, *PAGE.series), _VARIABLES, strict=True)
}


def standalone(svg: str, palette: Palette) -> str:
    """A chart of a page as a file of its own, in fixed colours on a background."""
    for variable, colour in zip(
        _VARIABLES, (palette.ink, palette.grid, palette.reference, *palette.series), strict=True
    ):
        svg = svg.replace(f"var(--chart-{variable})", colour)
    ElementTree.register_namespace("", SVG)
    root = ElementTree.fromstring(svg)
    _, _, width, height = root.get("viewBox", "0 0 600 400").split()
    root.attrib |= {"width": width, "height": height, "font-family": "system-ui, sans-serif"}
    root.insert(0, ElementTree.Element(f"{{{SVG}}}rect", width="100%", height="100%", fill=palette.surface))
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode")


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
