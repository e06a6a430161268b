"""The colours of charts: those of the page where a chart stands in it, fixed ones in files to take away."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from xml.etree import ElementTree

SVG = "http://www.w3.org/2000/svg"


@dataclass(frozen=True, slots=True)
class Palette:
    """Colours of a chart as #rrggbb."""

    ink: str
    grid: str
    reference: str
    series: tuple[str, str, str]
    surface: str

    @property
    def style(self) -> Mapping[str, Any]:
        """Matplotlib's settings for it."""
        return {
            "svg.fonttype": "none",
            "svg.hashsalt": "turnwise",
            "pdf.fonttype": 42,
            "font.family": "sans-serif",
            "font.sans-serif": ["DejaVu Sans"],
            "text.parse_math": False,  # a dollar sign in a bot's title is a dollar sign
            "text.color": self.ink,
            "axes.labelcolor": self.ink,
            "axes.titlecolor": self.ink,
            "axes.edgecolor": self.grid,
            "axes.facecolor": "none",
            "xtick.color": self.ink,
            "ytick.color": self.ink,
            "grid.color": self.grid,
        }


# static/css/tokens.css has the same, for the page.
LIGHT = Palette("#505a5c", "#7a7970", "#7a7970", ("#0a5b51", "#8c3b7d", "#b06f00"), "#ffffff")
DARK = Palette("#b0b5af", "#868e88", "#868e88", ("#62cfbb", "#d793cb", "#f4c56d"), "#1a201f")
PALETTES = {"light": LIGHT, "dark": DARK}

# Stand-ins that Matplotlib draws with; the page's own colours, light or dark, take their places.
PAGE = Palette("#010101", "#020202", "#030303", ("#040404", "#050505", "#060606"), "#070707")
_VARIABLES = ("ink", "grid", "reference", "1", "2", "3")
OF_PAGE = {
    stand_in: f"var(--chart-{name})"
    for stand_in, name in zip((PAGE.ink, PAGE.grid, PAGE.reference, *PAGE.series), _VARIABLES, strict=True)
}


def standalone(svg: str, palette: Palette) -> str:
    """A chart of a page as a file of its own, in fixed colours on a background."""
    for variable, colour in zip(
        _VARIABLES, (palette.ink, palette.grid, palette.reference, *palette.series), strict=True
    ):
        svg = svg.replace(f"var(--chart-{variable})", colour)
    ElementTree.register_namespace("", SVG)
    root = ElementTree.fromstring(svg)
    _, _, width, height = root.get("viewBox", "0 0 600 400").split()
    root.attrib |= {"width": width, "height": height, "font-family": "system-ui, sans-serif"}
    root.insert(0, ElementTree.Element(f"{{{SVG}}}rect", width="100%", height="100%", fill=palette.surface))
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode")
