"""Two scores: a plane."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evaluation.protocols import Published
from reports.charts.labels_apart import Box, apart
from reports.charts.palettes import Palette
from reports.charts.panels import LINE, POINTS, Cell, Panel, Result, sentences
from reports.charts.room import WIDE, Room, short


def plane(result: Result, published: Sequence[Published], room: Room, palette: Palette) -> Figure:
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
    _number(axes, points, _side(room) * POINTS / 100)
    _key(figure, points, room)
    return figure


# Inches left of the plane, below it and above it.
_LEFT, _BELOW, _ABOVE = 0.62, 0.55, 0.15


def _side(room: Room) -> float:
    return min(room.width - _LEFT - 0.15, 4.2)


def _square(names: int, room: Room) -> tuple[Figure, Axes]:
    """A plane of percents with room for a key of so many names: beside it, or below it on a phone."""
    side, key = _side(room), LINE * names + 0.1
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
    longest = int((room.width - left - 0.24) * POINTS / 5.8)
    for n, point in enumerate(points):
        at = 1 - (top + (n + 0.5) * LINE) / height
        weight = "bold" if point.is_own else "normal"
        figure.text(left / room.width, at, point.sign, fontsize=9, weight=weight, va="center")
        name = point.name if point.is_own else f"{point.name}, published"
        figure.text((left + 0.24) / room.width, at, short(name, longest), fontsize=9, va="center")


def plane_in_words(result: Result) -> str:
    x, y = _plane_scores(result)
    told = sentences(result["bots"], Panel((y, x), 0, 100, "percent"))
    return f"Chart of {y[1].lower()} over {x[1].lower()}. {' '.join(told)}"
