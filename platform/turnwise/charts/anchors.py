"""Chart of anchors: the new value of each over the known one, by the main score of the first such ask."""

from collections.abc import Mapping, Sequence
from typing import Any

from matplotlib.figure import Figure

from evaluation.files.writing import figure as printed
from evaluation.protocols import Published
from turnwise.charts.layout import LINE, Palette, Result, Viewport

_SIDE, _LETTERS = 4.2, 8


def has_anchors(result: Result) -> bool:
    """True if an anchor has a known and a new value."""
    return bool(result.get("anchors") and _points(result))


def _score(result: Result) -> Mapping[str, Any] | None:
    scores = result["anchors"][0]["scores"]
    main = (each for each in scores if each["key"] == result.get("headline"))
    return next(main, scores[0] if scores else None)


def _points(result: Result) -> list[tuple[float, float]]:
    score = _score(result)
    rows = score["anchors"] if score else []
    return [(row["known"], row["new"]) for row in rows if None not in (row["known"], row["new"])]


def anchors(result: Result, published: Sequence[Published], viewport: Viewport, palette: Palette) -> Figure:
    """Draw the anchors as points, the line of no shift dashed, and the line of the shift."""
    del published
    score, points = _score(result), _points(result)
    assert score
    side = min(viewport.width, _SIDE)
    figure = Figure(figsize=(side, side + LINE), layout="constrained")
    axes = figure.subplots()
    axes.tick_params(labelsize=_LETTERS)
    every = [value for point in points for value in point]
    low, high = (0.0, 100.0) if score["is_percent"] else (min(every), max(every))
    margin = 0.04 * (high - low or 1)
    ends = [low - margin, high + margin]
    axes.plot(ends, ends, "--", color=palette.reference, linewidth=1, label="no shift")
    if score["shift"]:
        by = score["shift"]["value"]
        axes.plot(ends, [end + by for end in ends], color=palette.series[0], linewidth=1.2, label="shift")
    known, new = zip(*points, strict=True)
    axes.scatter(known, new, s=26, color=palette.series[0], clip_on=False, zorder=3, alpha=0.75)
    axes.set(xlim=ends, ylim=ends, aspect="equal")
    unit = ", percent" if score["is_percent"] else ", points"
    axes.set_xlabel(f"{score['title']}, known value{unit}", fontsize=_LETTERS)
    axes.set_ylabel(f"{score['title']}, new value{unit}", fontsize=_LETTERS)
    axes.legend(fontsize=_LETTERS, frameon=False, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=2)
    axes.grid(color=palette.grid, alpha=0.35, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    return figure


def describe_anchors(result: Result) -> str:
    """Sentences with every point."""
    score = _score(result)
    assert score
    pairs = "; ".join(f"{printed(known)} and {printed(new)}" for known, new in _points(result))
    return f"Chart of anchors by {score['title'].lower()}: known value and new value. {pairs}."
