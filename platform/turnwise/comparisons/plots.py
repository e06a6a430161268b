"""Charts over several studies, drawn by Matplotlib in the colours of a palette."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from chatbots.meena.sweep import Drawn, Point, chart
from turnwise.charts.drawing import as_pdf, for_page
from turnwise.charts.layout import MARKERS, NARROW, PAGE, WIDE, Palette, Room, beside
from turnwise.comparisons.chart_data import DESCRIBED, Cell, Data, lines_of, sweep_panels, times_of
from turnwise.comparisons.scatter import relation

Score: TypeAlias = tuple[Any, str]
"""Where the cells of a row have a score, and its title."""


@dataclass(frozen=True, slots=True)
class Scale:
    """That of the scores of a chart."""

    percent: bool
    low: float
    high: float

    @property
    def axis(self) -> str:
        return "percent of labels" if self.percent else "mean, points"


def svg(kind: str, name: str, data: Data, room: Room) -> str:
    """A chart as SVG for a page, with its words."""
    with rc_context(dict(PAGE.style)):  # type: ignore[arg-type]  # the stubs list keys one by one
        return for_page(DRAWN[kind](data, room, PAGE), name, DESCRIBED[kind].words(data))


def pdf(kind: str, data: Data, palette: Palette) -> bytes:
    """A chart as a file, in fixed colours."""
    with rc_context(dict(palette.style)):  # type: ignore[arg-type]  # the stubs list keys one by one
        return as_pdf(DRAWN[kind](data, WIDE, palette), palette)


def ends(cell: Cell) -> list[list[float]] | None:
    """An interval as Matplotlib wants it: distances below and above the value; None without one."""
    if "low" not in cell:
        return None
    return [[max(0.0, cell["value"] - cell["low"])], [max(0.0, cell["high"] - cell["value"])]]


# --- lines: studies side by side, one bot over time -------------------------------------------------


def _side_by_side(table: Data, room: Room, palette: Palette) -> Figure:
    """A line for each bot under the name of its study; a mark and an interval for each score."""
    lines, scale = lines_of(table["rows"], room), Scale(table["percent"], *table["ends"])
    return _lines("side-by-side", table, table["scores"], lines, scale, room, palette)


def _lines(
    kind: str,
    data: Data,
    scores: Sequence[Score],
    lines: Iterable[tuple[str, Data | None]],
    scale: Scale,
    room: Room,
    palette: Palette,
) -> Figure:
    """From top to bottom: a heading, or a name and below it a mark for each score of its row."""
    figure = Figure(figsize=DESCRIBED[kind].size(data, room), layout="constrained")
    axes = figure.add_subplot()
    numbered = list(enumerate(lines))
    for nth, (index, title) in enumerate(scores):
        heights = [line + 0.13 * (nth - (len(scores) - 1) / 2) for line, (_, row) in numbered if row]
        cells = [row["cells"][index] for _, (_, row) in numbered if row]
        _marks(axes, cells, heights, palette.series[nth % 3], MARKERS[nth % 3], title)
    for line, (label, row) in numbered:
        # Above its marks, at the left end.
        weight = "normal" if row else "bold"
        axes.text(scale.low, line - 0.3 if row else line + 0.2, label, va="bottom", fontsize=9, weight=weight)
    axes.set(xlim=(scale.low, scale.high), ylim=(len(numbered) - 0.5, -0.5), xlabel=scale.axis)
    axes.set_yticks([])
    axes.grid(axis="x", alpha=0.35, linewidth=0.6)
    axes.spines[["top", "right", "left"]].set_visible(False)
    _legend(figure, [title for _, title in scores], room)
    return figure


def _legend(figure: Figure, titles: Sequence[str], room: Room) -> None:
    figure.legend(loc="outside upper left", ncols=beside(titles, room), frameon=False, fontsize=9)


def _marks(
    axes: Axes, cells: Sequence[Cell], heights: Sequence[float], colour: str, marker: str, title: str
) -> None:
    known = [(cell, height) for cell, height in zip(cells, heights, strict=True) if cell["value"] is not None]
    for cell, height in known:
        axes.errorbar([cell["value"]], [height], xerr=ends(cell), color=colour, linewidth=1.3, clip_on=False)
    axes.plot(
        [cell["value"] for cell, _ in known],
        [height for _, height in known],
        marker,
        color=colour,
        markersize=6,
        label=title,
        clip_on=False,
    )


def _over_time(course: Data, room: Room, palette: Palette) -> Figure:
    """Each version in each study, in order of time: from left to right, on a phone from top to bottom."""
    scores = list(course["scores"].items())
    scale = Scale(course["percent"], *course["ends"])
    if room is NARROW:
        return _lines("over-time", course, scores, times_of(course["rows"], room), scale, room, palette)
    rows = course["rows"]
    figure = Figure(figsize=DESCRIBED["over-time"].size(course, room), layout="constrained")
    axes = figure.add_subplot()
    for nth, (key, title) in enumerate(scores):
        cells = [row["cells"][key] for row in rows]
        _course(axes, cells, 0.14 * (nth - 1), palette.series[nth % 3], MARKERS[nth % 3], title)
    axes.set(ylim=(scale.low, scale.high), xlim=(-0.5, len(rows) - 0.5), ylabel=scale.axis)
    axes.set_xticks(range(len(rows)), [f"{row['number']}\n{row['version']}" for row in rows])
    axes.set_xlabel("row of the table, version of the bot")
    axes.spines[["top", "right"]].set_visible(False)
    _legend(figure, [title for _, title in scores], room)
    return figure


def _course(axes: Axes, cells: Sequence[Cell], aside: float, colour: str, marker: str, title: str) -> None:
    """A score from left to right; `aside` keeps it apart from the others."""
    across = [x + aside for x in range(len(cells))]
    for x, cell in zip(across, cells, strict=True):
        axes.errorbar([x], [cell["value"]], yerr=ends(cell), color=colour, linewidth=1.3, clip_on=False)
    axes.plot(
        across,
        [cell["value"] for cell in cells],
        f"{marker}:",
        color=colour,
        markersize=6,
        linewidth=0.9,
        label=title,
        clip_on=False,
    )


# --- N and T ---------------------------------------------------------------------------------------


def _sweep(data: Data, room: Room, palette: Palette) -> Figure:
    """Of a bot that samples and ranks, scores and likelihood against N, a line for each T."""
    points = [
        Point(each["samples"], each["temperature"], each["contexts"], _or_nan(each["per_token"]), math.nan)
        for each in data["points"]
    ]
    scales = {
        title: Drawn(title if each["percent"] else f"{title}, points", *each["ends"])
        for title, each in data["scales"].items()
    }
    return chart(points, data["scores"], scales=scales, panels=sweep_panels(room), colours=palette.series)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


Draw: TypeAlias = Callable[[Data, Room, Palette], Figure]
DRAWN: Mapping[str, Draw] = {
    "side-by-side": _side_by_side,
    "over-time": _over_time,
    "relation": relation,
    "sweep": _sweep,
}
