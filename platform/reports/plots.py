"""Charts of the reports: drawn by Matplotlib, themed by the page."""

import io
import re
from collections.abc import Mapping, Sequence
from typing import Any
from xml.etree import ElementTree

from matplotlib import rc_context
from matplotlib.figure import Figure

from reports.references import Reference

# Stand-ins that Matplotlib draws with; the page's own colours, light or dark, take their places.
_THEME = {
    "#010101": "var(--chart-ink)",
    "#020202": "var(--chart-grid)",
    "#030303": "var(--chart-reference)",
    "#040404": "var(--chart-1)",
    "#050505": "var(--chart-2)",
    "#060606": "var(--chart-3)",
}
_INK, _GRID, _REFERENCE, *_SERIES = _THEME
_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "turnwise",
    "font.family": "sans-serif",
    "font.sans-serif": ["system-ui", "DejaVu Sans"],
    "text.color": _INK,
    "axes.labelcolor": _INK,
    "axes.edgecolor": _GRID,
    "xtick.color": _INK,
    "ytick.color": _INK,
    "grid.color": _GRID,
}
_SVG = "http://www.w3.org/2000/svg"


def scores_chart(result: Mapping[str, Any], references: Sequence[Reference]) -> str:
    """Bars of every score with its interval; the papers' SSA as lines. Inline SVG; "" without bots."""
    bots, columns = result["bots"], result["columns"]
    if not bots:
        return ""
    with rc_context(_STYLE):  # type: ignore[arg-type]  # Matplotlib's stubs list the keys one by one
        figure = Figure(figsize=(max(6.0, 2.2 + 1.5 * len(bots)), 4.2), layout="constrained")
        axes = figure.add_subplot()
        width = 0.8 / len(columns)
        for index, column in enumerate(columns):
            places = [place + (index - (len(columns) - 1) / 2) * width for place in range(len(bots))]
            cells = [bot["cells"][index] for bot in bots]
            axes.bar(
                places,
                [cell["value"] for cell in cells],
                width * 0.92,
                color=_SERIES[index % 3],
                label=column["title"],
            )
            for place, cell in zip(places, cells, strict=True):
                if "low" in cell:
                    spread = [[cell["value"] - cell["low"]], [cell["high"] - cell["value"]]]
                    axes.errorbar([place], [cell["value"]], yerr=spread, color=_INK, capsize=3, linewidth=1.2)
        for value, names in _by_height(references).items():
            axes.axhline(value, color=_REFERENCE, linestyle=(0, (4, 3)), linewidth=0.9)
            axes.text(
                1.01, value, f"{names} {value}", transform=axes.get_yaxis_transform(), va="center", fontsize=8
            )
        axes.set_ylim(0, 100)
        axes.set_ylabel("percent of labelled replies")
        axes.set_xticks(range(len(bots)), [bot["bot"] for bot in bots])
        axes.spines[["top", "right"]].set_visible(False)
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, 1.14), ncols=3, frameon=False)
        return _inline(figure, _in_words(result))


def _by_height(references: Sequence[Reference]) -> dict[int, str]:
    names: dict[int, list[str]] = {}
    for reference in references:
        names.setdefault(reference.ssa, []).append(reference.system)
    return {ssa: ", ".join(systems) for ssa, systems in names.items()}


def _in_words(result: Mapping[str, Any]) -> str:
    """The chart for those who do not see it."""
    sentences = [
        f"{bot['bot']}: "
        + ", ".join(
            f"{column['title']} {cell['value']:.0f} percent"
            + (f" (interval {cell['low']:.0f} to {cell['high']:.0f})" if "low" in cell else "")
            for column, cell in zip(result["columns"], bot["cells"], strict=True)
        )
        for bot in result["bots"]
    ]
    return "Bar chart. " + ". ".join(sentences) + "."


def _inline(figure: Figure, description: str) -> str:
    """The figure as SVG that a page with a strict Content-Security-Policy may hold.

    Style attributes become presentation attributes, stand-in colours become the page's.
    """
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    ElementTree.register_namespace("", _SVG)
    root = ElementTree.fromstring(buffer.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{_SVG}}}metadata", f"{{{_SVG}}}style") or child.tag == f"{{{_SVG}}}title":
                parent.remove(child)
        _present(parent)
    for size in ("width", "height"):
        root.attrib.pop(size, None)
    root.set("role", "img")
    root.set("aria-label", description)
    return ElementTree.tostring(root, encoding="unicode")


def _present(element: ElementTree.Element) -> None:
    style = element.attrib.pop("style", "")
    for name, value in re.findall(r"([\w-]+)\s*:\s*([^;]+)", style):
        if name == "font":
            size = re.search(r"([\d.]+px)", value)
            element.set("font-size", size.group(1) if size else "10px")
        elif name not in ("text-align",):
            element.set(name, _THEME.get(value.strip(), value.strip()))
    for name in ("fill", "stroke"):
        if element.get(name) in _THEME:
            element.set(name, _THEME[element.attrib[name]])
