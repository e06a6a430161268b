"""Charts over several studies, drawn by Matplotlib in the colours of a palette."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from chatbots.meena.sweep import Drawn, Point, chart
from turnwise.charts.drawing import as_pdf, svg_for_page
from turnwise.charts.layout import (
    MARKERS,
    NARROW,
    PAGE,
    WIDE,
    Palette,
    Viewport,
    legend_columns,
    letter,
    plane_side,
)
from turnwise.charts.planes import Point as PlanePoint
from turnwise.charts.planes import draw_point, draw_signs, square_plane
from turnwise.charts.planes import key as draw_key
from turnwise.comparisons.chart_data import (
    CHART_DESCRIPTIONS,
    Cell,
    Data,
    history_lines,
    key_entries,
    sweep_panels,
    table_lines,
)

Score: TypeAlias = tuple[Any, str]
"""Index or key of a score in a row's cells, and its title."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Scale of the scores of a chart."""

    percent: bool
    low: float
    high: float

    @property
    def axis(self) -> str:
        return "percent of labels" if self.percent else "mean, points"


def svg(kind: str, name: str, data: Data, viewport: Viewport) -> str:
    """Draw a chart as SVG for a page, with its description."""
    with rc_context(dict(PAGE.style)):  # type: ignore[arg-type]  # the stubs list keys one by one
        return svg_for_page(DRAWN[kind](data, viewport, PAGE), name, CHART_DESCRIPTIONS[kind].words(data))


def pdf(kind: str, data: Data, palette: Palette) -> bytes:
    """Draw a chart as a PDF file, in fixed colours."""
    with rc_context(dict(palette.style)):  # type: ignore[arg-type]  # the stubs list keys one by one
        return as_pdf(DRAWN[kind](data, WIDE, palette), palette)


def ends(cell: Cell) -> list[list[float]] | None:
    """Interval as Matplotlib's error bars: distances below and above the value; None without one."""
    if "low" not in cell:
        return None
    return [[max(0.0, cell["value"] - cell["low"])], [max(0.0, cell["high"] - cell["value"])]]


# --- lines: studies side by side, one bot over time -------------------------------------------------


def _side_by_side(table: Data, viewport: Viewport, palette: Palette) -> Figure:
    """A row for each bot under its study's heading; a mark and an interval for each score."""
    lines, scale = table_lines(table["rows"], viewport), Scale(table["percent"], *table["ends"])
    return _lines("side-by-side", table, table["scores"], lines, scale, viewport, palette)


def _lines(
    kind: str,
    data: Data,
    scores: Sequence[Score],
    lines: Iterable[tuple[str, Data | None]],
    scale: Scale,
    viewport: Viewport,
    palette: Palette,
) -> Figure:
    """Draw lines from top to bottom: a heading, or a name with a mark for each score of its row."""
    figure = Figure(figsize=CHART_DESCRIPTIONS[kind].size(data, viewport), layout="constrained")
    axes = figure.add_subplot()
    numbered = list(enumerate(lines))
    for nth, (index, title) in enumerate(scores):
        heights = [line + 0.13 * (nth - (len(scores) - 1) / 2) for line, (_, row) in numbered if row]
        cells = [row["cells"][index] for _, (_, row) in numbered if row]
        _marks(axes, cells, heights, palette.series[nth % 3], MARKERS[nth % 3], title)
    for line, (label, row) in numbered:
        # The label stands above its marks, at the left end.
        weight = "normal" if row else "bold"
        axes.text(scale.low, line - 0.3 if row else line + 0.2, label, va="bottom", fontsize=9, weight=weight)
    axes.set(xlim=(scale.low, scale.high), ylim=(len(numbered) - 0.5, -0.5), xlabel=scale.axis)
    axes.set_yticks([])
    axes.grid(axis="x", alpha=0.35, linewidth=0.6)
    axes.spines[["top", "right", "left"]].set_visible(False)
    _legend(figure, [title for _, title in scores], viewport)
    return figure


def _legend(figure: Figure, titles: Sequence[str], viewport: Viewport) -> None:
    figure.legend(loc="outside upper left", ncols=legend_columns(titles, viewport), frameon=False, fontsize=9)


def _marks(
    axes: Axes, cells: Sequence[Cell], heights: Sequence[float], colour: str, marker: str, title: str
) -> None:
    defined = [
        (cell, height) for cell, height in zip(cells, heights, strict=True) if cell["value"] is not None
    ]
    for cell, height in defined:
        axes.errorbar([cell["value"]], [height], xerr=ends(cell), color=colour, linewidth=1.3, clip_on=False)
    axes.plot(
        [cell["value"] for cell, _ in defined],
        [height for _, height in defined],
        marker,
        color=colour,
        markersize=6,
        label=title,
        clip_on=False,
    )


