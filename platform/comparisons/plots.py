"""Charts over several studies, drawn by Matplotlib in the colours of a palette."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from chatbots.meena.sweep import Point, chart
from comparisons.described import DESCRIBED, SWEEP_COLUMNS, Cell, Data, lines_of, shares_of
from reports.charts.palettes import PAGE, Palette
from reports.charts.room import short
from reports.charts.theme import as_pdf, for_page

# More names than this would fill the chart; the table has them.
MOST_NAMES = 16
_MARKERS = ("o", "s", "^")


def svg(kind: str, name: str, data: Data) -> str:
    """A chart as SVG for a page, with its words."""
    with rc_context(dict(PAGE.style)):  # type: ignore[arg-type]  # the stubs list keys one by one
        return for_page(DRAWN[kind](data, PAGE), name, DESCRIBED[kind].words(data))


def pdf(kind: str, data: Data, palette: Palette) -> bytes:
    """A chart as a file, in fixed colours."""
    with rc_context(dict(palette.style)):  # type: ignore[arg-type]  # the stubs list keys one by one
        return as_pdf(DRAWN[kind](data, palette), palette)


def ends(cell: Cell) -> list[list[float]] | None:
    """An interval as Matplotlib wants it: distances below and above the value; None without one."""
    if "low" not in cell:
        return None
    return [[max(0.0, cell["value"] - cell["low"])], [max(0.0, cell["high"] - cell["value"])]]


# --- studies side by side ------------------------------------------------------------------------


def _side_by_side(table: Data, palette: Palette) -> Figure:
    """A line for each bot under the name of its study; a mark and an interval for each score."""
    lines = list(lines_of(table["rows"]))
    figure = Figure(figsize=DESCRIBED["side-by-side"].size(table), layout="constrained")
    axes = figure.add_subplot()
    shares = shares_of(table)
    for nth, (index, title) in enumerate(shares):
        places = [place + 0.13 * (nth - (len(shares) - 1) / 2) for place, (_, row) in enumerate(lines) if row]
        cells = [row["cells"][index] for _, row in lines if row]
        _marks(axes, cells, places, palette.series[nth % 3], _MARKERS[nth % 3], title)
    for place, (label, row) in enumerate(lines):
        # Above its marks, at the left end: a phone shows that end first.
        weight = "normal" if row else "bold"
        axes.text(0, place - 0.3 if row else place + 0.2, label, va="bottom", fontsize=9, weight=weight)
    axes.set(xlim=(0, 100), ylim=(len(lines) - 0.5, -0.5), xlabel="percent of labels")
    axes.set_yticks([])
    axes.grid(axis="x", alpha=0.35, linewidth=0.6)
    axes.spines[["top", "right", "left"]].set_visible(False)
    figure.legend(loc="outside upper left", ncols=3, frameon=False)
    return figure


def _marks(
    axes: Axes, cells: Sequence[Cell], places: Sequence[float], colour: str, marker: str, title: str
) -> None:
    known = [(cell, place) for cell, place in zip(cells, places, strict=True) if cell["value"] is not None]
    for cell, place in known:
        axes.errorbar([cell["value"]], [place], xerr=ends(cell), color=colour, linewidth=1.3, clip_on=False)
    axes.plot(
        [cell["value"] for cell, _ in known],
        [place for _, place in known],
        marker,
        color=colour,
        markersize=6,
        label=title,
        clip_on=False,
    )


# --- one bot over time ---------------------------------------------------------------------------


def _over_time(course: Data, palette: Palette) -> Figure:
    """A place for each version in each study, in order of time; a mark and an interval for each score."""
    rows = course["rows"]
    figure = Figure(figsize=DESCRIBED["over-time"].size(course), layout="constrained")
    axes = figure.add_subplot()
    for nth, (key, title) in enumerate(course["scores"].items()):
        colour, marker = palette.series[nth % 3], _MARKERS[nth % 3]
        places = [place + 0.14 * (nth - 1) for place in range(len(rows))]
        for place, row in zip(places, rows, strict=True):
            cell = row["cells"][key]
            axes.errorbar(
                [place], [cell["value"]], yerr=ends(cell), color=colour, linewidth=1.3, clip_on=False
            )
        values = [row["cells"][key]["value"] for row in rows]
        axes.plot(
            places,
            values,
            f"{marker}:",
            color=colour,
            markersize=6,
            linewidth=0.9,
            label=title,
            clip_on=False,
        )
    axes.set(ylim=(0, 100), xlim=(-0.5, len(rows) - 0.5), ylabel="percent of labels")
    axes.set_xticks(range(len(rows)), [f"{row['number']}\n{row['version']}" for row in rows])
    axes.set_xlabel("row of the table, version of the bot")
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper left", ncols=3, frameon=False)
    return figure


# --- a score against another measure -------------------------------------------------------------


def _relation(data: Data, palette: Palette) -> Figure:
    """Numbered points with their intervals, the least-squares line and its band, published marks."""
    figure = Figure(figsize=DESCRIBED["relation"].size(data), layout="constrained")
    axes = figure.add_subplot()
    line = data["relation"]["line"]
    if "at" in line:
        _draw_line(axes, line, palette)
    for each in data["lines"]:
        axes.axhline(each["y"], color=palette.reference, linewidth=0.9, linestyle=(0, (4, 4)), zorder=0)
        axes.annotate(
            f"{each['name']} {each['y']:g}", (1, each["y"]), (-4, 2), xycoords=("axes fraction", "data"),
            textcoords="offset points", ha="right", fontsize=8, color=palette.reference,
        )  # fmt: skip
    for point in data["points"]:
        _draw_point(axes, point, palette)
    for mark in data["marks"]:
        axes.plot(mark["x"], mark["y"], "D", markersize=6, markerfacecolor="none", color=palette.reference)
        axes.annotate(mark["name"], (mark["x"], mark["y"]), (7, -12), textcoords="offset points", fontsize=8)
    axes.set(ylim=(0, 100), xlabel=data["x"], ylabel=f"{data['relation']['title']}, percent")
    if data["x_limits"]:
        axes.set_xlim(*data["x_limits"])
    axes.spines[["top", "right"]].set_visible(False)
    if len(data["points"]) <= MOST_NAMES:
        axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, handlelength=1, fontsize=9)
    return figure


def _draw_line(axes: Axes, line: Data, palette: Palette) -> None:
    at, slope, intercept = line["at"], line["slope"]["value"], line["intercept"]["value"]
    axes.fill_between(at, line["low"], line["high"], color=palette.series[1], alpha=0.15, linewidth=0)
    label = f"line, R² = {line['r_squared']['value']:.2f}"
    axes.plot(at, [intercept + slope * x for x in at], color=palette.series[1], linewidth=1.6, label=label)


def _draw_point(axes: Axes, point: Data, palette: Palette) -> None:
    x, y = point["x"], point["y"]
    axes.errorbar(
        [x["value"]],
        [y["value"]],
        xerr=ends(x),
        yerr=ends(y),
        color=palette.series[0],
        linewidth=1,
        clip_on=False,
    )
    label = f"{point['number']}  {short(point['name'])}"
    axes.plot(x["value"], y["value"], "o", markersize=7, color=palette.series[0], label=label, clip_on=False)
    where = (x["value"], y["value"])
    axes.annotate(str(point["number"]), where, (5, 5), textcoords="offset points", fontsize=10, weight="bold")


# --- N and T ---------------------------------------------------------------------------------------


def _sweep(data: Data, palette: Palette) -> Figure:
    """Of a bot that samples and ranks, scores and likelihood against N, a line for each T."""
    points = [
        Point(each["samples"], each["temperature"], each["contexts"], _or_nan(each["per_token"]), math.nan)
        for each in data["points"]
    ]
    return chart(points, data["scores"], columns=SWEEP_COLUMNS, colours=palette.series)


def _or_nan(value: float | None) -> float:
    return math.nan if value is None else value


Draw: TypeAlias = Callable[[Data, Palette], Figure]
DRAWN: Mapping[str, Draw] = {
    "side-by-side": _side_by_side,
    "over-time": _over_time,
    "relation": _relation,
    "sweep": _sweep,
}
