"""The document as PDF, set by fpdf2 in a subprocess (docs/decisions/pdf-for-ethics-boards.md)."""

import json
import sys
import unicodedata
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from django.conf import settings

from turnwise.live.subprocesses import run_module
from turnwise.privacy.ethics.blocks import Kind

if TYPE_CHECKING:
    from fpdf import FPDF

    from turnwise.privacy.ethics.document import EthicsDocument

_FAMILY, _FURTHER = "DejaVu", "Further"
_FILES = {"": "DejaVuSans.ttf", "B": "DejaVuSans-Bold.ttf"}
_TEXT_POINTS, _MARGIN_MM = 10.0, 20.0
# Control characters of direction and joining have no sign of their own.
_UNSEEN = frozenset({"Cc", "Cf"})


def _font(style: str) -> Path:
    """File of the font, which comes with Matplotlib."""
    import matplotlib

    return Path(matplotlib.get_data_path()) / "fonts" / "ttf" / _FILES[style]


@cache
def _drawable(further: str) -> frozenset[int]:
    """Code points that both styles of the font, or the further font with this path, can draw."""
    regular, bold = (_code_points(_font(style)) for style in _FILES)
    return regular & bold | (_code_points(Path(further)) if further else frozenset())


def _code_points(file: Path) -> frozenset[int]:
    from fontTools.ttLib import TTFont

    with TTFont(file, lazy=True) as font:
        return frozenset(font.getBestCmap())


def _texts(document: "EthicsDocument") -> Iterator[str]:
    yield document.title
    for section in document.sections:
        yield section.title
        for block in section.blocks:
            yield block.term
            yield block.text


def undrawable_characters(document: "EthicsDocument") -> list[str]:
    """Characters of the document that the fonts cannot draw, each once, in order."""
    used, drawable = dict.fromkeys("".join(_texts(document))), _drawable(settings.PDF_FONT)
    return [
        each
        for each in used
        if ord(each) not in drawable and unicodedata.category(each) not in _UNSEEN and not each.isspace()
    ]


def render_pdf(document: "EthicsDocument") -> bytes:
    """Set the document as PDF.

    Raises:
        subprocess.SubprocessError: setting fails or takes too long.
    """
    made_at = f"{document.made_at:%Y-%m-%d %H:%M} UTC"
    contents = asdict(document) | {"made_at": made_at, "further_font": settings.PDF_FONT}
    return run_module("turnwise.privacy.ethics.pdf", [], contents)


def _is_right_to_left(text: str) -> bool:
    """True if the first strong character is written from right to left."""
    strong = (unicodedata.bidirectional(each) for each in text)
    return next((each for each in strong if each in ("L", "R", "AL")), "L") != "L"


def _write(
    pdf: "FPDF", text: str, *, bold: bool = False, points: float = _TEXT_POINTS, beside: str = ""
) -> None:
    """Set a paragraph, on the side where `beside`, or else the text itself, begins."""
    from fpdf.enums import XPos, YPos

    pdf.set_font(_FAMILY, "B" if bold else "", points)
    pdf.multi_cell(
        w=0,
        h=points * 0.53,
        text=_without_controls(text),
        align="R" if _is_right_to_left(beside or text) else "L",
        new_x=XPos.LMARGIN,
        new_y=YPos.NEXT,
    )


def _without_controls(text: str) -> str:
    """The text without control characters; those that join letters or set a direction stay."""
    return "".join(each for each in text if each == "\n" or unicodedata.category(each) != "Cc")


def _write_block(pdf: "FPDF", block: dict[str, str]) -> None:
    kind, text = block["kind"], block["text"]
    if kind == Kind.HEADING:
        pdf.ln(2)
        _write(pdf, text, bold=True, points=11)
    elif kind == Kind.FACT:
        if block["term"]:
            _write(pdf, block["term"], bold=True)
        _write(pdf, text, beside=block["term"])
    else:
        _write(pdf, f"\N{BULLET} {text}" if kind == Kind.ITEM else text)
    pdf.ln(1.5)


def set_document(document: dict[str, Any]) -> bytes:
    """Set a document, given as JSON, on pages of A4 with their numbers."""
    from fpdf import FPDF

    class Numbered(FPDF):
        def footer(self) -> None:
            self.set_y(-15)
            self.set_font(_FAMILY, "", 8)
            self.cell(0, 8, f"{self.page_no()} / {{nb}}", align="C")

    pdf = Numbered(format="A4")
    for style in _FILES:
        pdf.add_font(_FAMILY, style, _font(style))
        if further := document["further_font"]:
            pdf.add_font(_FURTHER, style, further)
            pdf.set_fallback_fonts([_FURTHER])
    pdf.set_margins(_MARGIN_MM, _MARGIN_MM)
    pdf.set_auto_page_break(True, margin=_MARGIN_MM)
    pdf.set_text_shaping(True)
    pdf.set_title(document["title"])
    pdf.add_page()
    _write(pdf, document["title"], bold=True, points=18)
    pdf.ln(1)
    _write(pdf, document["made_at"], points=9)
    for section in document["sections"]:
        pdf.ln(5)
        _write(pdf, section["title"], bold=True, points=14)
        pdf.ln(2)
        for block in section["blocks"]:
            _write_block(pdf, block)
    return bytes(pdf.output())


def main() -> None:
    sys.stdout.buffer.write(set_document(json.load(sys.stdin)))


if __name__ == "__main__":
    main()
