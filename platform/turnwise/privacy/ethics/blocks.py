"""Parts of a document, and the texts of a rendered page as such parts."""

import re
from dataclasses import dataclass, field
from enum import StrEnum
from html.parser import HTMLParser

from typing_extensions import override


class Kind(StrEnum):
    """Kind of a block."""

    HEADING = "heading"
    TEXT = "text"
    ITEM = "item"
    FACT = "fact"


@dataclass(frozen=True, slots=True)
class Block:
    """A paragraph, a heading, an item of a list, or a fact with its term.

    Attributes:
        kind: how it is set.
        text: plain text without markup.
        term: what the fact is about; empty for other kinds.
    """

    kind: Kind
    text: str
    term: str = ""


@dataclass(frozen=True, slots=True)
class Section:
    """A titled part of a document."""

    title: str
    blocks: list[Block] = field(default_factory=list)


_KINDS = {
    **dict.fromkeys(("h1", "h2", "h3", "h4", "h5", "h6", "summary"), Kind.HEADING),
    **dict.fromkeys(("p", "pre", "label", "td", "th", "div", "section", "blockquote"), Kind.TEXT),
    "li": Kind.ITEM,
    "dd": Kind.FACT,
}
# Elements without texts that a participant reads as part of the page.
_SKIPPED = frozenset({"button", "nav", "script", "style", "svg", "template", "textarea", "select"})
_VOID = frozenset({"br", "hr", "img", "input", "link", "meta", "use", "wbr"})


class _Reader(HTMLParser):
    """Collects the texts inside the element with the id `main`."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.blocks: list[Block] = []
        self._open: list[str] = []
        self._main: int | None = None
        self._skipped: int | None = None
        self._kind = Kind.TEXT
        self._words: list[str] = []
        self._term = ""

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _VOID:
            if tag == "br":
                self._words.append(" ")
            return
        self._open.append(tag)
        names = dict(attrs)
        if names.get("id") == "main":
            self._main = len(self._open)
        if self._skipped is None and (tag in _SKIPPED or "hidden" in names):
            self._skipped = len(self._open)
        if tag in _KINDS or tag == "dt":
            self._flush()
            # A paragraph inside an item or a fact stays one.
            is_inside = tag in ("p", "div") and self._kind in (Kind.ITEM, Kind.FACT)
            if not is_inside:
                self._kind = _KINDS.get(tag, Kind.TEXT)

    @override
    def handle_endtag(self, tag: str) -> None:
        if tag not in self._open:
            return
        while self._open:
            depth, ended = len(self._open), self._open.pop()
            if self._skipped == depth:
                self._skipped = None
            if self._main == depth:
                self._flush()
                self._main = None
            if ended == tag:
                break
        if tag == "dt":
            self._term, self._words = _joined(self._words), []
        elif tag in _KINDS:
            self._flush()
            if tag not in ("p", "div"):
                self._kind = Kind.TEXT

    @override
    def handle_data(self, data: str) -> None:
        if self._main is not None and self._skipped is None:
            self._words.append(data)

    def _flush(self) -> None:
        text, self._words = _joined(self._words), []
        if text:
            is_fact = self._kind is Kind.FACT
            self.blocks.append(Block(self._kind, text, self._term if is_fact else ""))


def _joined(words: list[str]) -> str:
    return re.sub(r"[ \t\r\n\f]+", " ", "".join(words)).strip()


def blocks_of_page(html: str) -> list[Block]:
    """Texts of a page's main part, in order, without buttons, navigation and hidden elements."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    return reader.blocks


def blocks_of_fragment(html: str) -> list[Block]:
    """Texts of a piece of HTML, such as formatted Markdown."""
    return blocks_of_page(f'<main id="main">{html}</main>')
