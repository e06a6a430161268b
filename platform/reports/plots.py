"""Charts of the reports, drawn by Matplotlib in the colours of a palette, for a desktop and for a phone."""

import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, TypeAlias

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evaluation.protocols import Published, published_beside
from evaluation.protocols.facts import Evaluation
from evaluation.report.judged import HUMAN
from reports.labels_apart import Box, apart
from reports.palettes import PAGE, Palette
from reports.theme import NARROW, WIDE, Room, as_pdf, columns_of, for_page, short
from reports.trajectories import by_turn, by_turn_in_words

Result: TypeAlias = Mapping[str, Any]
Cell: TypeAlias = Mapping[str, Any]
# Scores in one panel, as many as there are colours; further panels than these are left to the tables.
_SCORES_PER_PANEL, _MOST_PANELS = 3, 6
_MARKERS = ("o", "s", "^")
# Inches: the text above a row, each of its marks, and the room below them.
_LABEL, _MARK, _GAP = 0.24, 0.135, 0.09
_LINE = 0.19
_POINTS = 72


@dataclass(frozen=True, slots=True)
class Panel:
    """Scores that share an axis: their places among the columns, their titles, and the ends of the axis."""

    scores: tuple[tuple[int, str], ...]
    low: float
    high: float
    unit: str

    @property
    def axis(self) -> str:
        return "percent of labels" if self.unit == "percent" else "mean, points"


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart as SVG for its page: for a desktop, and drawn anew for a phone."""

    svg: str
    narrow_svg: str


def drawings(result: Result) -> dict[str, Drawing]:
    """By name, the charts that the result has data for."""
    with rc_context(dict(PAGE.style)):  # type: ignore[arg-type]  # the stubs list keys one by one
        return {
            name: Drawing(
                _svg(name, result, WIDE, name, describe),
                _svg(name, result, NARROW, f"{name}-narrow", describe),
            )
            for name, (_, describe) in _with_data(result).items()
        }


def svgs(result: Result) -> dict[str, str]:
    """By name, the charts that the result has data for, for a desktop or a file."""
    with rc_context(dict(PAGE.style)):  # type: ignore[arg-type]  # the stubs list keys one by one
        return {
            name: _svg(name, result, WIDE, name, describe)
            for name, (_, describe) in _with_data(result).items()
        }


def pdf(name: str, result: Result, palette: Palette) -> bytes:
    """One of these charts as a file, in fixed colours."""
    with rc_context(dict(palette.style)):  # type: ignore[arg-type]  # the stubs list keys one by one
        return as_pdf(_drawn(name, result, WIDE, palette), palette)


def _with_data(result: Result) -> "Mapping[str, tuple[Draw, Callable[[Result], str]]]":
    if not result["bots"] or not result["columns"]:
        return {}
    has_data = {
        "scores": "headline" in result and "preferences" not in result,
        "preferences": bool(result.get("preferences")),
        "plane": result.get("plane") is not None,
        "by-reply": bool(result.get("by_reply")),
        "by-turn": bool(result.get("by_turn")),
    }
    return {name: chart for name, chart in _CHARTS.items() if has_data[name]}


def _svg(name: str, result: Result, room: Room, ids: str, describe: Callable[[Result], str]) -> str:
    return for_page(_drawn(name, result, room, PAGE), ids, describe(result))


def _drawn(name: str, result: Result, room: Room, palette: Palette) -> Figure:
    evaluation = result.get("evaluation", Evaluation.INTERACTIVE)
    protocol = published_beside(evaluation, result["question_set"]) if "question_set" in result else None
    return _CHARTS[name][0](result, protocol.published if protocol else (), room, palette)


def _panels(result: Result) -> list[Panel]:
    """The columns by the scale that they share, some to a panel."""
    found = []
    scales = [(each["percent"], each["low"], each["high"]) for each in result["columns"]]
    for (percent, low, high), same in groupby(range(len(scales)), scales.__getitem__):
        titled = [(place, result["columns"][place]["title"]) for place in same]
        for start in range(0, len(titled), _SCORES_PER_PANEL):
            some = tuple(titled[start : start + _SCORES_PER_PANEL])
            found.append(Panel(some, low, high, "percent" if percent else "points"))
    return found[:_MOST_PANELS]


def _headline(result: Result) -> int:
    """The place of the score that stands for the set."""
    return [column["key"] for column in result["columns"]].index(result["headline"])


def _main_panel(result: Result) -> Panel:
    """The panel with the score that stands for the set."""
    panels, place = _panels(result), _headline(result)
    return next((panel for panel in panels if place in dict(panel.scores)), panels[0])


# --- scores: a forest plot --------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the forest plot: a name, what stands at its right end, and a cell for each score."""

    name: str
    says: str
    cells: Sequence[Cell]
    is_own: bool


