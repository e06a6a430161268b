"""The charts of a result, drawn by Matplotlib as SVG for a page and as PDF."""

import io
import logging
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias
from xml.etree import ElementTree

from matplotlib import rc_context
from matplotlib.figure import Figure

from evaluation.protocols import Published
from turnwise.charts import pdf_fonts  # noqa: F401  # it embeds the fonts of PDF charts
from turnwise.charts.anchors import anchors, describe_anchors, has_anchors
from turnwise.charts.by_turn import by_reply, by_turn, describe_by_reply, describe_by_turn
from turnwise.charts.layout import (
    NARROW,
    PAGE,
    PAGE_VARIABLES,
    SCALE,
    SVG,
    WIDE,
    Palette,
    Result,
    Viewport,
    chart_name,
    published_in,
)
from turnwise.charts.planes import describe_plane, plane
from turnwise.charts.system_rows import describe_preferences, describe_scores, preferences, scores

_XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
# fontTools logs every step of subsetting a font.
logging.getLogger("fontTools").setLevel(logging.WARNING)


def svg_for_page(figure: Figure, name: str, description: str) -> str:
    """Convert a figure drawn with `PAGE` to SVG for a page with a strict Content-Security-Policy.

    Style attributes become presentation attributes, stand-in colours become the page's, and ids begin with
    the chart's name, so that several charts may stand in one page.
    """
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    ElementTree.register_namespace("", SVG)
    root = ElementTree.fromstring(buffer.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{SVG}}}metadata", f"{{{SVG}}}style", f"{{{SVG}}}title"):
                parent.remove(child)
        _inline_styles(parent)
    _rename_ids(root, name)
    root.set("width", str(round(SCALE * float(root.attrib["viewBox"].split()[2]))))
    root.attrib.pop("height", None)  # follows from the width
    root.set("role", "img")
    root.set("aria-label", description)
    return ElementTree.tostring(root, encoding="unicode")


def _rename_ids(root: ElementTree.Element, name: str) -> None:
    """Prefix ids in use, drop the others, and write references as plain href."""
    referred = set()
    for element in root.iter():
        if target := element.attrib.pop(_XLINK_HREF, None):
            element.set("href", f"#{name}-{target[1:]}")
            referred.add(target[1:])
        if clip := re.fullmatch(r"url\(#(.+)\)", element.get("clip-path", "")):
            element.set("clip-path", f"url(#{name}-{clip.group(1)})")
            referred.add(clip.group(1))
    for element in root.iter():
        identifier = element.attrib.pop("id", None)
        if identifier in referred:
            element.set("id", f"{name}-{identifier}")


def _inline_styles(element: ElementTree.Element) -> None:
    style = element.attrib.pop("style", "")
    for name, value in re.findall(r"([\w-]+)\s*:\s*([^;]+)", style):
        if name == "font":
            size = re.search(r"([\d.]+px)", value)
            element.set("font-size", size.group(1) if size else "10px")
        elif name != "text-align":
            element.set(name, PAGE_VARIABLES.get(value.strip(), value.strip()))
    for name in ("fill", "stroke"):
        if element.get(name) in PAGE_VARIABLES:
            element.set(name, PAGE_VARIABLES[element.attrib[name]])


def as_pdf(figure: Figure, palette: Palette) -> bytes:
    buffer = io.BytesIO()
    figure.savefig(
        buffer,
        format="pdf",
        facecolor=palette.surface,
        metadata={"CreationDate": None, "Creator": "Turnwise"},
    )
    return buffer.getvalue()


@dataclass(frozen=True, slots=True)
class Drawing:
    """A chart as SVG for its page: one for a desktop, one for a phone."""

    svg: str
    narrow_svg: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A kind of chart: how to draw it, how to describe it for screen readers, and which results have it."""

    draw: Callable[[Result, Sequence[Published], Viewport, Palette], Figure]
    describe: Callable[[Result], str]
    has_data: Callable[[Result], bool]


CHARTS: Mapping[str, Chart] = {
    "scores": Chart(
        scores, describe_scores, lambda result: "headline" in result and "preferences" not in result
    ),
    "preferences": Chart(preferences, describe_preferences, lambda result: bool(result.get("preferences"))),
    "plane": Chart(plane, describe_plane, lambda result: result.get("plane") is not None),
    "by-reply": Chart(by_reply, describe_by_reply, lambda result: bool(result.get("by_reply"))),
    "anchors": Chart(anchors, describe_anchors, has_anchors),
    "by-turn": Chart(by_turn, describe_by_turn, lambda result: bool(result.get("by_turn"))),
}
NamedChart: TypeAlias = tuple[str, Chart, Result]


def drawings(result: Result) -> dict[str, Drawing]:
    """Charts that the result has data for, by name."""
    with rc_context(dict(PAGE.style)):  # type: ignore[arg-type]  # the stubs list keys one by one
        return {
            named[0]: Drawing(_svg(named, WIDE, named[0]), _svg(named, NARROW, f"{named[0]}-narrow"))
            for named in _with_data(result)
        }


def svgs(result: Result) -> dict[str, str]:
    """SVG for a desktop or a file of each chart that the result has data for, by name."""
    with rc_context(dict(PAGE.style)):  # type: ignore[arg-type]  # the stubs list keys one by one
        return {named[0]: _svg(named, WIDE, named[0]) for named in _with_data(result)}


def pdf(name: str, result: Result, palette: Palette) -> bytes:
    """PDF of one of these charts, in fixed colours."""
    named = next(each for each in _with_data(result) if each[0] == name)
    with rc_context(dict(palette.style)):  # type: ignore[arg-type]  # the stubs list keys one by one
        return as_pdf(_draw(named, WIDE, palette), palette)


def _with_data(result: Result) -> Iterator[NamedChart]:
    """Charts of the first ask, then of the study's other asks."""
    for ask, figures in enumerate([result, *result.get("beside", ())]):
        if figures["bots"] and figures["columns"]:
            for kind, chart in CHARTS.items():
                if chart.has_data(figures):
                    yield chart_name(kind, ask), chart, figures


def _svg(named: NamedChart, viewport: Viewport, ids: str) -> str:
    _, chart, result = named
    return svg_for_page(_draw(named, viewport, PAGE), ids, chart.describe(result))


def _draw(named: NamedChart, viewport: Viewport, palette: Palette) -> Figure:
    _, chart, result = named
    return chart.draw(result, published_in(result), viewport, palette)
