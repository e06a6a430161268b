"""A score against another measure, as a scatter plot."""

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from turnwise.charts.layout import Palette, Room, letter, side
from turnwise.charts.planes import Point, dot, key, sign, square
from turnwise.comparisons.chart_data import Data, names_of

_LETTER = 0.165  # inches


def relation(data: Data, room: Room, palette: Palette) -> Figure:
    """Numbered points with their intervals, the line with its band, published marks and lines."""
    names = names_of(data)
    figure, axes = square(len(names), room)
    line = data["relation"]["line"]
    if "at" in line:
        _draw_line(axes, line, palette)
    for each in data["lines"]:
        axes.axhline(each["y"], color=palette.reference, linewidth=0.9, linestyle=(0, (4, 4)), zorder=0)
    points = [
        *(Point(str(each["number"]), each["name"], each["x"], each["y"], True) for each in data["points"]),
        *(
            Point(letter(n), each["name"], {"value": each["x"]}, {"value": each["y"]}, False)
            for n, each in enumerate(data["marks"])
        ),
    ]
    for point in points:
        dot(axes, point, palette)
    unit = "percent" if data["percent"] else "points"
    axes.set(ylim=data["ends"], xlabel=data["x"], ylabel=f"{data['relation']['title']}, {unit}")
    if data["x_limits"]:
        axes.set_xlim(*data["x_limits"])
    sign(axes, points, room)
    _letters_of_lines(axes, data, room)
    key(figure, names, room)
    return figure


def _draw_line(axes: Axes, line: Data, palette: Palette) -> None:
    at, slope, intercept = line["at"], line["slope"]["value"], line["intercept"]["value"]
    axes.fill_between(at, line["low"], line["high"], color=palette.series[1], alpha=0.15, linewidth=0)
    axes.plot(at, [intercept + slope * x for x in at], color=palette.series[1], linewidth=1.6)


def _letters_of_lines(axes: Axes, data: Data, room: Room) -> None:
    """The letter of each line at its right end, outside, clear of the letter above it."""
    above, apart = math.inf, 100 * _LETTER / side(room)
    for n, each in enumerate(data["lines"], len(data["marks"])):
        above = min(each["y"], above - apart)
        axes.text(1.015, above, letter(n), transform=axes.get_yaxis_transform(), va="center", fontsize=9)
