"""Line charts over a conversation: metrics by turn (a panel each), scores by reply (a panel per bot)."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from evaluation.protocols import Published
from turnwise.charts.layout import (
    LINE,
    MARKERS,
    Cell,
    Palette,
    Panel,
    Result,
    Viewport,
    describe_score,
    legend_columns,
    legend_lines,
    main_panel,
    shorten,
)

TurnResult = Mapping[str, Any]
_ACROSS = 2
_HEADROOM = 0.1  # share of the largest count, so that the line does not lie on the frame


def by_turn(
    result: TurnResult, published: Sequence[Published], viewport: Viewport, palette: Palette
) -> Figure:
    """Mean of each metric at the second turn, the third …; the last panel counts conversations."""
    del published
    panels = [*result["by_turn"], None]
    across = min(viewport.panels, _ACROSS)
    down = -(-len(panels) // across)
    figure = Figure(figsize=(viewport.width, 0.7 + 2.4 * down), layout="constrained")
    all_axes = figure.subplots(down, across, sharex=True, squeeze=False).ravel()
    for axes, panel in zip(all_axes, panels, strict=False):
        if panel is None:
            _ongoing_conversations(axes, _fullest(result)["bots"], palette)
        else:
            _panel(axes, panel, viewport, palette)
        axes.xaxis.set_major_locator(MaxNLocator(integer=True, min_n_ticks=1))
        axes.xaxis.set_tick_params(labelbottom=True)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in all_axes[len(panels) :]:
        axes.set_visible(False)
    figure.supxlabel("turn of the conversation", fontsize=10)
    handles, titles = all_axes[0].get_legend_handles_labels()
    figure.legend(handles, titles, loc="outside upper center", ncols=across, frameon=False)
    return figure


def _panel(axes: Axes, panel: Mapping[str, Any], viewport: Viewport, palette: Palette) -> None:
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
            label=shorten(bot["bot"], viewport.longest),
        )
        low, high = ([math.nan if p[end] is None else p[end] for p in points] for end in ("low", "high"))
        axes.fill_between(turns, low, high, color=colour, alpha=0.2, linewidth=0)
    axes.set_title(panel["title"], fontsize=10)


def _fullest(result: TurnResult) -> Mapping[str, Any]:
    """The figure with most points. Votes are optional, so their figures may lack turns."""
    panel: Mapping[str, Any] = max(
        result["by_turn"], key=lambda panel: sum(len(bot["points"]) for bot in panel["bots"])
    )
    return panel


def _ongoing_conversations(axes: Axes, bots: Sequence[Mapping[str, Any]], palette: Palette) -> None:
    most = 1
    for bot, colour in zip(bots, palette.series, strict=False):
        counts = [point["going_on"] for point in bot["points"]]
        axes.step([p["turn"] for p in bot["points"]], counts, where="mid", color=colour, linewidth=1.4)
        most = max(most, *counts) if counts else most
    axes.set_ylim(0, most * (1 + _HEADROOM))
    axes.yaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_title("Conversations still going on", fontsize=10)


def describe_by_turn(result: TurnResult) -> str:
    """Sentences with the first and last value of each line."""
    values = []
    for panel in result["by_turn"]:
        for bot in panel["bots"]:
            if bot["points"]:
                first, last = bot["points"][0], bot["points"][-1]
                values.append(
                    f"{panel['title']} of {bot['bot']}: {first['value']:.2f} at turn {first['turn']}, "
                    f"{last['value']:.2f} at turn {last['turn']}."
                )
    return f"Line charts by turn of the conversation. {' '.join(values)}"


def by_reply(result: Result, published: Sequence[Published], viewport: Viewport, palette: Palette) -> Figure:
    """A panel for each bot: scores at each reply, with a band for the last score's interval."""
    bots, main = result["by_reply"], main_panel(result)
    across = min(viewport.panels, len(bots))
    down = -(-len(bots) // across)
    width, legend = viewport.width, legend_lines(main.titles, viewport) * LINE
    height = 0.75 + 2.1 * down + legend
    figure = Figure(figsize=(width, height))
    # Fixed margins (in inches): all panels have equal axes, and computing each layout takes half the time.
    figure.subplots_adjust(
        0.6 / width, 0.5 / height, 1 - 0.15 / width, 1 - (0.42 + legend) / height, wspace=0.12, hspace=0.3
    )
    # No shared axes: each change would be applied to all panels, in quadratic time.
    panels = figure.subplots(down, across, squeeze=False).ravel()
    ends = _axis_ends(bots)
    for nth, (axes, bot) in enumerate(zip(panels, bots, strict=False)):
        axes.set(xlim=ends, ylim=(main.low, main.high))
        axes.tick_params(labelleft=nth % across == 0, labelbottom=nth + across >= len(panels))
        _draw_bot(axes, bot, main, viewport, palette)
    for axes in panels[len(bots) :]:
        axes.set_visible(False)
    figure.supxlabel("reply of the conversation", fontsize=9, y=0.06 / height)
    figure.supylabel(main.axis, fontsize=9, x=0.06 / width)
    handles, _ = panels[0].get_legend_handles_labels()
    titles = [shorten(title, viewport.longest) for _, title in main.scores]
    figure.legend(
        handles, titles, loc="upper left", ncols=legend_columns(main.titles, viewport), frameon=False,
        bbox_to_anchor=(0.0, 1.0), fontsize=9, borderaxespad=0.2, labelspacing=0.25, columnspacing=1.2,
    )  # fmt: skip
    return figure


def _axis_ends(bots: Sequence[Mapping[str, Any]]) -> tuple[float, float]:
    """Ends of an axis that holds the replies of all bots, with a margin for their marks."""
    replies = [row["reply"] for bot in bots for row in bot["replies"]]
    first, last = min(replies), max(replies)
    margin = max(0.05 * (last - first), 0.05)
    return first - margin, last + margin


def _draw_bot(axes: Any, bot: Mapping[str, Any], panel: Panel, viewport: Viewport, palette: Palette) -> None:
    for nth, (index, title) in enumerate(panel.scores):
        points = [(row["reply"], row["cells"][index]) for row in bot["replies"]]
        colour = palette.series[nth % len(palette.series)]
        _line(axes, points, (colour, MARKERS[nth]), shorten(title), band=nth == len(panel.scores) - 1)
    # A fixed position: Matplotlib would otherwise look at every tick.
    axes.set_title(shorten(bot["bot"], viewport.longest - 6), fontsize=9, y=1, loc="left", weight="bold")
    axes.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
    if panel.unit == "percent":
        axes.set_yticks([0, 25, 50, 75, 100])
    axes.spines[["top", "right"]].set_visible(False)


def _line(
    axes: Axes, points: Sequence[tuple[int, Cell]], look: tuple[str, str], title: str, *, band: bool
) -> None:
    (colour, marker), defined = look, [(reply, cell) for reply, cell in points if cell["value"] is not None]
    axes.plot(
        [reply for reply, _ in defined],
        [cell["value"] for _, cell in defined],
        color=colour,
        label=title,
        marker=marker,
        markersize=3.5,
        linewidth=1.4,
        clip_on=False,  # else a point at 0 or 100 is cut in half
    )
    if band:
        axes.fill_between(
            [reply for reply, _ in defined],
            [cell.get("low", math.nan) for _, cell in defined],
            [cell.get("high", math.nan) for _, cell in defined],
            color=colour,
            alpha=0.14,
            linewidth=0,
        )


def describe_by_reply(result: Result) -> str:
    panel = main_panel(result)
    index, title = panel.scores[-1]
    sentences = []
    for bot in result["by_reply"]:
        ends = [
            (row["reply"], describe_score("", row["cells"][index], panel.unit).strip())
            for row in _first_and_last(bot)
        ]
        values = [f"{value} at reply {reply}" for reply, value in ends]
        sentences.append(f"{bot['bot']}: {', '.join(values)}.")
    return f"Line chart of {title} by reply of the conversation. {' '.join(sentences)}"


def _first_and_last(bot: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    replies: Sequence[Mapping[str, Any]] = bot["replies"]
    return replies if len(replies) < 2 else (replies[0], replies[-1])
