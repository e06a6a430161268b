"""Scatter plot of a score against another measure."""

import math

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from turnwise.charts.layout import Palette, Viewport, letter, plane_side
from turnwise.charts.planes import Point, draw_point, draw_signs, key, square_plane
from turnwise.comparisons.chart_data import Data, key_entries

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
        *(Point(str(each["number"]), each["name"], each["x"], each["y"], True) for each in data["points"]),
        *(
            Point(letter(n), each["name"], {"value": each["x"]}, {"value": each["y"]}, False)
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
    key(figure, names, viewport)
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