def _over_time(course: Data, viewport: Viewport, palette: Palette) -> Figure:
    """Each version in each study in order of time: from left to right, on a phone from top to bottom."""
    scores = list(course["scores"].items())
    scale = Scale(course["percent"], *course["ends"])
    if viewport is NARROW:
        return _lines(
            "over-time", course, scores, history_lines(course["rows"], viewport), scale, viewport, palette
        )
    rows = course["rows"]
    figure = Figure(figsize=CHART_DESCRIPTIONS["over-time"].size(course, viewport), layout="constrained")
    axes = figure.add_subplot()
    for nth, (key, title) in enumerate(scores):
        cells = [row["cells"][key] for row in rows]
        _course(axes, cells, 0.14 * (nth - 1), palette.series[nth % 3], MARKERS[nth % 3], title)
    axes.set(ylim=(scale.low, scale.high), xlim=(-0.5, len(rows) - 0.5), ylabel=scale.axis)
    axes.set_xticks(range(len(rows)), [f"{row['number']}\n{row['version']}" for row in rows])
    axes.set_xlabel("row of the table, version of the bot")
    axes.spines[["top", "right"]].set_visible(False)
    _legend(figure, [title for _, title in scores], viewport)
    return figure


def _course(axes: Axes, cells: Sequence[Cell], shift: float, colour: str, marker: str, title: str) -> None:
    """Draw a score from left to right; `shift` separates it from the other scores."""
    across = [x + shift for x in range(len(cells))]
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


def _sweep(data: Data, viewport: Viewport, palette: Palette) -> Figure:
    """Scores and likelihood against N for a bot that samples and ranks; a line for each T."""
    points = [
        Point(each["samples"], each["temperature"], each["contexts"], _or_nan(each["per_token"]), math.nan)
        for each in data["points"]
    ]
    scales = {
        title: Drawn(title if each["percent"] else f"{title}, points", *each["ends"])
        for title, each in data["scales"].items()
    }
    return chart(points, data["scores"], scales=scales, panels=sweep_panels(viewport), colours=palette.series)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


Draw: TypeAlias = Callable[[Data, Viewport, Palette], Figure]


_LETTER = 0.165  # inches


def relation(data: Data, viewport: Viewport, palette: Palette) -> Figure:
    """Draw numbered points with their intervals, the fitted line with its band, and published systems."""
    names = key_entries(data)
    figure, axes = square_plane(len(names), viewport)
    line = data["relation"]["line"]
    if "at" in line:
        _draw_line(axes, line, palette)
    for each in data["lines"]:
        axes.axhline(each["y"], color=palette.reference, linewidth=0.9, linestyle=(0, (4, 4)), zorder=0)
    points = [
        *(
            PlanePoint(str(each["number"]), each["name"], each["x"], each["y"], True)
            for each in data["points"]
        ),
        *(
            PlanePoint(letter(n), each["name"], {"value": each["x"]}, {"value": each["y"]}, False)
            for n, each in enumerate(data["marks"])
        ),
    ]
    for point in points:
        draw_point(axes, point, palette)
    unit = "percent" if data["percent"] else "points"
    axes.set(ylim=data["ends"], xlabel=data["x"], ylabel=f"{data['relation']['title']}, {unit}")
    if data["x_limits"]:
        axes.set_xlim(*data["x_limits"])
    draw_signs(axes, points, viewport)
    _letters_of_lines(axes, data, viewport)
    draw_key(figure, names, viewport)
    return figure


def _draw_line(axes: Axes, line: Data, palette: Palette) -> None:
    at, slope, intercept = line["at"], line["slope"]["value"], line["intercept"]["value"]
    axes.fill_between(at, line["low"], line["high"], color=palette.series[1], alpha=0.15, linewidth=0)
    axes.plot(at, [intercept + slope * x for x in at], color=palette.series[1], linewidth=1.6)


def _letters_of_lines(axes: Axes, data: Data, viewport: Viewport) -> None:
    """Draw the letter of each line outside its right end, without overlap."""
    above, spacing = math.inf, 100 * _LETTER / plane_side(viewport)
    for n, each in enumerate(data["lines"], len(data["marks"])):
        above = min(each["y"], above - spacing)
        axes.text(1.015, above, letter(n), transform=axes.get_yaxis_transform(), va="center", fontsize=9)


# --- the planner's curve -----------------------------------------------------------------------------


def _plan(data: Data, viewport: Viewport, palette: Palette) -> Figure:
    """Draw the smallest detectable difference against the size of the study."""
    figure = Figure(figsize=(viewport.width, 3.4), layout="constrained")
    axes = figure.subplots()
    sizes = [each["units"] for each in data["points"]]
    differences = [each["detectable"] for each in data["points"]]
    axes.plot(sizes, differences, "o-", color=palette.series[0], markersize=4, linewidth=1.6)
    axes.set_ylim(bottom=0)
    axes.set(xlabel=data["across"], ylabel="smallest detectable difference, points")
    axes.grid(color=palette.grid, alpha=0.35, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


DRAWN: Mapping[str, Draw] = {
    "side-by-side": _side_by_side,
    "over-time": _over_time,
    "relation": relation,
    "sweep": _sweep,
    "plan": _plan,
}
