"""Frames: the JSON objects that sockets and pages send to each other, with their limits and refusals.

A refused frame changes nothing; the page shows the refusal's `say`.
"""

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Coroutine
from typing import Any, Generic, Protocol, TypeVar
from uuid import UUID

import orjson
from django.utils.functional import Promise
from django.utils.text import format_lazy
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation.texts.lengths import MAX_MESSAGE_CHARS


class RateLimit:
    """A token bucket: `at_once` tokens at first, refilled with `per_second` tokens a second."""

    __slots__ = ("_at", "_left", "_most", "_per_second")

    def __init__(self, at_once: float, per_second: float) -> None:
        self._most = self._left = float(at_once)
        self._per_second = per_second
        self._at = time.monotonic()

    def spend(self) -> bool:
        """Spend one token; False if none was left. A refused attempt costs a token, too."""
        now = time.monotonic()
        self._left = min(self._most, self._left + (now - self._at) * self._per_second) - 1
        self._at = now
        return self._left >= 0


_PACKED = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
_WIDE = (b"\xff\xfe", b"\xfe\xff")


def why_not_text(data: bytes) -> str:
    """Explain that a file is a workbook or UTF-16, and what to do; empty for any other file."""
    if data.startswith(_PACKED):
        return _(
            "This is a workbook (.xlsx, .xls) or another packed file, whatever its name says. Open it in a "
            "spreadsheet program, save it as “CSV UTF-8”, and choose that file."
        )
    if data.startswith(_WIDE):
        return _("The text is in UTF-16, not in UTF-8. Save it as “CSV UTF-8”, and choose that file.")
    return ""


_NOT_UNDERSTOOD = gettext_lazy(
    "That message was not understood. Your work so far is safe. Reload the page and try again."
)
_TOO_LONG = gettext_lazy(
    "Your message is too long. Shorten it to {most} characters or less and send it again."
)
REFUSALS: dict[str, str | Promise] = {
    "not_json": _NOT_UNDERSTOOD,
    "unknown_type": _NOT_UNDERSTOOD,
    "malformed": gettext_lazy(
        "Something is missing from that message. Your work so far is safe. Reload the page and try again."
    ),
    "too_long": format_lazy(_TOO_LONG, most=f"{MAX_MESSAGE_CHARS:,}"),
    "empty": gettext_lazy("Your message is empty. Write something, then send it."),
    "foreign_origin": gettext_lazy("This page may not talk to this server. Open the study link again."),
    "no_session": gettext_lazy(
        "Your session is missing or has expired. Your work so far is safe: open the study link again and "
        "enter your resume code."
    ),
    "not_yours": gettext_lazy("This conversation belongs to someone else. Open your own study link again."),
    "unknown_dialogue": gettext_lazy("There is no such conversation. Open your study link again."),
    "too_fast": gettext_lazy(
        "Too many messages in a short time. Your work so far is safe. Wait a little, then reload the page."
    ),
    "too_many_tabs": gettext_lazy(
        "This conversation is open in too many tabs. Your work so far is safe. Close some, then reload the "
        "page."
    ),
    "place_gone": gettext_lazy(
        "While this page was idle, other people took the last places with this chatbot. You had not sent "
        "anything, so no work of yours is lost. Open the study link again: there may be another place."
    ),
    "paused": gettext_lazy(
        "The study is paused, so nothing can be sent right now. Your work is safe: continue when "
        "the study resumes."
    ),
    "ended": gettext_lazy("This conversation has ended. Everything is saved."),
    "not_your_turn": gettext_lazy(
        "The chatbot has not answered yet. Wait for its reply, then send your message."
    ),
    "label_first": gettext_lazy(
        "Please answer the question under the last reply first. Your message was not sent."
    ),
    "partner_is_there": gettext_lazy("Your partner is still there. Give them a little more time."),
    "not_waiting": gettext_lazy(
        "You are not waiting for anybody here. Reload the page to see where to continue."
    ),
    "other_tab": gettext_lazy("You are now waiting in another tab or window. Close this one."),
    "partner_finished": gettext_lazy(
        "Your partner has finished. Please answer what is left, then finish too."
    ),
    "turn_limit": gettext_lazy("This conversation has reached its last turn. You can finish it now."),
    "key_reused": gettext_lazy(
        "That message was already sent with different words. Reload the page to see what was saved."
    ),
    "unknown_turn": gettext_lazy(
        "There is no such reply in this conversation. Your work so far is safe. Reload the page."
    ),
    "not_to_label": gettext_lazy("That turn is not yours to judge."),
    "unanswered": gettext_lazy(
        "Some replies are not labelled yet. Please answer the questions under them first."
    ),
    "rate_first": gettext_lazy(
        "Please answer the questions about the whole conversation first, then finish."
    ),
    "no_such_ask": gettext_lazy(
        "That question does not belong to this conversation. Your work so far is safe. Reload the page."
    ),
    "too_early": gettext_lazy(
        "The conversation is not long enough yet. Please continue for a few more turns."
    ),
    "reply_due": gettext_lazy(
        "The chatbot still has to answer. Wait for its reply, or try again if it failed."
    ),
    "other_reply": gettext_lazy(
        "Another reply to this message is chosen now, in another tab. Read it, then answer."
    ),
    "may_not_choose": gettext_lazy(
        "You have judged this reply or written on, so it stays. Your work so far is safe."
    ),
    "no_more_replies": gettext_lazy("There are no more replies to this message. Choose one of them."),
    "no_other_reply": gettext_lazy(
        "The chatbot could not give another reply. The one before stays, and this does not affect your pay."
    ),
    "may_not_give_up": gettext_lazy("Please let the chatbot try again first."),
}


