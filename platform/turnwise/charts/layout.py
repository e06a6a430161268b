"""Shared parts of charts: their names, sizes, colours and panels of scores. Free of Matplotlib.

A chart in a page takes the page's colours; a downloaded file has fixed ones.
"""

import math
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias
from xml.etree import ElementTree

from evaluation.protocols import Published, protocol_with_scores


def chart_name(kind: str, ask: int) -> str:
    """Name of a chart: its kind, and the number of its ask unless that is the first."""
    return f"{kind}-{ask}" if ask else kind


def parse_chart_name(name: str) -> tuple[str, int]:
    kind, _, number = name.rpartition("-")
    return (kind, int(number)) if number.isdecimal() else (name, 0)


LONGEST_NAME = 34
# Pixels of the page for a point of the figure; makes small print as large as the page's.
SCALE = 1.35
POINTS = 72  # in an inch
LINE = 0.19  # inches


@dataclass(frozen=True, slots=True)
class Viewport:
    """Area of a figure: that of a desktop or a phone.

    Attributes:
        width: inches.
        letters: number of letters, in the size of names, across the whole width.
        longest: letters of the longest name.
        panels: number of panels side by side.
    """

    width: float
    letters: int
    longest: int
    panels: int


WIDE = Viewport(7.6, 84, LONGEST_NAME, 3)
# A window of 320 pixels, less the margins of the page and of the chart's frame.
NARROW = Viewport(2.74, 31, 28, 1)


def pixels(inches: float) -> int:
    """Pixels of the page for a length of a figure in inches."""
    return round(SCALE * POINTS * inches)


def text_width(text: str) -> int:
    """Width of a text in letters; East Asian wide letters count twice."""
    return sum(2 if unicodedata.east_asian_width(letter) in "WF" else 1 for letter in text)


def shorten(name: str, longest: int = LONGEST_NAME) -> str:
    """Shorten a name for a figure; the table beside it has the full name."""
    if text_width(name) <= longest:
        return name
    end = len(name)
    while text_width(name[:end]) >= longest:
        end -= 1
    return f"{name[:end].rstrip()}…"


def legend_lines(titles: Sequence[str], viewport: Viewport) -> int:
    """Number of lines of a legend: 1 if all titles fit on one line, else one each."""
    letters = sum(text_width(shorten(title)) + 4 for title in titles)
    return 1 if letters <= viewport.letters else len(titles)


def legend_columns(titles: Sequence[str], viewport: Viewport) -> int:
    """Number of titles per line of a legend."""
    return 1 if legend_lines(titles, viewport) > 1 else 3


def letter(number: int) -> str:
    """Letter that marks a published system; numbers start at 0."""
    return chr(ord("a") + number)


# Inches left of a square plane, below it and above it.
LEFT, BELOW, ABOVE = 0.62, 0.55, 0.15


def plane_side(viewport: Viewport) -> float:
    """Side of a square plane, in inches."""
    return min(viewport.width - LEFT - 0.15, 4.2)


def square_height(names: int, viewport: Viewport) -> float:
    """Height in inches of a square plane with a key of this many names, which stands below it on a phone."""
    needed, key = ABOVE + plane_side(viewport) + BELOW, LINE * names + 0.1
    return max(needed, key) if viewport is WIDE else needed + key


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
        """Matplotlib settings for these colours."""
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


# The same colours as in static/css/tokens.css.
LIGHT = Palette("#505a5c", "#7a7970", "#7a7970", ("#0a5b51", "#8c3b7d", "#b06f00"), "#ffffff")
DARK = Palette("#b0b5af", "#868e88", "#868e88", ("#62cfbb", "#d793cb", "#f4c56d"), "#1a201f")
PALETTES = {"light": LIGHT, "dark": DARK}

# Placeholder colours for drawing; in the page, CSS variables replace them.
PAGE = Palette("#010101", "#020202", "#030303", ("#040404", "#050505", "#060606"), "#070707")
_VARIABLES = ("ink", "grid", "reference", "1", "2", "3")
PAGE_VARIABLES = {
    stand_in: f"var(--chart-{name})"
    for stand_in, name in zip((PAGE.ink, PAGE.grid, PAGE.reference, *PAGE.series), _VARIABLES, strict=True)
}


def standalone(svg: str, palette: Palette) -> str:
    """Turn a page's SVG into a file of its own, with fixed colours and a background."""
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
# As many scores per panel as there are colours. Scores beyond the last panel are only in the tables.
_SCORES_PER_PANEL, MOST_PANELS = 3, 6
MARKERS = ("o", "s", "^")


@dataclass(frozen=True, slots=True)
class Panel:
    """Scores that share an axis: (column, title) of each, and the ends of the axis."""

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
    """Group the columns into panels of one scale each."""
    panels = []
    scales = [(each["percent"], each["low"], each["high"]) for each in result["columns"]]
    for (percent, low, high), same in groupby(range(len(scales)), scales.__getitem__):
        titled = [(column, result["columns"][column]["title"]) for column in same]
        for start in range(0, len(titled), _SCORES_PER_PANEL):
            some = tuple(titled[start : start + _SCORES_PER_PANEL])
            panels.append(Panel(some, low, high, "percent" if percent else "points"))
    return panels[:MOST_PANELS]


def headline(result: Result) -> int:
    """Column of the question set's main score."""
    return [column["key"] for column in result["columns"]].index(result["headline"])


def main_panel(result: Result) -> Panel:
    """The panel with the main score."""
    panels, column = panels_of(result), headline(result)
    return next((panel for panel in panels if column in dict(panel.scores)), panels[0])


def ranked(result: Result) -> Sequence[Mapping[str, Any]]:
    """The bots, sorted by the main score, best first."""
    column = headline(result)

    def lowness(bot: Mapping[str, Any]) -> float:
        value: float | None = bot["cells"][column]["value"]
        return math.inf if value is None else -value

    return sorted(result["bots"], key=lowness)


def published_in(result: Result) -> Sequence[Published]:
    """Published systems that the charts of a result also show."""
    if "question_set" not in result:
        return ()
    protocol = protocol_with_scores(result.get("protocol_key", ""), result["question_set"])
    return protocol.published if protocol else ()


def published_cells(
    result: Result, panel: Panel, published: Sequence[Published]
) -> Iterator[tuple[str, list[Cell]]]:
    """Published systems with a cell for each score of the panel, best first."""
    keys = [result["columns"][index]["key"] for index, _ in panel.scores]
    published_systems = [system for system in published if any(key in system.scores for key in keys)]
    for system in sorted(
        published_systems, key=lambda system: -system.scores.get(result["headline"], -math.inf)
    ):
        yield system.system, [{"value": system.scores.get(key)} for key in keys]


def score_sentences(bots: Sequence[Mapping[str, Any]], panel: Panel) -> Iterator[str]:
    for bot in bots:
        scores = [describe_score(title, bot["cells"][index], panel.unit) for index, title in panel.scores]
        yield f"{bot['bot']}: {', '.join(scores)}."


def describe_score(title: str, cell: Cell, unit: str) -> str:
    if cell["value"] is None:
        return f"{title} unknown"
    digits = 0 if unit == "percent" else 1
    value = f"{title} {cell['value']:.{digits}f} {unit}"
    if "low" not in cell:
        return value
    return f"{value} (interval {cell['low']:.{digits}f} to {cell['high']:.{digits}f})"
