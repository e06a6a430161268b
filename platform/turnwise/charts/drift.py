"""Chart of a machine judge's daily check: how far it answers as it did in its run, day by day.

`python -m turnwise.charts.drift` draws it for a page, in a process of its own.
"""

import json
import sys
from collections.abc import Sequence
from datetime import date
from typing import Any, TypeAlias

from matplotlib import rc_context
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter
from matplotlib.figure import Figure

from evaluation.files.writing import percent
from turnwise.charts.drawing import svg_for_page
from turnwise.charts.layout import NARROW, PAGE, WIDE, Palette, Viewport

Days: TypeAlias = Sequence[tuple[str, float, float | None, bool]]
"""Of each check its day, both shares of equal answers in [0, 1], and whether it raised an alarm."""

_HEIGHT, _LETTERS = 2.3, 8


def drift(days: Days, titles: tuple[str, str, str], viewport: Viewport, palette: Palette) -> Figure:
    """Draw the agreement with the run, that of repeated answers, and rings around alarms.

    Args:
        days: the checks, oldest first.
        titles: of the line of today's answers, of that of repeated answers, and of the vertical axis.
        viewport: size of the figure.
        palette: its colours.
    """
    figure = Figure(figsize=(viewport.width, _HEIGHT), layout="constrained")
    axes = figure.subplots()
    at: Any = [date.fromisoformat(day) for day, *_ in days]
    same = [100 * share for _, share, _, _ in days]
    repeats = [float("nan") if share is None else 100 * share for _, _, share, _ in days]
    axes.plot(at, repeats, "--", color=palette.reference, linewidth=1.2, label=titles[1])
    axes.plot(
        at, same, "o-", color=palette.series[0], linewidth=1.4, markersize=4, label=titles[0], clip_on=False
    )
    alarms = [(day, share) for day, share, (*_, is_alarm) in zip(at, same, days, strict=True) if is_alarm]
    for day, share in alarms:
        axes.plot(day, share, "o", markersize=10, fillstyle="none", color=palette.series[1], clip_on=False)
    axes.set_ylim(0, 102)
    axes.set_ylabel(titles[2], fontsize=_LETTERS)
    locator = AutoDateLocator(minticks=2, maxticks=3 + viewport.panels)  # type: ignore[no-untyped-call]
    axes.xaxis.set_major_locator(locator)
    axes.xaxis.set_major_formatter(ConciseDateFormatter(locator))  # type: ignore[no-untyped-call]
    axes.tick_params(labelsize=_LETTERS)
    axes.grid(color=palette.grid, alpha=0.35, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside upper left", ncols=min(2, viewport.panels), frameon=False, fontsize=_LETTERS)
    return figure


def describe(days: Days) -> str:
    """Sentences with every point."""
    points = "; ".join(
        f"{day}: {percent(round(share, 2))}{' (alarm)' if is_alarm else ''}"
        for day, share, _, is_alarm in days
    )
    return f"Line chart of the answers that are those of the run, by day of the check. {points}."


def main() -> None:
    given = json.load(sys.stdin)
    titles = (given["same"], given["repeats"], given["up"])
    style: Any = PAGE.style  # which stubs want as a literal
    with rc_context(style):
        drawn = [
            svg_for_page(
                drift(given["days"], titles, viewport, PAGE),
                f"{given['name']}-{name}",
                describe(given["days"]),
            )
            for name, viewport in (("wide", WIDE), ("narrow", NARROW))
        ]
    json.dump(drawn, sys.stdout)


if __name__ == "__main__":
    main()
