"""Two scores as a square plane: each point has a sign beside it, and a key explains the signs."""

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
    Viewport,
    letter,
    plane_side,
    score_sentences,
    shorten,
    square_height,
)


@dataclass(frozen=True, slots=True)
class Box:
    """A rectangle, in typographic points from the lower left corner."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def middle(self) -> tuple[float, float]:
        return (self.left + self.right) / 2, (self.bottom + self.top) / 2

    def overlaps(self, other: "Box") -> bool:
        return (
            self.left < other.right
            and other.left < self.right
            and self.bottom < other.top
            and other.bottom < self.top
        )


# Typographic points between the middles of a mark and its label, nearest first.
_DISTANCES = (11, 14, 18, 23)
_DIRECTIONS = 16


def position_label(
    at: tuple[float, float], size: tuple[float, float], occupied: Iterable[Box], *, within: float
) -> Box | None:
    """Nearest place beside a point where a label overlaps nothing; None if there is none.

    Args:
        at: position of the point.
        size: width and height of the label.
        occupied: boxes that the label must not overlap.
        within: side of the square that must contain the label.
    """
    boxes = list(occupied)
    for box in _candidate_positions(at, size):
        inside = min(box.left, box.bottom) >= 0 and max(box.right, box.top) <= within
        if inside and not any(box.overlaps(other) for other in boxes):
            return box
    return None


def _candidate_positions(at: tuple[float, float], size: tuple[float, float]) -> Iterator[Box]:
    """Candidate places from near to far, starting at the upper right."""
    width, height = size
    for distance in _DISTANCES:
        for step in range(_DIRECTIONS):
            angle = math.pi / 4 + step * 2 * math.pi / _DIRECTIONS
            x, y = at[0] + distance * math.cos(angle), at[1] + distance * math.sin(angle)
            yield Box(x - width / 2, y - height / 2, x + width / 2, y + height / 2)


@dataclass(frozen=True, slots=True)
class Point:
    """A system at two scores; `is_own` is false for published systems."""

    sign: str
    name: str
    x: Cell
    y: Cell
    is_own: bool


def square_plane(names: int, viewport: Viewport) -> tuple[Figure, Axes]:
    """Figure with space for a key of this many names, and its square axes."""
    height = square_height(names, viewport)
    figure = Figure(figsize=(viewport.width, height))
    axes = figure.add_axes(
        (
            LEFT / viewport.width,
            (height - ABOVE - plane_side(viewport)) / height,
            plane_side(viewport) / viewport.width,
            plane_side(viewport) / height,
        )
    )
    axes.spines[["top", "right"]].set_visible(False)
    return figure, axes


def draw_point(axes: Axes, point: Point, palette: Palette) -> None:
    """Draw a point with its whiskers."""
    x, y = point.x, point.y
    if not point.is_own:
        axes.plot(x["value"], y["value"], "D", markersize=5, markerfacecolor="none", color=palette.reference)
        return
    colour = palette.series[0]
    if "low" in x:
        axes.plot([x["low"], x["high"]], [y["value"]] * 2, color=colour, linewidth=1.2, clip_on=False)
    if "low" in y:
        axes.plot([x["value"]] * 2, [y["low"], y["high"]], color=colour, linewidth=1.2, clip_on=False)
    # At the ends of the axes, half of a mark lies outside.
    axes.plot(x["value"], y["value"], "o", markersize=7, color=colour, clip_on=False)


def draw_signs(axes: Axes, points: Sequence[Point], viewport: Viewport) -> None:
    """Draw the sign of each point beside it; signs without space are only in the key."""
    placed = [_PlacedPoint(point, axes, viewport) for point in points]
    occupied = [box for each in placed for box in each.boxes()]
    whole = plane_side(viewport) * POINTS
    for each in placed:
        found = position_label(each.at, (6.5 * len(each.point.sign) + 1, 10), occupied, within=whole)
        if found is None:
            continue
        occupied.append(found)
        x, y = (part / whole for part in found.middle)
        weight = "bold" if each.point.is_own else "normal"
        style: dict[str, Any] = {"ha": "center", "va": "center", "fontsize": 9, "weight": weight}
        axes.text(x, y, each.point.sign, transform=axes.transAxes, **style)


class _PlacedPoint:
    """Position of a point, in typographic points from the lower left corner of its plane."""

    def __init__(self, point: Point, axes: Axes, viewport: Viewport) -> None:
        self.point = point
        self._ends = (axes.get_xlim(), axes.get_ylim())
        self._side = plane_side(viewport) * POINTS
        self.at = (self._across(point.x["value"]), self._up(point.y["value"]))

    def _across(self, value: float) -> float:
        return self._along(self._ends[0], value)

    def _up(self, value: float) -> float:
        return self._along(self._ends[1], value)

    def _along(self, ends: tuple[float, float], value: float) -> float:
        low, high = ends
        return (value - low) / (high - low) * self._side

    def boxes(self) -> Iterator[Box]:
        """Boxes that the mark and its whiskers cover."""
        x, y = self.at
        yield Box(x - 5, y - 5, x + 5, y + 5)
        if "low" in self.point.x:
            yield Box(self._across(self.point.x["low"]), y - 1, self._across(self.point.x["high"]), y + 1)
        if "low" in self.point.y:
            yield Box(x - 1, self._up(self.point.y["low"]), x + 1, self._up(self.point.y["high"]))


def key(figure: Figure, entries: Sequence[tuple[str, str, bool]], viewport: Viewport) -> None:
    """Draw the key, a line for each entry: a sign, a name, and whether it is one of the study's systems."""
    height = figure.get_figheight()
    left, top = (
        (LEFT + plane_side(viewport) + 0.25, ABOVE)
        if viewport is WIDE
        else (0.08, ABOVE + plane_side(viewport) + BELOW)
    )
    longest = int((viewport.width - left - 0.24) * POINTS / 5.8)
    for n, (signed, name, is_own) in enumerate(entries):
        at = 1 - (top + (n + 0.5) * LINE) / height
        weight = "bold" if is_own else "normal"
        figure.text(left / viewport.width, at, signed, fontsize=9, weight=weight, va="center")
        figure.text((left + 0.24) / viewport.width, at, shorten(name, longest), fontsize=9, va="center")


_TICKS = [0, 25, 50, 75, 100]


def plane(result: Result, published: Sequence[Published], viewport: Viewport, palette: Palette) -> Figure:
    """Plane of two scores: bots by number, with both intervals; published systems by letter."""
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
    figure, axes = square_plane(len(points), viewport)
    axes.set(xlim=(0, 100), ylim=(0, 100), xticks=_TICKS, yticks=_TICKS)
    axes.set(xlabel=f"{x_title.lower()}, percent", ylabel=f"{y_title.lower()}, percent")
    axes.fill_between([0, 100], [0, 100], color=palette.grid, alpha=0.12, linewidth=0)
    for point in points:
        draw_point(axes, point, palette)
    draw_signs(axes, points, viewport)
    names = [
        (each.sign, each.name if each.is_own else f"{each.name}, published", each.is_own) for each in points
    ]
    key(figure, names, viewport)
    return figure


def _plane_scores(result: Result) -> list[tuple[int, str]]:
    """Column and title of the horizontal and the vertical score."""
    columns = (result["plane"]["x"], result["plane"]["y"])
    return [(column, result["columns"][column]["title"]) for column in columns]


def describe_plane(result: Result) -> str:
    x, y = _plane_scores(result)
    words = score_sentences(result["bots"], Panel((y, x), 0, 100, "percent"))
    return f"Chart of {y[1].lower()} over {x[1].lower()}. {' '.join(words)}"
