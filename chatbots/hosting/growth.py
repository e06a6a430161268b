"""Replies that grow: the part that can be shown, and its path from the bot's thread to an event loop.

A text so far may end within a character: half an emoji of several code points, or a letter whose accent is
still to come. Readers get whole characters only.
"""

import asyncio
import logging
import threading
import time
import unicodedata
from collections.abc import Callable, Mapping
from itertools import takewhile

from chatbots.base import Answering
from chatbots.hosting.requests import Request
from chatbots.hosting.response_checks import clean_text, is_blank
from evaluation.texts.lengths import MAX_REPLY_CHARS

logger = logging.getLogger(__name__)

SHOWN_EVERY_SECONDS = 0.005
"""Shortest time between two calls of `Answering.partial_texts`."""

SHARE_OF_TIME = 0.2
"""Part of a bot's time that its texts so far may take; the rest is for the replies themselves."""

_JOINER = "\u200d"
_UNFINISHED = frozenset({"Cn", "Cs", "Sk", "So"})
"""Categories of characters to which modifiers and joined characters are often added: mostly emoji."""


def showable(text: str) -> str:
    """Clean a text so far, and leave out a last character that may still grow.

    Args:
        text: untrusted, of any length.

    Returns:
        A prefix of the cleaned text; empty if nothing of it is visible yet.
    """
    # Tokenizers write U+FFFD for the first bytes of a character.
    clean = clean_text(text[: 4 * MAX_REPLY_CHARS]).rstrip("\ufffd")
    if not clean or is_blank(clean):
        return ""
    start = character_start(clean, len(clean) - 1)
    # Without outer blanks, which a cut before the next character would take back.
    return (clean[:start] if _may_grow(clean[start:]) else clean).rstrip()


def grown_from(known: str, text: str) -> tuple[int, str]:
    """The difference between two texts so far.

    Args:
        known: the text that the reader has.
        text: the newer text; usually `known` and more, but a faulty bot may change or shorten it.

    Returns:
        The number of code points of `known` to keep, and the text that follows them. That text never begins
        with an accent or another part of a character.
    """
    same = len(known) if text.startswith(known) else _common_length(known, text)
    start = character_start(text, same) if same < len(text) else same
    return start, text[start:]


def _common_length(one: str, other: str) -> int:
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def character_start(text: str, at: int) -> int:
    """Index at which the visible character begins that includes the code point at `at`."""
    while at and _continues(text, at):
        at -= 1
    return at


def cut_to(text: str, most: int) -> str:
    """The first code points of a text, at most `most`, that end with a whole visible character."""
    return text if most >= len(text) else text[: character_start(text, max(0, most))]


def _continues(text: str, at: int) -> bool:
    """True if the code point at `at` belongs to the visible character before it."""
    before, this = text[at - 1], text[at]
    if before == _JOINER or this == _JOINER or unicodedata.category(this)[0] == "M":
        return True
    if "\U0001f3fb" <= this <= "\U0001f3ff" or "\U000e0020" <= this <= "\U000e007f":  # skin tones, tags
        return True
    return _is_flag_letter(this) and _flag_letters_before(text, at) % 2 == 1


def _is_flag_letter(character: str) -> bool:
    return "\U0001f1e6" <= character <= "\U0001f1ff"


def _flag_letters_before(text: str, at: int) -> int:
    """Number of flag letters directly before an index; two of them make a flag."""
    first = at
    while first and _is_flag_letter(text[first - 1]):
        first -= 1
    return at - first


def _may_grow(character: str) -> bool:
    """True if a visible character at the end of a text so far is probably not complete."""
    if len(character) == 2 and _is_flag_letter(character[0]):
        return False
    return unicodedata.category(character[0]) in _UNFINISHED or character[-1] == _JOINER


class TextFeed:
    """Hands the newest text so far from a bot's thread to a function on an event loop.

    Args:
        loop: of the caller.
        receive: called on the loop with the showable text whenever it has changed.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, receive: Callable[[str], None]) -> None:
        self._loop, self._receive = loop, receive
        self._lock = threading.Lock()
        self._newest: str | None = None
        self._received = ""

    def put(self, text: str) -> None:
        """Note the newest text. Never blocks: while the loop is busy, a newer text replaces this one."""
        with self._lock:
            is_due, self._newest = self._newest is None, text
        if is_due:
            try:
                self._loop.call_soon_threadsafe(self._deliver)
            except RuntimeError:  # the loop is closed: no caller waits
                return

    def _deliver(self) -> None:
        with self._lock:
            newest, self._newest = self._newest, None
        text = showable(newest or "")
        if text and text != self._received:
            self._received = text
            self._receive(text)


class GrowthWatch:
    """Asks a bot for texts so far if any request wants them, and hands them on."""

    def __init__(self, name: str) -> None:
        """Set the bot's name, for the log."""
        self._name = name
        self._next_at = 0.0
        self._has_failed = False

    def look(self, answering: Answering, under_way: Mapping[int, Request]) -> None:
        """Hand on the texts that grew, no sooner than `SHOWN_EVERY_SECONDS` and `SHARE_OF_TIME` allow.

        An error in `partial_texts` fails no reply; the bot is then not asked for texts so far any more.
        """
        if self._has_failed or not any(request.on_text for request in under_way.values()):
            return
        began = time.monotonic()
        if began < self._next_at:
            return
        try:
            for key, text in answering.partial_texts().items():
                request = under_way.get(key)
                if request and request.on_text and isinstance(text, str):
                    request.on_text(text)
        except Exception:
            self._has_failed = True
            logger.exception("Bot '%s' cannot show its replies as they grow.", self._name)
        ended = time.monotonic()
        self._next_at = ended + max(SHOWN_EVERY_SECONDS, (ended - began) / SHARE_OF_TIME)
