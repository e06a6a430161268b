"""The worker's socket. Translates frames to calls and back; decides nothing."""

import asyncio
import json
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import UUID

from channels.consumer import get_handler_name
from channels.generic.websocket import AsyncWebsocketConsumer
from django.http.cookie import parse_cookie
from django.urls import reverse
from typing_extensions import override

from crowd.services import keep_place
from crowd.sessions import Session, session_of
from dialogues import queries, services, turn_taking
from dialogues.database import in_database
from dialogues.place import Place
from dialogues.refusals import RefusedError
from dialogues.turn_taking import Frame

log = logging.getLogger(__name__)

# A frame is a message of at most 4,000 characters, each of which JSON may write as twelve, and little else.
MAX_FRAME = 60_000
# A person types and labels; a loop sends. Frames above this rate end the connection.
BURST = 40
FRAMES_PER_SECOND = 5.0
SECONDS_BETWEEN_SIGNS_OF_LIFE = 60.0
# Each tab hears of all others, so their number is a bound on work as well. A person has two or three.
MAX_TABS = 20

CLOSE_CODES = {
    "no_session": 4401,
    "not_yours": 4403,
    "unknown_dialogue": 4404,
    "too_many_tabs": 4409,
    "too_fast": 4429,
}

_tabs: Counter[int] = Counter()  # open in this process, by dialogue

_as_json = json.JSONEncoder(separators=(",", ":")).encode

Handler = Callable[[Frame], Awaitable[None]]