def _scores(result: Result, published: Sequence[Published], room: Room, palette: Palette) -> Figure:
    """A dot with its whisker for every score of every bot, the best first; below, published systems.

    A published value has the hollow mark of its own score, so it stands for no other one. Where people who
    talked with each other were judged, too, a line through all rows shows what they reach.
    """
    panels, main = _panels(result), _main_panel(result)
    rows = [
        [*_own_rows(result, panel, main, room), *_published_rows(result, panel, published)]
        for panel in panels
    ]
    heights = [_panel_height(panel, of, room) for panel, of in zip(panels, rows, strict=True)]
    figure = Figure(figsize=(room.width, sum(heights)))
    top = sum(heights)
    for panel, of, height in zip(panels, rows, heights, strict=True):
        axes = _forest(figure, panel, of, (top - height, height), room, palette)
        _human_line(axes, result, panel, palette)
        top -= height
    return figure


def _own_rows(result: Result, panel: Panel, main: Panel, room: Room) -> Iterator[Row]:
    place = _headline(result)
    order = sorted(result["bots"], key=lambda bot: -(bot["cells"][place]["value"] or -math.inf))
    for bot in order:
        says = _in_numbers(result, bot["cells"][place], room) if panel == main else ""
        yield Row(bot["bot"], says, [bot["cells"][index] for index, _ in panel.scores], is_own=True)


def _in_numbers(result: Result, cell: Cell, room: Room) -> str:
    """The main score with its interval, as it stands at the end of a row."""
    if cell["value"] is None:
        return ""
    title = f"{short(result['columns'][_headline(result)]['title'], 16)} " if room is WIDE else ""
    interval = f" ({cell['low']:.1f} to {cell['high']:.1f})" if "low" in cell else ""
    return f"{title}{cell['value']:.1f}{interval}"


def _published_rows(result: Result, panel: Panel, published: Sequence[Published]) -> Iterator[Row]:
    keys = [result["columns"][index]["key"] for index, _ in panel.scores]
    known = [system for system in published if any(key in system.scores for key in keys)]
    for system in sorted(known, key=lambda system: -system.scores.get(result["headline"], -math.inf)):
        yield Row(system.system, "", [{"value": system.scores.get(key)} for key in keys], is_own=False)


def _panel_height(panel: Panel, rows: Sequence[Row], room: Room) -> float:
    return (
        _legend_lines(panel, room) * _LINE
        + sum(_row_height(row, room) for row in rows)
        + _heading(rows)
        + 0.58
    )


def _row_height(row: Row, room: Room) -> float:
    second = _LINE if _has_second_line(row, room) else 0.0
    return _LABEL + second + _MARK * (len(row.cells) if row.is_own else 1) + _GAP


def _has_second_line(row: Row, room: Room) -> bool:
    """Whether name and numbers are too long to stand beside each other."""
    return (
        bool(row.says) and columns_of(short(row.name, room.longest)) + columns_of(row.says) + 3 > room.letters
    )


def _heading(rows: Sequence[Row]) -> float:
    """Inches for the words above published systems, if there are any."""
    return 0.0 if all(row.is_own for row in rows) else 0.34


def _legend_lines(panel: Panel, room: Room) -> int:
    """One if all titles stand beside each other, else one each."""
    letters = sum(columns_of(short(title)) + 4 for _, title in panel.scores)
    return 1 if letters <= room.letters else len(panel.scores)


