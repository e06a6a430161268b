"""Figures of Matplotlib as SVG for a page and as PDF."""

import io
import re
from xml.etree import ElementTree

from matplotlib.figure import Figure

from reports.palettes import OF_PAGE, SVG, Palette


def for_page(figure: Figure, description: str) -> str:
    """A figure drawn with `PAGE` as SVG that a page with a strict Content-Security-Policy may hold.

    Style attributes become presentation attributes, stand-in colours become the page's.
    """
    buffer = io.StringIO()
    figure.savefig(buffer, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    ElementTree.register_namespace("", SVG)
    root = ElementTree.fromstring(buffer.getvalue())
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag in (f"{{{SVG}}}metadata", f"{{{SVG}}}style") or child.tag == f"{{{SVG}}}title":
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
