"""Figures turn by turn: a panel for each, a line with its band for each bot, and who is still talking."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from evaluation.protocols import Published
from turnwise.charts.palettes import Palette
from turnwise.charts.room import Room, short

Result = Mapping[str, Any]
_ACROSS = 2
_BARELY = 0.1  # of the largest count; a line of counts would else lie on the frame


def by_turn(result: Result, published: Sequence[Published], room: Room, palette: Palette) -> Figure:
    """Mean of each metric at the second turn, the third …; the last panel counts conversations."""
    del published
    panels = [*result["by_turn"], None]
    across = min(room.panels, _ACROSS)
    down = -(-len(panels) // across)
    figure = Figure(figsize=(room.width, 0.7 + 2.4 * down), layout="constrained")
    all_axes = figure.subplots(down, across, sharex=True, squeeze=False).ravel()
    for axes, panel in zip(all_axes, panels, strict=False):
        if panel is None:
            _still_talking(axes, _fullest(result)["bots"], palette)
        else:
            _panel(axes, panel, room, palette)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.xaxis.set_tick_params(labelbottom=True)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in all_axes[len(panels) :]:
        axes.set_visible(False)
    figure.supxlabel("turn of the conversation", fontsize=10)
    handles, titles = all_axes[0].get_legend_handles_labels()
    figure.legend(handles, titles, loc="outside upper center", ncols=across, frameon=False)
    return figure


def _panel(axes: Axes, panel: Mapping[str, Any], room: Room, palette: Palette) -> None:
    for bot, colour in zip(panel["bots"], palette.series, strict=False):
        points = bot["points"]
        turns = [point["turn"] for point in points]
        axes.plot(
            turns,
            [p["value"] for p in points],
            "o-",
            color=colour,
            markersize=3,
            linewidth=1.4,
            label=short(bot["bot"], room.longest),
        )
        low, high = ([math.nan if p[end] is None else p[end] for p in points] for end in ("low", "high"))
        axes.fill_between(turns, low, high, color=colour, alpha=0.2, linewidth=0)
    axes.set_title(panel["title"], fontsize=10)


def _fullest(result: Result) -> Mapping[str, Any]:
    """The figure with most points: nobody has to vote, so that votes leave turns out."""
    panel: Mapping[str, Any] = max(
        result["by_turn"], key=lambda panel: sum(len(bot["points"]) for bot in panel["bots"])
    )
    return panel


def _still_talking(axes: Axes, bots: Sequence[Mapping[str, Any]], palette: Palette) -> None:
    most = 1
    for bot, colour in zip(bots, palette.series, strict=False):
        counts = [point["going_on"] for point in bot["points"]]
        axes.step([p["turn"] for p in bot["points"]], counts, where="mid", color=colour, linewidth=1.4)
        most = max(most, *counts) if counts else most
    axes.set_ylim(0, most * (1 + _BARELY))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title("Conversations still going on", fontsize=10)


def by_turn_in_words(result: Result) -> str:
    """The first and the last value of each line."""
    told = []
    for panel in result["by_turn"]:
        for bot in panel["bots"]:
            if bot["points"]:
                first, last = bot["points"][0], bot["points"][-1]
                told.append(
                    f"{panel['title']} of {bot['bot']}: {first['value']:.2f} at turn {first['turn']}, "
                    f"{last['value']:.2f} at turn {last['turn']}."
                )
    return f"Line charts by turn of the conversation. {' '.join(told)}"