def _forest(
    figure: Figure,
    panel: Panel,
    rows: Sequence[Row],
    place: tuple[float, float],
    room: Room,
    palette: Palette,
) -> Axes:
    """One panel in its place: inches from the bottom of the figure, and its height in inches."""
    bottom, height = place
    whole = figure.get_figheight()
    legend = _legend_lines(panel, room) * _LINE + 0.12
    body = height - legend - 0.5
    left, right = 0.12, 0.2
    axes = figure.add_axes(
        (left / room.width, (bottom + 0.5) / whole, 1 - (left + right) / room.width, body / whole)
    )
    axes.set(xlim=(panel.low, panel.high), ylim=(body, 0), xlabel=panel.axis)
    axes.set_yticks([])
    axes.set_xticks(_ticks(axes, panel))
    axes.spines[["top", "right", "left"]].set_visible(False)
    at, heading = 0.0, _heading(rows)
    for row in rows:
        if heading and not row.is_own:
            axes.text(panel.low, at + heading - 0.06, "Published", fontsize=9, style="italic", va="bottom")
            at, heading = at + heading, 0.0
        _row(axes, row, panel, at, room, palette)
        at += _row_height(row, room)
    for nth, (_, title) in enumerate(panel.scores):
        axes.plot(
            [], [], _MARKERS[nth], color=palette.series[nth], markersize=6, label=short(title, room.longest)
        )
    figure.legend(
        *axes.get_legend_handles_labels(), loc="upper left", ncols=1 if _legend_lines(panel, room) > 1 else 3,
        bbox_to_anchor=(0.0, (bottom + height) / whole), frameon=False, fontsize=9, handletextpad=0.1,
        borderaxespad=0.2, labelspacing=0.25, columnspacing=1.2,
    )  # fmt: skip
    return axes


def _human_line(axes: Axes, result: Result, panel: Panel, palette: Palette) -> None:
    """What people reach at the score that stands for the set, with its interval."""
    place = _headline(result)
    human = next((bot["cells"][place] for bot in result["bots"] if bot["bot"] == HUMAN), None)
    if human is None or human["value"] is None or place not in dict(panel.scores):
        return
    colour = palette.series[[index for index, _ in panel.scores].index(place)]
    axes.axvline(human["value"], color=colour, linestyle=(0, (4, 3)), linewidth=1.2, zorder=0.5)
    if "low" in human:
        axes.axvspan(human["low"], human["high"], color=colour, alpha=0.1, linewidth=0, zorder=0)


def _ticks(axes: Axes, panel: Panel) -> Sequence[float]:
    if panel.unit == "percent":
        return [0, 25, 50, 75, 100]
    inside = [tick for tick in axes.get_xticks() if panel.low <= tick <= panel.high]
    return inside or [panel.low, panel.high]


def _row(axes: Axes, row: Row, panel: Panel, top: float, room: Room, palette: Palette) -> None:
    """Name and numbers above, then a mark for each score, each on a line of its own."""
    weight = "bold" if row.is_own else "normal"
    axes.text(panel.low, top + 0.06, short(row.name, room.longest), va="top", fontsize=9, weight=weight)
    second = _LINE if _has_second_line(row, room) else 0.0
    if row.says:
        end, side = (panel.low, "left") if second else (panel.high, "right")
        axes.text(end, top + 0.06 + second, row.says, va="top", ha=side, fontsize=9)
    first = top + _LABEL + second
    last = top + _row_height(row, room) - _GAP
    axes.vlines(axes.get_xticks(), first, last, color=palette.grid, alpha=0.35, linewidth=0.6, zorder=0)
    for nth, cell in enumerate(row.cells):
        if cell["value"] is not None:
            # Without whiskers, marks of different shapes may share a line.
            line = nth if row.is_own else 0
            _mark(axes, cell, first + _MARK * (line + 0.5), nth, palette, hollow=not row.is_own)


def _mark(axes: Axes, cell: Cell, at: float, nth: int, palette: Palette, *, hollow: bool) -> None:
    colour = palette.series[nth]
    if "low" in cell:
        axes.plot([cell["low"], cell["high"]], [at, at], color=colour, linewidth=1.6, clip_on=False)
    face = "none" if hollow else colour
    axes.plot(
        cell["value"], at, _MARKERS[nth], color=colour, markerfacecolor=face, markersize=5.5, clip_on=False
    )


# --- two scores: a plane ----------------------------------------------------------------------------------


