"""Charts with a row for each system: scores as a forest plot, and pairs as bars of wins, ties and losses."""

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evaluation.protocols import Published
from evaluation.protocols.facts import HUMAN
from turnwise.charts.layout import (
    LINE,
    MARKERS,
    MOST_PANELS,
    WIDE,
    Cell,
    Palette,
    Panel,
    Result,
    Viewport,
    headline,
    legend_columns,
    legend_lines,
    main_panel,
    panels_of,
    published_cells,
    ranked,
    score_sentences,
    shorten,
    text_width,
)

# Inches: the text above a row, each of its marks, and the gap below them.
_LABEL, _MARK, _GAP = 0.24, 0.135, 0.09


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the forest plot: a name, the text at its right end, and a cell for each score."""

    name: str
    says: str
    cells: Sequence[Cell]
    is_own: bool


def scores(result: Result, published: Sequence[Published], viewport: Viewport, palette: Palette) -> Figure:
    """Forest plot: a dot with its whisker for every score of every bot, best first; published systems below.

    A published value has a hollow mark of its score's shape. If people who talked with each other were
    judged, too, a line through all rows shows their score.
    """
    panels, main = panels_of(result), main_panel(result)
    rows = [
        [*_bot_rows(result, panel, main, viewport), *_published_rows(result, panel, published)]
        for panel in panels
    ]
    heights = [_panel_height(panel, of, viewport) for panel, of in zip(panels, rows, strict=True)]
    figure = Figure(figsize=(viewport.width, sum(heights)))
    top = sum(heights)
    for panel, of, height in zip(panels, rows, heights, strict=True):
        axes = _forest(figure, panel, of, (top - height, height), viewport, palette)
        _human_line(axes, result, panel, palette)
        top -= height
    return figure


def _bot_rows(result: Result, panel: Panel, main: Panel, viewport: Viewport) -> Iterator[Row]:
    column = headline(result)
    for bot in ranked(result):
        says = _score_text(result, bot["cells"][column], viewport) if panel == main else ""
        yield Row(bot["bot"], says, [bot["cells"][index] for index, _ in panel.scores], is_own=True)


def _score_text(result: Result, cell: Cell, viewport: Viewport) -> str:
    """Text of the main score with its interval, for the end of a row."""
    if cell["value"] is None:
        return ""
    title = f"{shorten(result['columns'][headline(result)]['title'], 16)} " if viewport is WIDE else ""
    interval = f" ({cell['low']:.1f} to {cell['high']:.1f})" if "low" in cell else ""
    return f"{title}{cell['value']:.1f}{interval}"


def _published_rows(result: Result, panel: Panel, published: Sequence[Published]) -> Iterator[Row]:
    for system, cells in published_cells(result, panel, published):
        yield Row(system, "", cells, is_own=False)


def _panel_height(panel: Panel, rows: Sequence[Row], viewport: Viewport) -> float:
    return (
        legend_lines(panel.titles, viewport) * LINE
        + sum(_row_height(row, viewport) for row in rows)
        + _heading(rows)
        + 0.58
    )


def _row_height(row: Row, viewport: Viewport) -> float:
    second = LINE if _has_second_line(row, viewport) else 0.0
    return _LABEL + second + _MARK * (len(row.cells) if row.is_own else 1) + _GAP


def _has_second_line(row: Row, viewport: Viewport) -> bool:
    """Return whether name and numbers are too long for one line."""
    return (
        bool(row.says)
        and text_width(shorten(row.name, viewport.longest)) + text_width(row.says) + 3 > viewport.letters
    )


def _heading(rows: Sequence[Row]) -> float:
    """Height in inches of the heading above published systems; 0 without any."""
    return 0.0 if all(row.is_own for row in rows) else 0.34


def _forest(
    figure: Figure,
    panel: Panel,
    rows: Sequence[Row],
    span: tuple[float, float],
    viewport: Viewport,
    palette: Palette,
) -> Axes:
    """Draw one panel; `span` has its distance from the bottom of the figure and its height, in inches."""
    bottom, height = span
    whole = figure.get_figheight()
    legend = legend_lines(panel.titles, viewport) * LINE + 0.12
    body = height - legend - 0.5
    left, right = 0.12, 0.2
    axes = figure.add_axes(
        (left / viewport.width, (bottom + 0.5) / whole, 1 - (left + right) / viewport.width, body / whole)
    )
    axes.set(xlim=(panel.low, panel.high), ylim=(body, 0), xlabel=panel.axis)
    axes.set_yticks([])
    axes.set_xticks(_ticks(axes, panel))
    axes.spines[["top", "right", "left"]].set_visible(False)
    at, heading = 0.0, _heading(rows)
    for row in rows:
        if heading and not row.is_own:
            axes.text(panel.low, at + heading - 0.06, "Published", fontsize=9, style="italic", va="bottom")
            at, heading = at + heading, 0.0
        _row(axes, row, panel, at, viewport, palette)
        at += _row_height(row, viewport)
    for nth, (_, title) in enumerate(panel.scores):
        axes.plot(
            [],
            [],
            MARKERS[nth],
            color=palette.series[nth],
            markersize=6,
            label=shorten(title, viewport.longest),
        )
    figure.legend(
        *axes.get_legend_handles_labels(), loc="upper left", ncols=legend_columns(panel.titles, viewport),
        bbox_to_anchor=(0.0, (bottom + height) / whole), frameon=False, fontsize=9, handletextpad=0.1,
        borderaxespad=0.2, labelspacing=0.25, columnspacing=1.2,
    )  # fmt: skip
    return axes


def _human_line(axes: Axes, result: Result, panel: Panel, palette: Palette) -> None:
    """Draw a line at the people's main score, with its interval."""
    column = headline(result)
    human = next((bot["cells"][column] for bot in result["bots"] if bot["bot"] == HUMAN), None)
    if human is None or human["value"] is None or column not in dict(panel.scores):
        return
    colour = palette.series[[index for index, _ in panel.scores].index(column)]
    axes.axvline(human["value"], color=colour, linestyle=(0, (4, 3)), linewidth=1.2, zorder=0.5)
    if "low" in human:
        axes.axvspan(human["low"], human["high"], color=colour, alpha=0.1, linewidth=0, zorder=0)


