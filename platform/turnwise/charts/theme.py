"""Figures of Matplotlib as SVG for a page and as PDF."""

import io
import logging
import re
from xml.etree import ElementTree

from matplotlib.figure import Figure

from turnwise.charts.palettes import OF_PAGE, SVG, Palette
from turnwise.charts.room import SCALE

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
