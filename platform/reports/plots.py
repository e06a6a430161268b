"""Charts of the reports, drawn by Matplotlib in the colours of a palette."""

import math
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from matplotlib import rc_context
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reports.palettes import PAGE, Palette
from reports.references import PAPER_INTERACTIVE, PAPER_STATIC, Reference
from reports.theme import as_pdf, for_page, short

Result: TypeAlias = Mapping[str, Any]
Cell: TypeAlias = Mapping[str, Any]
PANELS_PER_ROW = 3
_LETTERS_PER_INCH = 12  # of the print below the bars, with a little room between names


def svgs(result: Result) -> dict[str, str]:
    """By name, the charts that the result has data for, as SVG for its page."""
    if not result["bots"] or not _shares(result):
        return {}
    with rc_context(dict(PAGE.style)):  # type: ignore[arg-type]  # the stubs list keys one by one
        return {
            name: for_page(_drawn(name, result, PAGE), name, describe(result))
            for name, (_, describe) in _CHARTS.items()
            if (name != "plane" or _is_ssa(result)) and (name != "by-reply" or result["by_reply"])
        }


def pdf(name: str, result: Result, palette: Palette) -> bytes:
    """One of these charts as a file, in fixed colours."""
    with rc_context(dict(palette.style)):  # type: ignore[arg-type]  # the stubs list keys one by one
        return as_pdf(_drawn(name, result, palette), palette)


def _drawn(name: str, result: Result, palette: Palette) -> Figure:
    published = PAPER_STATIC if result.get("task") == "judging" else PAPER_INTERACTIVE
    return _CHARTS[name][0](result, published if _is_ssa(result) else (), palette)


def _shares(result: Result) -> list[tuple[int, str]]:
    """Index and title of the scores that are percentages, and so share an axis."""
    return [(i, column["title"]) for i, column in enumerate(result["columns"]) if column["percent"]]


def _is_ssa(result: Result) -> bool:
    return [column["key"] for column in result["columns"]] == ["sensible", "specific", "ssa"]


def _scores(result: Result, references: Sequence[Reference], palette: Palette) -> Figure:
    """Bars of every score with its interval; the papers' SSA as lines."""
    bots, shares = result["bots"], _shares(result)
    per_bot = 1.5 if len(bots) < 5 else 1.0
    figure = Figure(figsize=(max(6.0, 2.2 + per_bot * len(bots)), 4.2), layout="constrained")
    axes = figure.add_subplot()
    width = 0.8 / len(shares)
    for nth, (index, title) in enumerate(shares):
        places = [place + (nth - (len(shares) - 1) / 2) * width for place in range(len(bots))]
        cells = [bot["cells"][index] for bot in bots]
        heights = [cell["value"] or 0 for cell in cells]
        axes.bar(places, heights, width * 0.92, color=palette.series[nth % 3], label=title)
        for place, cell in zip(places, cells, strict=True):
            if "low" in cell:
                axes.errorbar(
                    [place], [cell["value"]], yerr=_spread(cell), color=palette.ink, capsize=3, linewidth=1.2
                )
    for value, names in _by_height(references).items():
        axes.axhline(value, color=palette.reference, linestyle=(0, (4, 3)), linewidth=0.9)
        right = axes.get_yaxis_transform()
        axes.text(1.01, value, f"{names} {value}", transform=right, va="center", fontsize=8)
    axes.set_ylim(0, 100)
    axes.set_ylabel("percent of labelled replies")
    letters = int(_LETTERS_PER_INCH * per_bot)
    axes.set_xticks(range(len(bots)), [textwrap.fill(short(bot["bot"]), letters) for bot in bots])
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(loc="upper left", bbox_to_anchor=(0, 1.14), ncols=3, frameon=False)
    return figure


def _by_height(references: Sequence[Reference]) -> dict[int, str]:
    names: dict[int, list[str]] = {}
    for reference in references:
        names.setdefault(reference.ssa, []).append(reference.system)
    return {ssa: ", ".join(systems) for ssa, systems in names.items()}


def _spread(cell: Cell) -> list[list[float]]:
    """An interval as Matplotlib wants it: distances below and above the value, never negative."""
    return [[max(0.0, cell["value"] - cell["low"])], [max(0.0, cell["high"] - cell["value"])]]


