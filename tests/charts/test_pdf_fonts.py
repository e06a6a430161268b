"""The fonts of PDF charts are embedded as Matplotlib would, from a small version of the font."""

import pytest
from matplotlib.backends import _backend_pdf_ps
from matplotlib.font_manager import findfont, get_font

from turnwise.charts import pdf_fonts

FONT = findfont("DejaVu Sans")
TEXTS = ("Scores", "Größe: 95 % (n = 12)", "Ελληνικά ≥ 3", "Overall: 0.25 … ½", "العربية")


def glyphs_of(text: str) -> set[int]:
    font = get_font(FONT)
    return {font.get_char_index(ord(each)) for each in text}


def embedded(text: str) -> tuple[bytes, dict[int, int]]:
    with _backend_pdf_ps.get_glyphs_subset(FONT, glyphs_of(text)) as found:
        data = _backend_pdf_ps.font_as_file(found.font).getvalue()
        return data, {each: found.glyph_index_map[each] for each in glyphs_of(text)}


def by_matplotlib(text: str) -> tuple[bytes, dict[int, int]]:
    with pdf_fonts._no_layout_tables(), pdf_fonts.embed_whole(FONT, glyphs_of(text)) as found:
        data = _backend_pdf_ps.font_as_file(found.font).getvalue()
        return data, {each: found.glyph_index_map[each] for each in glyphs_of(text)}


@pytest.mark.parametrize("most", [2_000, 50])
def test_the_embedded_font_is_the_same_byte_by_byte_whatever_was_embedded_before(
    monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr(pdf_fonts, "_small", {})
    monkeypatch.setattr(pdf_fonts, "MAX_GLYPHS", most)
    for text in (*TEXTS, *reversed(TEXTS)):
        assert embedded(text) == by_matplotlib(text)
