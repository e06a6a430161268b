"""Labels of points in a chart, each where it covers nothing else.

A square plane: each point with a sign beside it, and a key of who is who.

Two scores: a plane.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evaluation.protocols import Published
from turnwise.charts.layout import (
    ABOVE,
    BELOW,
    LEFT,
    LINE,
    POINTS,
    WIDE,
    Cell,
    Palette,
    Panel,
    Result,
    Room,
    letter,
    sentences,
    short,
    side,
    square_height,
)


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, in points from the lower left corner."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def middle(self) -> tuple[float, float]:
        return (self.left + self.right) / 2, (self.bottom + self.top) / 2

    def meets(self, other: "Box") -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.bottom < other.top
            and other.bottom < self.top
        )


# Points from the middle of a mark to that of its label, the nearest first.
_DISTANCES = (11, 14, 18, 23)
_DIRECTIONS = 16


def apart(
    at: tuple[float, float], size: tuple[float, float], taken: Iterable[Box], *, within: float
) -> Box | None:
    """The nearest place of a label beside a point at which it meets nothing that is taken; None without any.

    Args:
        at: the point.
        size: width and height of the label.
        taken: what it must not meet.
        within: side of the square, from the corner, that holds it.
    """
    boxes = list(taken)
    for box in _around(at, size):
        inside = min(box.left, box.bottom) >= 0 and max(box.right, box.top) <= within
        if inside and not any(box.meets(other) for other in boxes):
            return box
    return None


def _around(at: tuple[float, float], size: tuple[float, float]) -> Iterator[Box]:
    """Places from near to far; above to the right first, as one reads."""
    width, height = size
    for distance in _DISTANCES:
        for step in range(_DIRECTIONS):
            angle = math.pi / 4 + step * 2 * math.pi / _DIRECTIONS
            x, y = at[0] + distance * math.cos(angle), at[1] + distance * math.sin(angle)
            yield Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)


@dataclass(frozen=True, slots=True)
class Point:
    """Somebody at two scores; a published system is not our own."""

    sign: str
    name: str
    x: Cell
    y: Cell
    is_own: bool


def square(names: int, room: Room) -> tuple[Figure, Axes]:
    """A figure with room for a key of so many names."""
    height = square_height(names, room)
    figure = Figure(figsize=(room.width, height))
    axes = figure.add_axes(
        (
            LEFT / room.width,
            (height - ABOVE - side(room)) / height,
            side(room) / room.width,
            side(room) / height,
        )
    )
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def dot(axes: Axes, point: Point, palette: Palette) -> None:
    """A point with its whiskers."""
    x, y = point.x, point.y
    if not point.is_own:
        axes.plot(x["value"], y["value"], "D", markersize=5, markerfacecolor="none", color=palette.reference)
        return
    colour = palette.series[0]
    if "low" in x:
        axes.plot([x["low"], x["high"]], [y["value"]] * 2, color=colour, linewidth=1.2, clip_on=False)
    if "low" in y:
        axes.plot([x["value"]] * 2, [y["low"], y["high"]], color=colour, linewidth=1.2, clip_on=False)
    # Half of a mark lies outside at the ends of the axes.
    axes.plot(x["value"], y["value"], "o", markersize=7, color=colour, clip_on=False)


def sign(axes: Axes, points: Sequence[Point], room: Room) -> None:
    """The sign of each point beside it, where nothing else is; the key has those that find no room."""
    placed = [_Placed(point, axes, room) for point in points]
    taken = [box for each in placed for box in each.boxes()]
    whole = side(room) * POINTS
    for each in placed:
        found = apart(each.at, (6.5 * len(each.point.sign) + 1, 10), taken, within=whole)
        if found is None:
            continue
        taken.append(found)
        x, y = (part / whole for part in found.middle)
        weight = "bold" if each.point.is_own else "normal"
        style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 9, "weight": weight}
        axes.text(x, y, each.point.sign, transform=axes.transAxes, **style)


class _Placed:
    """A point on the paper, in points from the lower left corner of its plane."""

    def __init__(self, point: Point, axes: Axes, room: Room) -> None:
        self.point = point
        self._ends = (axes.get_xlim(), axes.get_ylim())
        self._side = side(room) * POINTS
        self.at = (self._across(point.x["value"]), self._up(point.y["value"]))

    def _across(self, value: float) -> float:
        return self._along(self._ends[0], value)

    def _up(self, value: float) -> float:
        return self._along(self._ends[1], value)

    def _along(self, ends: tuple[float, float], value: float) -> float:
        low, high = ends
        return (value - low) / (high - low) * self._side

    def boxes(self) -> Iterator[Box]:
        """What the mark and its whiskers cover."""
        x, y = self.at
        yield Box(x - 5, y - 5, x + 5, y + 5)
        if "low" in self.point.x:
            yield Box(self._across(self.point.x["low"]), y - 1, self._across(self.point.x["high"]), y + 1)
        if "low" in self.point.y:
            yield Box(x - 1, self._up(self.point.y["low"]), x + 1, self._up(self.point.y["high"]))


def key(figure: Figure, entries: Sequence[tuple[str, str, bool]], room: Room) -> None:
    """Who is who, a line each: a sign, a name, and whether it is one of our own."""
    height = figure.get_figheight()
    left, top = (LEFT + side(room) + 0.25, ABOVE) if room is WIDE else (0.08, ABOVE + side(room) + BELOW)
    longest = int((room.width - left - 0.24) * POINTS / 5.8)
    for n, (signed, name, is_own) in enumerate(entries):
        at = 1 - (top + (n + 0.5) * LINE) / height
        weight = "bold" if is_own else "normal"
        figure.text(left / room.width, at, signed, fontsize=9, weight=weight, va="center")
        figure.text((left + 0.24) / room.width, at, short(name, longest), fontsize=9, va="center")


_TICKS = [0, 25, 50, 75, 100]


def plane(result: Result, published: Sequence[Published], room: Room, palette: Palette) -> Figure:
    """Each bot, by number, at two of its scores with both intervals; the published systems, by letter."""
    (x, x_title), (y, y_title) = _plane_scores(result)
    keys = [result["columns"][column]["key"] for column in (x, y)]
    points = [
        Point(str(number), bot["bot"], bot["cells"][x], bot["cells"][y], is_own=True)
        for number, bot in enumerate(result["bots"], 1)
        if None not in (bot["cells"][x]["value"], bot["cells"][y]["value"])
    ]
    there = [system for system in published if all(key in system.scores for key in keys)]
    points += [
        Point(
            letter(n),
            system.system,
            {"value": system.scores[keys[0]]},
            {"value": system.scores[keys[1]]},
            is_own=False,
        )
        for n, system in enumerate(there)
    ]
    figure, axes = square(len(points), room)
    axes.set(xlim=(0, 100), ylim=(0, 100), xticks=_TICKS, yticks=_TICKS)
    axes.set(xlabel=f"{x_title.lower()}, percent", ylabel=f"{y_title.lower()}, percent")
    axes.fill_between([0, 100], [0, 100], color=palette.grid, alpha=0.12, linewidth=0)
    for point in points:
        dot(axes, point, palette)
    sign(axes, points, room)
    names = [
        (each.sign, each.name if each.is_own else f"{each.name}, published", each.is_own) for each in points
    ]
    key(figure, names, room)
    return figure


def _plane_scores(result: Result) -> list[tuple[int, str]]:
    """Column and title of the horizontal and of the vertical score."""
    columns = (result["plane"]["x"], result["plane"]["y"])
    return [(column, result["columns"][column]["title"]) for column in columns]


def plane_in_words(result: Result) -> str:
    x, y = _plane_scores(result)
    told = sentences(result["bots"], Panel((y, x), 0, 100, "percent"))
    return f"Chart of {y[1].lower()} over {x[1].lower()}. {' '.join(told)}"
