"""What the sockets of workers have in common: whose they are, which frames they take, and how many."""

import json
import time
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from channels.consumer import get_handler_name
from channels.generic.websocket import AsyncWebsocketConsumer
from django.http.cookie import parse_cookie
from typing_extensions import override

from crowd.services import keep_place
from crowd.sessions import Session, session_of
from dialogues.database import in_database
from dialogues.refusals import RefusedError
from dialogues.turn_taking import Frame

# A frame is a message of at most 4,000 characters, each of which JSON may write as twelve, and little else.
MAX_FRAME = 60_000
# A person types and labels; a loop sends. Frames above this rate end the connection.
BURST = 40
FRAMES_PER_SECOND = 5.0
SECONDS_BETWEEN_SIGNS_OF_LIFE = 60.0

CLOSE_CODES = {
    "no_session": 4401,
    "not_yours": 4403,
    "unknown_dialogue": 4404,
    "too_many_tabs": 4409,
    "too_fast": 4429,
}

_as_json = json.JSONEncoder(separators=(",", ":")).encode

Handler = Callable[[Frame], Awaitable[None]]


class WorkerSocket(AsyncWebsocketConsumer):
    """One browser tab of a worker. Subclasses say what it may send and what it is shown."""

    assignment_id: int | None = None
    """Of the work that the tab may enter; None until that is known, and for one that is turned away."""

    given_back: tuple[str, ...] = ()
    """Fields of a refused frame by which the page knows which one it was."""

    async def connect(self) -> None:
        await self.accept()
        self.is_open = True
        self.allowance = float(BURST)
        self.last_frame_at = self.last_sign_of_life = time.monotonic()
        self.handlers: dict[str, Handler] = self.frame_handlers()
        try:
            await self.enter(self._session())
        except RefusedError as refusal:
            await self.refuse(refusal, {})

    async def enter(self, session: Session) -> None:
        """Find the work in the socket's address, set `assignment_id`, and show how far it is.

        Raises:
            RefusedError: there is none, or it is not this worker's.
        """
        raise NotImplementedError

    def frame_handlers(self) -> dict[str, Handler]:
        return {"ping": self.ping}

    def public_id(self) -> UUID:
        return UUID(str(self.scope["url_route"]["kwargs"]["public_id"]))

    def _session(self) -> Session:
        # Django's parser, as for the pages: Python's own drops every cookie beside an odd one.
        headers = [value.decode("latin-1") for name, value in self.scope["headers"] if name == b"cookie"]
        session = session_of(parse_cookie("; ".join(headers)))
        if session is None:
            raise RefusedError("no_session")
        return session

    @override
    async def dispatch(self, message: Frame) -> None:
        """Channels' own, without its trip to a thread that closes old connections: none are opened there."""
        await getattr(self, get_handler_name(message))(message)

    async def disconnect(self, code: int) -> None:
        self.is_open = False

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self.assignment_id is None or not self.is_open:
            return  # turned away; the close is on its way
        frame: Frame = {}
        try:
            self._spend_allowance()
            frame = parse_frame(text_data, self.handlers)
            await self.handlers[frame["type"]](frame)
            if frame["type"] != "ping":  # that is the page's, not the worker's
                await self._show_sign_of_life(self.assignment_id)
        except RefusedError as refusal:
            await self.refuse(refusal, frame)

    async def ping(self, frame: Frame) -> None:
        """So a page learns of a dead line while it only waits: it cannot see the pings of the protocol."""
        await self.say({"type": "pong"})

    async def say(self, frame: Frame) -> None:
        """Send a frame to this tab, if it is still there."""
        if self.is_open:
            await self.send(text_data=_as_json(frame))

    async def refuse(self, refusal: RefusedError, frame: Frame) -> None:
        given = {name: frame[name] for name in self.given_back if isinstance(frame.get(name), str | int)}
        await self.say({"type": "refused", "reason": refusal.reason, "say": refusal.say, **given})
        if refusal.reason in CLOSE_CODES:
            self.is_open = False
            await self.close(code=CLOSE_CODES[refusal.reason])

    def _spend_allowance(self) -> None:
        now = time.monotonic()
        self.allowance = min(BURST, self.allowance + (now - self.last_frame_at) * FRAMES_PER_SECOND) - 1
        self.last_frame_at = now
        if self.allowance < 0:
            raise RefusedError("too_fast")

    async def _show_sign_of_life(self, assignment_id: int) -> None:
        if self.last_frame_at - self.last_sign_of_life > SECONDS_BETWEEN_SIGNS_OF_LIFE:
            self.last_sign_of_life = self.last_frame_at
            await in_database(keep_place, assignment_id)


def parse_frame(text: str | None, handlers: dict[str, Handler]) -> Frame:
    """The frame, an object of a known type.

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
    if not isinstance(frame.get("type"), str) or frame["type"] not in handlers:
        raise RefusedError("unknown_type")
    return frame


def field(frame: Frame, name: str, kind: type) -> Any:
    """A field of the expected kind. A boolean is not a number here.

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