def _plane(result: Result, published: Sequence[Published], room: Room, palette: Palette) -> Figure:
    """Each bot, by number, at two of its scores with both intervals; the published systems, by letter."""
    (x, x_title), (y, y_title) = _plane_scores(result)
    keys = [result["columns"][place]["key"] for place in (x, y)]
    points = [
        Point(str(number), bot["bot"], bot["cells"][x], bot["cells"][y], is_own=True)
        for number, bot in enumerate(result["bots"], 1)
        if None not in (bot["cells"][x]["value"], bot["cells"][y]["value"])
    ]
    there = [system for system in published if all(key in system.scores for key in keys)]
    points += [
        Point(
            chr(ord("a") + n),
            system.system,
            {"value": system.scores[keys[0]]},
            {"value": system.scores[keys[1]]},
            is_own=False,
        )
        for n, system in enumerate(there)
    ]
    figure, axes = _square(len(points), room)
    axes.set(xlabel=f"{x_title.lower()}, percent", ylabel=f"{y_title.lower()}, percent")
    axes.fill_between([0, 100], [0, 100], color=palette.grid, alpha=0.12, linewidth=0)
    for point in points:
        _dot(axes, point, palette)
    _number(axes, points, _side(room) * _POINTS / 100)
    _key(figure, points, room)
    return figure


# Inches left of the plane, below it and above it.
_LEFT, _BELOW, _ABOVE = 0.62, 0.55, 0.15


def _side(room: Room) -> float:
    return min(room.width - _LEFT - 0.15, 4.2)


def _square(names: int, room: Room) -> tuple[Figure, Axes]:
    """A plane of percents with room for a key of so many names: beside it, or below it on a phone."""
    side, key = _side(room), _LINE * names + 0.1
    needed = _ABOVE + side + _BELOW
    height = max(needed, key) if room is WIDE else needed + key
    figure = Figure(figsize=(room.width, height))
    place = (_LEFT / room.width, (height - _ABOVE - side) / height, side / room.width, side / height)
    axes = figure.add_axes(place)
    axes.set(xlim=(0, 100), ylim=(0, 100), xticks=[0, 25, 50, 75, 100], yticks=[0, 25, 50, 75, 100])
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


@dataclass(frozen=True, slots=True)
class Point:
    """Somebody at two scores."""

    sign: str
    name: str
    x: Cell
    y: Cell
    is_own: bool


def _plane_scores(result: Result) -> list[tuple[int, str]]:
    """Place and title of the horizontal and of the vertical score."""
    places = (result["plane"]["x"], result["plane"]["y"])
    return [(place, result["columns"][place]["title"]) for place in places]


def _dot(axes: Axes, point: Point, palette: Palette) -> None:
    x, y = point.x, point.y
    if not point.is_own:
        axes.plot(x["value"], y["value"], "D", markersize=5, markerfacecolor="none", color=palette.reference)
        return
    colour = palette.series[0]
    if "low" in x and "low" in y:
        axes.plot([x["low"], x["high"]], [y["value"]] * 2, color=colour, linewidth=1.2, clip_on=False)
        axes.plot([x["value"]] * 2, [y["low"], y["high"]], color=colour, linewidth=1.2, clip_on=False)
    # Half of a mark lies outside at 0 and at 100 percent.
    axes.plot(x["value"], y["value"], "o", markersize=7, color=colour, clip_on=False)


def _number(axes: Axes, points: Sequence[Point], per_percent: float) -> None:
    """The sign of each point beside it, where nothing else is; the key has those that find no room."""
    taken = [box for point in points for box in _boxes(point, per_percent)]
    for point in points:
        at = (point.x["value"] * per_percent, point.y["value"] * per_percent)
        found = apart(at, (6.5 * len(point.sign) + 1, 10), taken, within=100 * per_percent)
        if found is None:
            continue
        taken.append(found)
        middle = (found.middle[0] / per_percent, found.middle[1] / per_percent)
        weight = "bold" if point.is_own else "normal"
        axes.text(*middle, point.sign, fontsize=9, weight=weight, ha="center", va="center")


def _boxes(point: Point, per_percent: float) -> Iterator[Box]:
    """What a point and its whiskers cover, in points from the corner of the plane."""
    x, y = point.x["value"] * per_percent, point.y["value"] * per_percent
    yield Box(x - 5, y - 5, x + 5, y + 5)
    if "low" in point.x and "low" in point.y:
        yield Box(point.x["low"] * per_percent, y - 1, point.x["high"] * per_percent, y + 1)
        yield Box(x - 1, point.y["low"] * per_percent, x + 1, point.y["high"] * per_percent)


def _key(figure: Figure, points: Sequence[Point], room: Room) -> None:
    """Who is who, a line each."""
    height, side = figure.get_figheight(), _side(room)
    left, top = (_LEFT + side + 0.25, _ABOVE) if room is WIDE else (0.08, _ABOVE + side + _BELOW)
    longest = int((room.width - left - 0.24) * _POINTS / 5.8)
    for n, point in enumerate(points):
        at = 1 - (top + (n + 0.5) * _LINE) / height
        weight = "bold" if point.is_own else "normal"
        figure.text(left / room.width, at, point.sign, fontsize=9, weight=weight, va="center")
        name = point.name if point.is_own else f"{point.name}, published"
        figure.text((left + 0.24) / room.width, at, short(name, longest), fontsize=9, va="center")


