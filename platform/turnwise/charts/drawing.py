"""Figures of Matplotlib as SVG for a page and as PDF.

Which charts a result has, by name.
"""

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
from turnwise.charts.by_turn import by_reply, by_reply_in_words, by_turn, by_turn_in_words
from turnwise.charts.layout import (
    NARROW,
    OF_PAGE,
    PAGE,
    SCALE,
    SVG,
    WIDE,
    Palette,
    Result,
    Room,
    name_of,
    published_in,
)
from turnwise.charts.planes import plane, plane_in_words
from turnwise.charts.system_rows import preferences, preferences_in_words, scores, scores_in_words

_XLINK_HREF = "{http://www.w3.org/1999/xlink}href"
# It tells every step of subsetting a font.
logging.getLogger("fontTools").setLevel(logging.WARNING)


def for_page(figure: Figure, name: str, description: str) -> str:
    """A figure drawn with `PAGE` as SVG that a page with a strict Content-Security-Policy may hold.

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
        _present(parent)
    _rename_ids(root, name)
    root.set("width", str(round(SCALE * float(root.attrib["viewBox"].split()[2]))))
    root.attrib.pop("height", None)  # follows from the width
    root.set("role", "img")
    root.set("aria-label", description)
    return ElementTree.tostring(root, encoding="unicode")


def _rename_ids(root: ElementTree.Element, name: str) -> None:
    """Keep the ids that are referred to, and refer to them as HTML parsers understand it."""
    referred = set()
    for element in root.iter():
        if target := element.attrib.pop(_XLINK_HREF, None):
            element.set("href", f"#{name}-{target[1:]}")
            referred.add(target[1:])
        if clip := re.fullmatch(r"url\(#(.+)\)", element.get("clip-path", "")):
            element.set("clip-path", f"url(#{name}-{clip.group(1)})")
            referred.add(clip.group(1))
    for element in root.iter():
        own = element.attrib.pop("id", None)
        if own in referred:
            element.set("id", f"{name}-{own}")


def _present(element: ElementTree.Element) -> None:
    style = element.attrib.pop("style", "")
    for name, value in re.findall(r"([\w-]+)\s*:\s*([^;]+)", style):
        if name == "font":
            size = re.search(r"([\d.]+px)", value)
            element.set("font-size", size.group(1) if size else "10px")
        elif name != "text-align":
            element.set(name, OF_PAGE.get(value.strip(), value.strip()))
    for name in ("fill", "stroke"):
        if element.get(name) in OF_PAGE:
            element.set(name, OF_PAGE[element.attrib[name]])


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
    """A chart as SVG for its page: for a desktop, and drawn anew for a phone."""

    svg: str
    narrow_svg: str


@dataclass(frozen=True, slots=True)
class Chart:
    """A kind of chart: how it is drawn, how it is told to those who do not see it, and what it needs."""

    draw: Callable[[Result, Sequence[Published], Room, Palette], Figure]
    describe: Callable[[Result], str]
    has_data: Callable[[Result], bool]


CHARTS: Mapping[str, Chart] = {
    "scores": Chart(
        scores, scores_in_words, lambda result: "headline" in result and "preferences" not in result
    ),
    "preferences": Chart(preferences, preferences_in_words, lambda result: bool(result.get("preferences"))),
    "plane": Chart(plane, plane_in_words, lambda result: result.get("plane") is not None),
    "by-reply": Chart(by_reply, by_reply_in_words, lambda result: bool(result.get("by_reply"))),
    "by-turn": Chart(by_turn, by_turn_in_words, lambda result: bool(result.get("by_turn"))),
}
Found: TypeAlias = tuple[str, Chart, Result]


def drawings(result: Result) -> dict[str, Drawing]:
    """By name, the charts that the result has data for."""
    with rc_context(dict(PAGE.style)):  # type: ignore[arg-type]  # the stubs list keys one by one
        return {
            found[0]: Drawing(_svg(found, WIDE, found[0]), _svg(found, NARROW, f"{found[0]}-narrow"))
            for found in _with_data(result)
        }


def svgs(result: Result) -> dict[str, str]:
    """By name, the charts that the result has data for, for a desktop or a file."""
    with rc_context(dict(PAGE.style)):  # type: ignore[arg-type]  # the stubs list keys one by one
        return {found[0]: _svg(found, WIDE, found[0]) for found in _with_data(result)}


def pdf(name: str, result: Result, palette: Palette) -> bytes:
    """One of these charts as a file, in fixed colours."""
    found = next(each for each in _with_data(result) if each[0] == name)
    with rc_context(dict(palette.style)):  # type: ignore[arg-type]  # the stubs list keys one by one
        return as_pdf(_drawn(found, WIDE, palette), palette)


def _with_data(result: Result) -> Iterator[Found]:
    """The charts of the first ask, then those of what is asked beside it."""
    for ask, figures in enumerate([result, *result.get("beside", ())]):
        if figures["bots"] and figures["columns"]:
            for kind, chart in CHARTS.items():
                if chart.has_data(figures):
                    yield name_of(kind, ask), chart, figures


def _svg(found: Found, room: Room, ids: str) -> str:
    _, chart, result = found
    return for_page(_drawn(found, room, PAGE), ids, chart.describe(result))


def _drawn(found: Found, room: Room, palette: Palette) -> Figure:
    _, chart, result = found
    return chart.draw(result, published_in(result), room, palette)
