"""Separation of a model's think block from its reply, while the text arrives in parts."""

import re

OPEN, CLOSE = "<think>", "</think>"
_SURROGATES = re.compile("[\ud800-\udfff]")


class ThinkFilter:
    """Separates the block `<think>…</think>` at the beginning of a text.

    White space before the block and line breaks after it go with the block; the other text is unchanged.
    """

    def __init__(self) -> None:
        """Start at the beginning of a text."""
        self._held, self._where = "", "start"

    def feed(self, part: str) -> tuple[str, str]:
        """Return what is certain with this part: visible text, and reasoning."""
        self._held += part
        if self._where == "start":
            self._look_for_block()
        reasoning = self._reasoning() if self._where == "inside" else ""
        if self._where == "after":
            self._held = self._held.lstrip("\r\n")
            self._where = "text" if self._held else "after"
        if self._where != "text":
            return "", reasoning
        text, self._held = self._held, ""
        return text, reasoning

    def finish(self) -> tuple[str, str]:
        """Return what the end of the text makes certain: visible text, and reasoning."""
        held, self._held = self._held, ""
        return ("", held) if self._where == "inside" else (held, "")

    def _look_for_block(self) -> None:
        begin = self._held.lstrip()
        if begin.startswith(OPEN):
            self._held, self._where = begin.removeprefix(OPEN), "inside"
        elif not OPEN.startswith(begin):
            self._where = "text"

    def _reasoning(self) -> str:
        reasoning, close, rest = self._held.partition(CLOSE)
        if close:
            self._held, self._where = rest, "after"
            return reasoning
        tail = next(n for n in range(len(CLOSE) - 1, -1, -1) if reasoning.endswith(CLOSE[:n]))
        self._held = reasoning[len(reasoning) - tail :]
        return reasoning[: len(reasoning) - tail]


_BARE_CLOSE = re.compile(r"(?<![`'\"“])</think>(?![`'\"”])")


def split_at_bare_close(text: str) -> tuple[str, str] | None:
    """Split a complete text at a closing tag that no opening tag precedes; None if it has none.

    Models whose prompt already holds the opening tag answer so. A tag in quotation marks or in backticks is
    part of the text.

    Returns:
        The reasoning before the tag, and the text after it without line breaks at its beginning.
    """
    found = _BARE_CLOSE.search(text)
    if found is None or OPEN in text[: found.start()]:
        return None
    return text[: found.start()], text[found.end() :].lstrip("\r\n")


class SurrogateJoiner:
    """Joins halves of characters that a service has sent in different events.

    JSON writes a character outside of the Basic Multilingual Plane as two escapes, which a service that
    streams tokens may separate.
    """

    def __init__(self) -> None:
        """Start with no half."""
        self._half = ""

    def feed(self, part: str) -> str:
        """Return the text without halves; a half whose other half never comes becomes U+FFFD."""
        text = self._half + part
        self._half = text[-1:] if "\ud800" <= text[-1:] <= "\udbff" else ""
        return _joined(text[: len(text) - len(self._half)])

    def finish(self) -> str:
        """Return U+FFFD for a half at the end of the text; else nothing."""
        half, self._half = self._half, ""
        return "\N{REPLACEMENT CHARACTER}" if half else ""


def _joined(text: str) -> str:
    if not _SURROGATES.search(text):
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