# --- scores by reply --------------------------------------------------------------------------------------


def _by_reply(result: Result, published: Sequence[Published], room: Room, palette: Palette) -> Figure:
    """A panel for each bot: scores at the first reply, the second …; a band for the last one's interval."""
    bots, main = result["by_reply"], _main_panel(result)
    across = min(room.panels, len(bots))
    down = -(-len(bots) // across)
    width, legend = room.width, _legend_lines(main, room) * _LINE
    height = 0.75 + 2.1 * down + legend
    figure = Figure(figsize=(width, height))
    # Panels of equal axes have equal margins (in inches); finding them for each takes half of the time.
    figure.subplots_adjust(
        0.6 / width, 0.5 / height, 1 - 0.15 / width, 1 - (0.42 + legend) / height, wspace=0.12, hspace=0.3
    )
    panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, bot in zip(panels, bots, strict=False):
        _course_of(axes, bot, main, room, palette)
    for axes in panels[len(bots) :]:
        axes.set_visible(False)
    figure.supxlabel("reply of the conversation", fontsize=9, y=0.06 / height)
    figure.supylabel(main.axis, fontsize=9, x=0.06 / width)
    handles, _ = panels[0].get_legend_handles_labels()
    titles = [short(title, room.longest) for _, title in main.scores]
    figure.legend(
        handles, titles, loc="upper left", ncols=1 if _legend_lines(main, room) > 1 else 3, frameon=False,
        bbox_to_anchor=(0.0, 1.0), fontsize=9, borderaxespad=0.2, labelspacing=0.25, columnspacing=1.2,
    )  # fmt: skip
    return figure


def _course_of(axes: Any, bot: Mapping[str, Any], panel: Panel, room: Room, palette: Palette) -> None:
    for nth, (index, title) in enumerate(panel.scores):
        points = [(row["reply"], row["cells"][index]) for row in bot["replies"]]
        colour = palette.series[nth % len(palette.series)]
        _line(axes, points, (colour, _MARKERS[nth]), short(title), band=nth == len(panel.scores) - 1)
    # Where it would be put after looking at every tick.
    axes.set_title(short(bot["bot"], room.longest - 6), fontsize=9, y=1, loc="left", weight="bold")
    axes.set_ylim(panel.low, panel.high)
    axes.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    if panel.unit == "percent":
        axes.set_yticks([0, 25, 50, 75, 100])
    axes.spines[["top", "right"]].set_visible(False)


def _line(
    axes: Axes, points: Sequence[tuple[int, Cell]], look: tuple[str, str], title: str, *, band: bool
) -> None:
    (colour, marker), known = look, [(reply, cell) for reply, cell in points if cell["value"] is not None]
    axes.plot(
        [reply for reply, _ in known],
        [cell["value"] for _, cell in known],
        color=colour,
        label=title,
        marker=marker,
        markersize=3.5,
        linewidth=1.4,
        clip_on=False,  # else a point at 0 or 100 is cut in half
    )
    if band:
        axes.fill_between(
            [reply for reply, _ in known],
            [cell.get("low", math.nan) for _, cell in known],
            [cell.get("high", math.nan) for _, cell in known],
            color=colour,
            alpha=0.14,
            linewidth=0,
        )


# --- pairs: bars of wins, ties and losses ------------------------------------------------------------------


def _preferences(result: Result, published: Sequence[Published], room: Room, palette: Palette) -> Figure:
    """A panel for each question: of every two systems, bars of wins, ties and losses that fill the width."""
    asked = result["preferences"][:_MOST_PANELS]
    most = max(len(each["meetings"]) for each in asked)
    figure = Figure(figsize=(room.width, (1.1 + 0.75 * most) * len(asked)), layout="constrained")
    panels = figure.subplots(len(asked), squeeze=False, sharex=True).ravel()
    for axes, each in zip(panels, asked, strict=True):
        _wins(axes, each["meetings"], room, palette)
        axes.set_title(textwrap.fill(each["question"], room.letters), fontsize=10, loc="left")
    panels[-1].set_xlabel("percent of judgments")
    handles, titles = panels[0].get_legend_handles_labels()
    columns = 3 if room is WIDE else 1
    figure.legend(handles, titles, loc="outside upper center", ncols=columns, frameon=False)
    return figure


def _wins(axes: Any, pairs: Sequence[Mapping[str, Any]], room: Room, palette: Palette) -> None:
    """The system named first to the left, the other to the right, ties between them."""
    places = range(len(pairs), 0, -1)
    start = [0.0] * len(pairs)
    # The ties are the palest: what counts is what lies at either side of them.
    parts = (
        ("wins", "named left is better", palette.series[0], 1.0),
        ("ties", "tied", palette.grid, 0.35),
        ("losses", "named right is better", palette.series[1], 1.0),
    )
    for key, title, colour, alpha in parts:
        shares = [100 * pair[key] / pair["labels"] for pair in pairs]
        axes.barh(places, shares, 0.5, left=start, color=colour, label=title, alpha=alpha)
        start = [at + share for at, share in zip(start, shares, strict=True)]
    axes.set_xlim(0, 100)
    axes.set_ylim(0.4, len(pairs) + 0.8)
    axes.set_yticks([])
    letters = room.letters // 2 - 2
    for place, pair in zip(places, pairs, strict=True):
        axes.text(0, place + 0.3, short(pair["first"], letters), fontsize=8, va="bottom")
        axes.text(100, place + 0.3, short(pair["second"], letters), fontsize=8, va="bottom", ha="right")
    axes.spines[["top", "right", "left"]].set_visible(False)


# --- the charts for those who do not see them ------------------------------------------------------


def _scores_in_words(result: Result) -> str:
    told = [sentence for panel in _panels(result) for sentence in _sentences(result["bots"], panel)]
    return f"Chart of scores. {' '.join(told)}"


def _preferences_in_words(result: Result) -> str:
    told = [
        f"{each['question']} {pair['first']} {100 * pair['wins'] / pair['labels']:.0f} percent, tied "
        f"{100 * pair['ties'] / pair['labels']:.0f} percent, {pair['second']} "
        f"{100 * pair['losses'] / pair['labels']:.0f} percent."
        for each in result["preferences"]
        for pair in each["meetings"]
    ]
    return f"Bar chart of wins, ties and losses. {' '.join(told)}"


def _plane_in_words(result: Result) -> str:
    x, y = _plane_scores(result)
    told = _sentences(result["bots"], Panel((y, x), 0, 100, "percent"))
    return f"Chart of {y[1].lower()} over {x[1].lower()}. {' '.join(told)}"


def _sentences(bots: Sequence[Mapping[str, Any]], panel: Panel) -> Iterator[str]:
    for bot in bots:
        told = [_said(title, bot["cells"][index], panel.unit) for index, title in panel.scores]
        yield f"{bot['bot']}: {', '.join(told)}."


def _said(title: str, cell: Cell, unit: str) -> str:
    if cell["value"] is None:
        return f"{title} unknown"
    digits = 0 if unit == "percent" else 1
    value = f"{title} {cell['value']:.{digits}f} {unit}"
    if "low" not in cell:
        return value
    return f"{value} (interval {cell['low']:.{digits}f} to {cell['high']:.{digits}f})"


def _by_reply_in_words(result: Result) -> str:
    panel = _main_panel(result)
    index, title = panel.scores[-1]
    sentences = []
    for bot in result["by_reply"]:
        ends = [(row["reply"], _said("", row["cells"][index], panel.unit).strip()) for row in _ends(bot)]
        told = [f"{value} at reply {reply}" for reply, value in ends]
        sentences.append(f"{bot['bot']}: {', '.join(told)}.")
    return f"Line chart of {title} by reply of the conversation. {' '.join(sentences)}"


def _ends(bot: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    replies: Sequence[Mapping[str, Any]] = bot["replies"]
    return replies if len(replies) < 2 else (replies[0], replies[-1])


Draw: TypeAlias = Callable[[Result, Sequence[Published], Room, Palette], Figure]
_CHARTS: Mapping[str, tuple[Draw, Callable[[Result], str]]] = {
    "scores": (_scores, _scores_in_words),
    "preferences": (_preferences, _preferences_in_words),
    "plane": (_plane, _plane_in_words),
    "by-reply": (_by_reply, _by_reply_in_words),
    "by-turn": (by_turn, by_turn_in_words),
}
