"""Pairs: bars of wins, ties and losses."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from evaluation.protocols import Published
from turnwise.charts.palettes import Palette
from turnwise.charts.panels import MOST_PANELS, Result
from turnwise.charts.room import WIDE, Room, short


def preferences(result: Result, published: Sequence[Published], room: Room, palette: Palette) -> Figure:
    """A panel for each question: of every two systems, bars of wins, ties and losses that fill the width."""
    asked = result["preferences"][:MOST_PANELS]
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
    heights = range(len(pairs), 0, -1)
    start = [0.0] * len(pairs)
    # The ties are the palest: what counts is what lies at either side of them.
    parts = (
        ("wins", "named left is better", palette.series[0], 1.0),
        ("ties", "tied", palette.grid, 0.35),
        ("losses", "named right is better", palette.series[1], 1.0),
    )
    for key, title, colour, alpha in parts:
        shares = [100 * pair[key] / pair["labels"] for pair in pairs]
        axes.barh(heights, shares, 0.5, left=start, color=colour, label=title, alpha=alpha)
        start = [at + share for at, share in zip(start, shares, strict=True)]
    axes.set_xlim(0, 100)
    axes.set_ylim(0.4, len(pairs) + 0.8)
    axes.set_yticks([])
    letters = room.letters // 2 - 2
    for height, pair in zip(heights, pairs, strict=True):
        axes.text(0, height + 0.3, short(pair["first"], letters), fontsize=8, va="bottom")
        axes.text(100, height + 0.3, short(pair["second"], letters), fontsize=8, va="bottom", ha="right")
    axes.spines[["top", "right", "left"]].set_visible(False)


def preferences_in_words(result: Result) -> str:
    told = [
        f"{each['question']} {pair['first']} {100 * pair['wins'] / pair['labels']:.0f} percent, tied "
        f"{100 * pair['ties'] / pair['labels']:.0f} percent, {pair['second']} "
        f"{100 * pair['losses'] / pair['labels']:.0f} percent."
        for each in result["preferences"]
        for pair in each["meetings"]
    ]
    return f"Bar chart of wins, ties and losses. {' '.join(told)}"
