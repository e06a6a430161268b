"""Two scores: a plane."""

from collections.abc import Sequence

from matplotlib.figure import Figure

from evaluation.protocols import Published
from turnwise.charts.palettes import Palette
from turnwise.charts.panels import Panel, Result, sentences
from turnwise.charts.room import Room, letter
from turnwise.charts.square import Point, dot, key, sign, square

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