class RefusedError(Exception):
    """A frame that is refused.

    Attributes:
        reason: a key of `REFUSALS`, or of another table with its own sentence.
        say: a sentence for the worker, in the active language.
    """

    def __init__(self, reason: str, say: str | Promise = "") -> None:
        self.reason = reason
        self.say = str(say or REFUSALS[reason])
        super().__init__(f"{reason}: {self.say}")


def too_long(limit: int) -> RefusedError:
    """Create the refusal of a message of more than `limit` characters."""
    return RefusedError("too_long", format_lazy(_TOO_LONG, most=f"{limit:,}"))


Frame = dict[str, Any]
Tell = Callable[[Frame], Awaitable[None]]


class TellAll(Protocol):
    """Sends frames in this order."""

    async def __call__(self, *frames: Frame) -> None: ...


# Each character of a message takes up to twelve in JSON; the other fields are short.
MAX_FRAME = 12 * MAX_MESSAGE_CHARS + 12_000

_encode_anything = json.JSONEncoder(separators=(",", ":")).encode


def as_json(value: Any) -> str:
    """Encode a value as JSON with orjson, ten times as fast as the standard library."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # a lone surrogate, a number beyond 64 bits, a named tuple
        return _encode_anything(value)


def parse_frame(text: str | None, types: Collection[str]) -> Frame:
    """Parse a frame: a JSON object of a known type.

    Raises:
        RefusedError: not_json, too_long or unknown_type.
    """
    if text is None:
        raise RefusedError("not_json")
    if len(text) > MAX_FRAME:
        raise RefusedError("too_long")
    try:
        frame = json.loads(text)
    except (ValueError, RecursionError):  # no JSON, or a number of thousands of digits
        raise RefusedError("not_json") from None
    if not isinstance(frame, dict):
        raise RefusedError("not_json")
    if not isinstance(frame.get("type"), str) or frame["type"] not in types:
        raise RefusedError("unknown_type")
    return frame


def field(frame: Frame, name: str, kind: type) -> Any:
    """Return a field of the expected kind. A boolean does not count as a number.

    Raises:
        RefusedError: malformed.
    """
    value = frame.get(name)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise RefusedError("malformed")
    return value


def uuid_field(frame: Frame, name: str) -> UUID:
    try:
        return UUID(field(frame, name, str))
    except ValueError:
        raise RefusedError("malformed") from None


Result = TypeVar("Result")


class FrameStream(Generic[Result]):
    """Frames of a piece of work, in the order in which it sends them.

    Args:
        work: called with a function that sends a frame; returns the result.
    """

    def __init__(self, work: Callable[[Tell], Coroutine[Any, Any, Result]]) -> None:
        self._work = work
        self._task: asyncio.Task[Result] | None = None

    async def frames(self) -> AsyncIterator[Frame]:
        """Begin the work and yield its frames until it is done. A reader that leaves early cancels it."""
        sent: asyncio.Queue[Frame | None] = asyncio.Queue()
        self._task = task = asyncio.create_task(self._work(sent.put))
        task.add_done_callback(lambda _: sent.put_nowait(None))
        try:
            while (frame := await sent.get()) is not None:
                yield frame
        finally:
            task.cancel()

    def result(self) -> Result:
        """Return what the work returned, or raise its error; call it after the last frame."""
        assert self._task is not None
        return self._task.result()