def _ticks(axes: Axes, panel: Panel) -> Sequence[float]:
    if panel.unit == "percent":
        return [0, 25, 50, 75, 100]
    inside = [tick for tick in axes.get_xticks() if panel.low <= tick <= panel.high]
    return inside or [panel.low, panel.high]


def _row(axes: Axes, row: Row, panel: Panel, top: float, viewport: Viewport, palette: Palette) -> None:
    """Draw a row: name and numbers above, then a mark for each score on its own line."""
    weight = "bold" if row.is_own else "normal"
    axes.text(panel.low, top + 0.06, shorten(row.name, viewport.longest), va="top", fontsize=9, weight=weight)
    second = LINE if _has_second_line(row, viewport) else 0.0
    if row.says:
        end, side = (panel.low, "left") if second else (panel.high, "right")
        axes.text(end, top + 0.06 + second, row.says, va="top", ha=side, fontsize=9)
    first = top + _LABEL + second
    last = top + _row_height(row, viewport) - _GAP
    axes.vlines(axes.get_xticks(), first, last, color=palette.grid, alpha=0.35, linewidth=0.6, zorder=0)
    for nth, cell in enumerate(row.cells):
        if cell["value"] is not None:
            # Without whiskers, marks of different shapes may share a line.
            line = nth if row.is_own else 0
            _mark(axes, cell, first + _MARK * (line + 0.5), nth, palette, hollow=not row.is_own)


def _mark(axes: Axes, cell: Cell, at: float, nth: int, palette: Palette, *, hollow: bool) -> None:
    colour = palette.series[nth]
    if "low" in cell:
        ends = [cell["low"], cell["high"]]
        axes.plot(ends, [at, at], color=colour, linewidth=1.8, solid_capstyle="round", clip_on=False)
    face, size = ("none", 5.5) if hollow else (colour, 6.5)
    axes.plot(
        cell["value"], at, MARKERS[nth], color=colour, markerfacecolor=face, markersize=size, clip_on=False
    )


def describe_scores(result: Result) -> str:
    words = [sentence for panel in panels_of(result) for sentence in score_sentences(result["bots"], panel)]
    return f"Chart of scores. {' '.join(words)}"


def preferences(
    result: Result, published: Sequence[Published], viewport: Viewport, palette: Palette
) -> Figure:
    """A panel for each question: a bar of wins, ties and losses for every two systems."""
    figures = result["preferences"][:MOST_PANELS]
    most = max(len(each["meetings"]) for each in figures)
    figure = Figure(figsize=(viewport.width, (1.1 + 0.75 * most) * len(figures)), layout="constrained")
    panels = figure.subplots(len(figures), squeeze=False, sharex=True).ravel()
    for axes, each in zip(panels, figures, strict=True):
        _wins(axes, each["meetings"], viewport, palette)
        axes.set_title(textwrap.fill(each["question"], viewport.letters), fontsize=10, loc="left")
    panels[-1].set_xlabel("percent of judgments")
    handles, titles = panels[0].get_legend_handles_labels()
    columns = 3 if viewport is WIDE else 1
    figure.legend(handles, titles, loc="outside upper center", ncols=columns, frameon=False)
    return figure


def _wins(axes: Any, pairs: Sequence[Mapping[str, Any]], viewport: Viewport, palette: Palette) -> None:
    """Draw bars with wins of the first system at the left, ties, and wins of the second at the right."""
    heights = range(len(pairs), 0, -1)
    start = [0.0] * len(pairs)
    # Ties are the palest, because wins and losses matter.
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
    letters = viewport.letters // 2 - 2
    for height, pair in zip(heights, pairs, strict=True):
        axes.text(0, height + 0.3, shorten(pair["first"], letters), fontsize=8, va="bottom")
        axes.text(100, height + 0.3, shorten(pair["second"], letters), fontsize=8, va="bottom", ha="right")
    axes.spines[["top", "right", "left"]].set_visible(False)


def describe_preferences(result: Result) -> str:
    words = [
        f"{each['question']} {pair['first']} {100 * pair['wins'] / pair['labels']:.0f} percent, tied "
        f"{100 * pair['ties'] / pair['labels']:.0f} percent, {pair['second']} "
        f"{100 * pair['losses'] / pair['labels']:.0f} percent."
        for each in result["preferences"]
        for pair in each["meetings"]
    ]
    return f"Bar chart of wins, ties and losses. {' '.join(words)}"