def _plane(result: Result, references: Sequence[Reference], palette: Palette) -> Figure:
    """Each bot, by number, at its specificity and sensibleness with both intervals; the papers' systems."""
    figure = Figure(figsize=(7.6, 5.2), layout="constrained")
    axes = figure.add_subplot()
    axes.set(xlim=(0, 100), ylim=(0, 100), xlabel="specificity, percent", ylabel="sensibleness, percent")
    axes.fill_between([0, 100], [0, 100], color=palette.grid, alpha=0.12, linewidth=0)
    axes.text(97, 3, "cannot be: specific but not sensible", ha="right", fontsize=8)
    for reference in references:
        axes.plot(
            reference.specificity,
            reference.sensibleness,
            "D",
            markersize=5,
            markerfacecolor="none",
            color=palette.reference,
        )
        side = 1.8 if reference.specificity < 70 else -1.8
        axes.text(
            reference.specificity + side,
            reference.sensibleness + 2,
            reference.system,
            fontsize=8,
            ha="left" if side > 0 else "right",
        )
    for number, bot in enumerate(result["bots"], 1):
        sensible, specific, _ = bot["cells"]
        if "low" in sensible and "low" in specific:
            axes.errorbar(
                specific["value"],
                sensible["value"],
                xerr=_spread(specific),
                yerr=_spread(sensible),
                color=palette.series[0],
                linewidth=1,
                clip_on=False,
            )
        name = f"{number}  {short(bot['bot'])}"
        axes.plot(
            specific["value"],
            sensible["value"],
            "o",
            markersize=7,
            color=palette.series[0],
            label=name,
            clip_on=False,  # half of it lies outside at 0 and at 100 percent
        )
        axes.text(specific["value"] + 1.2, sensible["value"] + 1.4, str(number), fontsize=10, weight="bold")
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0), frameon=False, handlelength=1, fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def _by_reply(result: Result, references: Sequence[Reference], palette: Palette) -> Figure:
    """A panel for each bot: scores at the first reply, the second …; a band for the last one's interval."""
    bots, shares = result["by_reply"], _shares(result)
    across = min(PANELS_PER_ROW, len(bots))
    down = -(-len(bots) // across)
    width, height = max(6.0, 2.8 * across), 0.9 + 2.3 * down
    figure = Figure(figsize=(width, height))
    # Panels of equal axes have equal margins (in inches); finding them for each takes half of the time.
    figure.subplots_adjust(
        0.65 / width, 0.6 / height, 1 - 0.15 / width, 1 - 0.75 / height, wspace=0.1, hspace=0.22
    )
    panels = figure.subplots(down, across, sharex=True, sharey=True, squeeze=False).ravel()
    for axes, bot in zip(panels, bots, strict=False):
        for nth, (index, title) in enumerate(shares):
            points = [(row["reply"], row["cells"][index]) for row in bot["replies"]]
            _line(axes, points, palette.series[nth % 3], title, band=nth == len(shares) - 1)
        axes.set_title(
            short(bot["bot"]), fontsize=10, y=1
        )  # where it would be put after looking at every tick
        axes.set_ylim(0, 100)
        axes.xaxis.get_major_locator().set_params(integer=True, min_n_ticks=1)
        axes.spines[["top", "right"]].set_visible(False)
    for axes in panels[len(bots) :]:
        axes.set_visible(False)
    figure.supxlabel("reply of the conversation", fontsize=10, y=0.1 / height)
    figure.supylabel("percent of labels", fontsize=10, x=0.1 / width)
    handles, titles = panels[0].get_legend_handles_labels()
    figure.legend(handles, titles, loc="outside upper center", ncols=3, frameon=False)
    return figure


def _line(axes: Axes, points: Sequence[tuple[int, Cell]], colour: str, title: str, *, band: bool) -> None:
    known = [(reply, cell) for reply, cell in points if cell["value"] is not None]
    axes.plot(
        [reply for reply, _ in known],
        [cell["value"] for _, cell in known],
        color=colour,
        label=title,
        marker="o",
        markersize=3,
        linewidth=1.4,
        clip_on=False,  # else a point at 0 or 100 is cut in half
    )
    if band:
        axes.fill_between(
            [reply for reply, _ in known],
            [cell.get("low", math.nan) for _, cell in known],
            [cell.get("high", math.nan) for _, cell in known],
            color=colour,
            alpha=0.2,
            linewidth=0,
        )


# --- the charts for those who do not see them ------------------------------------------------------


def _scores_in_words(result: Result) -> str:
    return "Bar chart. " + " ".join(_sentences(result["bots"], _shares(result)))


def _plane_in_words(result: Result) -> str:
    return "Chart of sensibleness over specificity. " + " ".join(
        _sentences(result["bots"], _shares(result)[:2])
    )


def _sentences(bots: Sequence[Mapping[str, Any]], shares: Sequence[tuple[int, str]]) -> Iterator[str]:
    for bot in bots:
        yield f"{bot['bot']}: " + ", ".join(_said(title, bot["cells"][i]) for i, title in shares) + "."


def _said(title: str, cell: Cell) -> str:
    if cell["value"] is None:
        return f"{title} unknown"
    interval = f" (interval {cell['low']:.0f} to {cell['high']:.0f})" if "low" in cell else ""
    return f"{title} {cell['value']:.0f} percent{interval}"


def _by_reply_in_words(result: Result) -> str:
    index, title = _shares(result)[-1]
    sentences = [
        f"{bot['bot']}: "
        + ", ".join(f"{_said('', row['cells'][index]).strip()} at reply {row['reply']}" for row in _ends(bot))
        + "."
        for bot in result["by_reply"]
    ]
    return f"Line chart of {title} by reply of the conversation. " + " ".join(sentences)


def _ends(bot: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    replies: Sequence[Mapping[str, Any]] = bot["replies"]
    return replies if len(replies) < 2 else (replies[0], replies[-1])


Draw: TypeAlias = Callable[[Result, Sequence[Reference], Palette], Figure]
_CHARTS: Mapping[str, tuple[Draw, Callable[[Result], str]]] = {
    "scores": (_scores, _scores_in_words),
    "plane": (_plane, _plane_in_words),
    "by-reply": (_by_reply, _by_reply_in_words),
}
