"""Replies that grow, on their way between processes: only the new part of a text travels."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from chatbots.hosting.growth import grown_from

Item = dict[str, Any]


@dataclass(frozen=True, slots=True)
class PartialReply:
    """The whole text so far of a reply, and the version of the bot that writes it."""

    text: str
    version_id: int


OnPartial = Callable[[PartialReply], None]


class GrowthEncoder:
    """Turns texts so far into items that hold the new part only."""

    def __init__(self) -> None:
        """Start with an empty text."""
        self._sent = ""

    def encode(self, partial: PartialReply) -> Item:
        """Item for the receiver of all items before: how much of its text to keep, and what follows."""
        offset, text = grown_from(self._sent, partial.text)
        self._sent = partial.text
        return {"offset": offset, "text": text, "version": partial.version_id}


class GrowthDecoder:
    """Turns items back into texts so far.

    Args:
        on_partial: called with each text.
    """

    def __init__(self, on_partial: OnPartial) -> None:
        self._on_partial = on_partial
        self._text = ""

    def decode(self, item: Item) -> None:
        """Read an item of `GrowthEncoder`. After a lost item, later ones are ignored."""
        if item["offset"] <= len(self._text):
            self._text = self._text[: item["offset"]] + item["text"]
            self._on_partial(PartialReply(self._text, item["version"]))
