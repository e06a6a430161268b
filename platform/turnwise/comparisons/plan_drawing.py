"""The planner's chart, drawn by Matplotlib."""

from collections.abc import Mapping
from typing import Any

from matplotlib.figure import Figure

from turnwise.charts.layout import Palette, Viewport


def draw_plan(data: Mapping[str, Any], viewport: Viewport, palette: Palette) -> Figure:
    """Draw the smallest detectable difference against the size of the study."""
    figure = Figure(figsize=(viewport.width, 3.4), layout="constrained")
    axes = figure.subplots()
    sizes = [each["units"] for each in data["points"]]
    differences = [each["detectable"] for each in data["points"]]
    axes.plot(sizes, differences, "o-", color=palette.series[0], markersize=4, linewidth=1.6)
    axes.set_ylim(bottom=0)
    axes.set(xlabel=data["across"], ylabel="smallest detectable difference, points")
    axes.grid(color=palette.grid, alpha=0.35, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    return figure
