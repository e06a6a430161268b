"""Fonts of PDF charts, embedded by Matplotlib in a fifth of the time. Importing this module is enough.

For each file, Matplotlib reads a whole font of 6,000 glyphs to embed some dozens of them. Here each process
keeps a small version of each font, with the glyphs that it has needed so far, and takes glyphs from there.
The embedded bytes are the same (`tests/charts/test_pdf_fonts.py`).
"""

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from threading import Lock
from typing import Any

from fontTools import subset
from matplotlib.backends import _backend_pdf_ps  # private: Matplotlib has no setting for what follows
from matplotlib.font_manager import get_font

# A font of Chinese characters has tens of thousands of glyphs. A small version of many is no longer small.
MAX_GLYPHS = 2_000
# Letters with accents are drawn from others, so few glyphs are added for them.
_EXPECTED = (*range(0x20, 0x7F), *range(0xA0, 0x180))

embed_whole = _backend_pdf_ps.get_glyphs_subset
_lock = Lock()


@dataclass(frozen=True, slots=True)
class SmallFont:
    """A font with some of another's glyphs.

    Attributes:
        data: the font file.
        indices: of each of its glyphs, by the glyph's index in the whole font.
    """

    data: bytes
    indices: Mapping[int, int]


class _FontFile(BytesIO):
    face_index = 0  # what Matplotlib asks of a font's path


_small: dict[tuple[str, int], SmallFont] = {}


@contextmanager
def embed(fontfile: Any, glyphs: Iterable[int]) -> Iterator[_backend_pdf_ps.SubsetResults]:
    """Replace Matplotlib's `get_glyphs_subset`: open a font that has only these glyphs.

    Args:
        fontfile: path of the font.
        glyphs: indices of the glyphs in the font.
    """
    wanted = set(glyphs)
    with _lock:
        small = _small_font(fontfile, wanted)
    inner = {small.indices[each] for each in wanted}
    with embed_whole(_FontFile(small.data), inner) as result:  # a file in place of a path
        indices = {each: result.glyph_index_map[small.indices[each]] for each in wanted}
        yield _backend_pdf_ps.SubsetResults(result.font, indices)


def _small_font(fontfile: Any, wanted: set[int]) -> SmallFont:
    key = str(fontfile), fontfile.face_index
    known = _small.get(key)
    if known and wanted <= known.indices.keys():
        return known
    glyphs = wanted | (known.indices.keys() if known else _expected(fontfile))
    if len(glyphs) > MAX_GLYPHS:
        glyphs = wanted
    with _no_layout_tables(), embed_whole(fontfile, glyphs) as result:
        data = _backend_pdf_ps.font_as_file(result.font).getvalue()  # type: ignore[no-untyped-call]
        made = SmallFont(data, dict(result.glyph_index_map))
    _small[key] = made
    return made


def _expected(fontfile: Any) -> set[int]:
    font = get_font(fontfile)
    return {font.get_char_index(each) for each in _EXPECTED}


@contextmanager
def _no_layout_tables() -> Iterator[None]:
    """Embed fonts without the tables for ligatures, marks and kerning.

    The PDF names and places every glyph. Subsetting these tables takes longer than all others together.
    """
    options = subset.Options
    default = options._drop_tables_default  # private
    options._drop_tables_default = [*default, "GDEF", "GPOS", "GSUB"]
    try:
        yield
    finally:
        options._drop_tables_default = default


_backend_pdf_ps.get_glyphs_subset = embed
