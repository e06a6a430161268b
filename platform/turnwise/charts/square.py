"""A square plane: each point with a sign beside it, and a key of who is who."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from turnwise.charts.labels_apart import Box, apart
from turnwise.charts.palettes import Palette
from turnwise.charts.panels import Cell
from turnwise.charts.room import ABOVE, BELOW, LEFT, LINE, POINTS, WIDE, Room, short, side, square_height


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
