"""Style of a text as people see it: its length, and how many headers, list items and bold passages it has.

The elements are those of the style control of Chatbot Arena (Li, Angelopoulos & Chiang 2024, "Does style
matter?", lmsys.org/blog/2024-08-28-style-control). Length is in characters instead of one model's tokens, so
that it is defined for every language.
"""

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

_CODE = re.compile(r"^[ \t]*(```|~~~).*?(?:^[ \t]*\1|\Z)", re.MULTILINE | re.DOTALL)
_HEADER = re.compile(r"^ {0,3}#{1,6}[ \t]+\S", re.MULTILINE)
_LIST_ITEM = re.compile(r"^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\S", re.MULTILINE)
_BOLD = re.compile(r"\*\*[^*\n]+\*\*|__[^_\n]+__")


class Style(NamedTuple):
    """Style of one side of a pair.

    Attributes:
        length: code points.
        headers: lines that begin with one to six #.
        lists: items of bulleted and numbered lists.
        bold: passages between double asterisks or underscores.
    """

    length: int
    headers: int
    lists: int
    bold: int


def style_of(texts: Iterable[str]) -> Style:
    """Add up the style of several texts; Markdown inside blocks of code does not count."""
    counts = [_style(text) for text in texts]
    return Style(*(sum(column) for column in zip(*counts, strict=True))) if counts else Style(0, 0, 0, 0)


def texts_of_speaker(texts: Sequence[str], speaker: int | None) -> Sequence[str]:
    """Keep the turns of one speaker of a conversation.

    Args:
        texts: of all turns, oldest first; speakers take turns.
        speaker: 0 for the one who begins, 1 for the other; None: keep all texts.
    """
    return texts if speaker is None else texts[speaker::2]


def _style(text: str) -> Style:
    prose = _CODE.sub("", text)
    counts = (len(pattern.findall(prose)) for pattern in (_HEADER, _LIST_ITEM, _BOLD))
    return Style(len(text), *counts)