class DialogueConsumer(AsyncWebsocketConsumer):
    """One browser tab in one dialogue.

    The Channels layer carries frames to the other tabs of the dialogue, in this process or another,
    but only once a tab has heard of another: most dialogues have one tab, which needs no detour.
    """

    place: Place
    is_counted = False

    @override
    async def __call__(self, *arguments: Any) -> None:
        try:
            await super().__call__(*arguments)
        finally:  # after an error nobody calls disconnect
            if self.is_counted:
                _tabs[self.place.dialogue_id] -= 1
                if not _tabs[self.place.dialogue_id]:
                    del _tabs[self.place.dialogue_id]

    async def connect(self) -> None:
        await self.accept()
        self.is_open = True
        self.alone = True
        # A reply told while the state is being read would be overwritten by that older state.
        self.in_order = asyncio.Lock()
        self.allowance = float(BURST)
        self.last_frame_at = self.last_sign_of_life = time.monotonic()
        self.handlers: dict[str, Handler] = self.frame_handlers()
        try:
            self.place = await self._find_place(self._session())
            self._count_tab()
        except RefusedError as refusal:
            await self._refuse(refusal, {})
            return
        self.group = f"dialogue.{self.place.dialogue_id}"
        await self.channel_layer.group_add(self.group, self.channel_name)
        await self.channel_layer.group_send(self.group, {"type": "tab.joined", "tab": self.channel_name})
        await self._show_state()

    def _public_id(self) -> UUID:
        return UUID(str(self.scope["url_route"]["kwargs"]["public_id"]))

    async def _find_place(self, session: Session) -> Place:
        place = await in_database(queries.place_of, self._public_id(), session.worker_id)
        if place.participation_id not in session.participations:
            raise RefusedError("not_yours")
        return place

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
        if hasattr(self, "group"):
            await self.channel_layer.group_discard(self.group, self.channel_name)

    # --- frames from the browser -----------------------------------------------------------------

    def frame_handlers(self) -> dict[str, Handler]:
        return {
            "turn": self.turn,
            "retry": self.retry,
            "finish": self.finish,
            "give_up": self.give_up,
            "ping": self.ping,
        }

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if not hasattr(self, "group"):
            return  # turned away; the close is on its way
        frame: Frame = {}
        try:
            self._spend_allowance()
            frame = parse_frame(text_data, self.handlers)
            await self.handlers[frame["type"]](frame)
            if frame["type"] != "ping":  # that is the page's, not the worker's
                await self._show_sign_of_life()
        except RefusedError as refusal:
            await self._refuse(refusal, frame)

    async def turn(self, frame: Frame) -> None:
        text = field(frame, "text", str)
        await turn_taking.take_turn(self.place, text=text, key=uuid_field(frame, "key"), tell=self.tell)

    async def retry(self, frame: Frame) -> None:
        await turn_taking.retry(self.place, tell=self.tell)
        await self._show_state_everywhere()

    async def finish(self, frame: Frame) -> None:
        await in_database(services.finish, self.place)
        await self._show_state_everywhere()

    async def give_up(self, frame: Frame) -> None:
        await in_database(services.give_up, self.place)
        await self._show_state_everywhere()

    async def ping(self, frame: Frame) -> None:
        """So a page learns of a dead line while it only waits: it cannot see the pings of the protocol."""
        await self.say({"type": "pong"})

    # --- frames to the browser -------------------------------------------------------------------

    async def tell(self, frame: Frame) -> None:
        """Send a frame to every tab of this dialogue."""
        async with self.in_order:
            await self.say(frame)
        if not self.alone or not self.is_open:
            event = {"type": "tab.frame", "frame": frame, "from": self.channel_name}
            await self.channel_layer.group_send(self.group, event)

    async def say(self, frame: Frame) -> None:
        """Send a frame to this tab, if it is still there."""
        if self.is_open:
            await self.send(text_data=_as_json(frame))

    async def state(self) -> Frame:
        """All that a tab shows. A reply that is due and not failed is asked for again here.

        So a dialogue goes on after a restart of the server without anybody doing anything.
        """
        turns, progress, faults = await in_database(queries.snapshot, self.place)
        is_answering = turn_taking.is_answering(self.place, progress.turns)
        if progress.reply_due and not faults and not is_answering:
            turn_taking.resume(self.place, turns, progress, tell=self.tell)
        has_failed = progress.reply_due and faults > 0 and not is_answering
        return {
            "type": "state",
            "turns": [turn._asdict() for turn in turns],
            "labels": {},
            "fault": turn_taking.fault_frame(faults) if has_failed else None,
            "progress": turn_taking.idle(progress) if has_failed else progress.as_frame(),
            "finished": reverse("crowd:thanks", args=[self.place.study_code]) if progress.ended else None,
        }

    async def _show_state(self) -> None:
        async with self.in_order:
            await self.say(await self.state())

    async def _show_state_everywhere(self) -> None:
        """Every tab reads for itself: a state read here could reach another tab after something newer."""
        await self._show_state()
        if not self.alone:
            await self.channel_layer.group_send(
                self.group, {"type": "tab.changed", "from": self.channel_name}
            )

    async def _refuse(self, refusal: RefusedError, frame: Frame) -> None:
        given = {name: frame[name] for name in ("key", "position") if isinstance(frame.get(name), str | int)}
        await self.say({"type": "refused", "reason": refusal.reason, "say": refusal.say, **given})
        if refusal.reason in CLOSE_CODES:
            await self.close(code=CLOSE_CODES[refusal.reason])

    # --- events of other tabs --------------------------------------------------------------------

    async def tab_joined(self, event: Frame) -> None:
        """Another tab opened: from now on it hears of everything that this one tells."""
        if event["tab"] != self.channel_name:
            self.alone = False
            await self.channel_layer.send(event["tab"], {"type": "tab.here"})

    async def tab_here(self, event: Frame) -> None:
        """This tab is not alone. What the other told before it knew of this one is read anew."""
        self.alone = False
        await self._show_state()

    async def tab_changed(self, event: Frame) -> None:
        if event["from"] != self.channel_name:
            await self._show_state()

    async def tab_frame(self, event: Frame) -> None:
        if event["from"] != self.channel_name:
            await self.say(event["frame"])

    # --- bounds ----------------------------------------------------------------------------------

    def _count_tab(self) -> None:
        if _tabs[self.place.dialogue_id] >= MAX_TABS:
            raise RefusedError("too_many_tabs")
        _tabs[self.place.dialogue_id] += 1
        self.is_counted = True

    def _spend_allowance(self) -> None:
        now = time.monotonic()
        self.allowance = min(BURST, self.allowance + (now - self.last_frame_at) * FRAMES_PER_SECOND) - 1
        self.last_frame_at = now
        if self.allowance < 0:
            raise RefusedError("too_fast")

    async def _show_sign_of_life(self) -> None:
        if self.last_frame_at - self.last_sign_of_life > SECONDS_BETWEEN_SIGNS_OF_LIFE:
            self.last_sign_of_life = self.last_frame_at
            await in_database(keep_place, self.place.assignment_id)


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
