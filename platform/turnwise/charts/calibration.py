"""Chart of a machine judge's calibration: how often people agree, by the probability of its answers.

`python -m turnwise.charts.calibration` draws it for a page, in a process of its own.
"""

import json
import sys
from collections.abc import Sequence
from typing import Any, TypeAlias

from matplotlib import rc_context
from matplotlib.figure import Figure

from evaluation.files.writing import percent
from turnwise.charts.drawing import svg_for_page
from turnwise.charts.layout import NARROW, PAGE, WIDE, Palette, Viewport

Bins: TypeAlias = Sequence[tuple[int, float, float]]
"""Items, mean probability and share of agreement of each bin, in [0, 1]."""

_LARGEST, _SMALLEST = 110.0, 14.0
_SIDE, _LETTERS = 4.2, 8


def calibration(bins: Bins, across: str, up: str, viewport: Viewport, palette: Palette) -> Figure:
    """Draw the bins as points whose area shows their items, and the line of a calibrated judge."""
    side = min(viewport.width, _SIDE)
    figure = Figure(figsize=(side, side), layout="constrained")
    axes = figure.subplots()
    axes.tick_params(labelsize=_LETTERS)
    most = max((items for items, _, _ in bins), default=1)
    sizes = [max(_SMALLEST, _LARGEST * items / most) for items, _, _ in bins]
    probabilities = [100 * probability for _, probability, _ in bins]
    agreed = [100 * share for _, _, share in bins]
    axes.plot([0, 100], [0, 100], "--", color=palette.reference, linewidth=1)
    axes.plot(probabilities, agreed, color=palette.series[0], linewidth=1.4)
    axes.scatter(probabilities, agreed, s=sizes, color=palette.series[0], clip_on=False, zorder=3)
    axes.set(xlim=(-2, 102), ylim=(-2, 102), aspect="equal")
    axes.set_xlabel(across, fontsize=_LETTERS)
    axes.set_ylabel(up, fontsize=_LETTERS)
    axes.grid(color=palette.grid, alpha=0.35, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def describe(bins: Bins) -> str:
    """Sentences with every point."""
    points = "; ".join(
        f"{items} items of {percent(round(probability, 2))}: {percent(round(share, 2))}"
        for items, probability, share in bins
    )
    return f"Chart of how often people agree, by the probability of the machine's answers. {points}."


def main() -> None:
    given = json.load(sys.stdin)
    style: Any = PAGE.style  # which stubs want as a literal
    with rc_context(style):
        drawn = [
            svg_for_page(
                calibration(given["bins"], given["across"], given["up"], viewport, PAGE),
                f"{given['name']}-{name}",
                describe(given["bins"]),
            )
            for name, viewport in (("wide", WIDE), ("narrow", NARROW))
        ]
    json.dump(drawn, sys.stdout)


if __name__ == "__main__":
    main()
