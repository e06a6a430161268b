"""Base class of the worker sockets: authentication, rate limits, frame dispatch and time limits."""

import math
import time
from collections import Counter
from collections.abc import Awaitable, Callable
from contextlib import suppress
from functools import partial
from typing import Any, ClassVar
from urllib.parse import parse_qs
from uuid import UUID

from channels.consumer import get_handler_name
from channels.exceptions import StopConsumer
from channels.generic.websocket import AsyncWebsocketConsumer
from django.http.cookie import parse_cookie
from django.utils import timezone, translation
from typing_extensions import override

from turnwise.crowd.entry.sessions import Session, session_of
from turnwise.crowd.languages import socket_language
from turnwise.crowd.places.reservation import SECONDS_BETWEEN_SIGNS_OF_A_PAGE
from turnwise.crowd.running import limits
from turnwise.crowd.running.worker_status import NO_STATUS, WorkerStatus, watch, worker_statuses
from turnwise.live.database import in_database
from turnwise.live.frames import Frame, RateLimit, RefusedError, as_json, field, parse_frame
from turnwise.live.sockets.layer import process_layer
from turnwise.live.sockets.message_loop import FOLLOWED, dispatch_messages

# Faster than any person types or labels. Frames above this rate end the connection.
BURST = 40
FRAMES_PER_SECOND = 5.0
SECONDS_BETWEEN_SIGNS_OF_LIFE = 60.0

# Open sockets in this process. A person has two or three; a class behind one router has a few hundred.
MOST_OF_A_WORKER = 20
MOST_OF_AN_ADDRESS = 1000
# Each connection reads all work of the assignment. Pages reconnect after seconds; people reload by hand.
OPENINGS_AT_ONCE = 20
OPENINGS_PER_SECOND = 1.0
MOST_REMEMBERED = 10_000

# Frames that the page sends automatically: they do not show that the worker is active.
OF_THE_PAGE = frozenset({"ping", "here"})
# Frames that are not a step of the work.
NO_STEP = OF_THE_PAGE | {"typing", "more_time"}

CLOSE_CODES = {
    "no_session": 4401,
    "not_yours": 4403,
    "unknown_dialogue": 4404,
    "not_waiting": 4405,
    "place_gone": 4406,
    "too_many_tabs": 4409,
    "other_tab": 4410,
    "too_fast": 4429,
}

_open: Counter[str] = Counter()
_openings: dict[int, RateLimit] = {}

Handler = Callable[[Frame], Awaitable[None]]


class WorkerSocket(AsyncWebsocketConsumer):
    """Socket of one browser tab of a worker. Subclasses define the frames it accepts and sends."""

    assignment_id: int | None = None
    """Assignment that the tab shows; None before authentication and after a refusal."""

    echoed_fields: tuple[str, ...] = ()
    """Fields of a refused frame that are sent back, so that the page can identify the frame."""

    counted_for: tuple[str, ...] = ()
    """Keys (worker and address) under which this open socket is counted."""

    has_clock: ClassVar[bool] = True
    """True if the study's time limits apply to this socket."""
    waits = True
    """True if it is this worker's turn."""
    status = NO_STATUS

    has_begun = False
    """True once the worker has sent any work; until then the open page holds the place."""

    @override
    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Process the messages of this socket until it is closed, as Channels' consumers do."""
        self.scope, self.base_send = scope, send
        self.channel_layer = process_layer()  # type: ignore[assignment]  # Channels' stubs name its base class
        self.channel_name = await self.channel_layer.new_channel()
        from_other_processes = partial(self.channel_layer.receive, self.channel_name)
        try:
            with suppress(StopConsumer):
                await dispatch_messages([receive, from_other_processes], self.dispatch)
        finally:  # disconnect is not called after an error
            vars(self).pop("handlers", None)  # they refer to this socket
            watch().remove(self)
            for holder in self.counted_for:
                _open[holder] -= 1
                if not _open[holder]:
                    del _open[holder]

    async def connect(self) -> None:
        await self.accept()
        self.is_open = True
        self.allowance = RateLimit(BURST, FRAMES_PER_SECOND)
        self.is_at_work, self.last_sign_of_life = False, -math.inf
        self.last_sign_of_page = time.monotonic()
        self.handlers: dict[str, Handler] = self.frame_handlers()
        translation.activate(await self._language())
        try:
            session = self._session()
            self._count(session.worker_id)
            await self.enter(session)
            await self._be_watched()
        except RefusedError as refusal:
            await self.refuse(refusal, {})

    async def _be_watched(self) -> None:
        if self.assignment_id is None:
            return
        await self._check_status()
        watch().add(self)
        await self.update_clock(waits=self.waits, anew=False)

    async def enter(self, session: Session) -> None:
        """Find the work named in the socket's URL, set `assignment_id`, and send its state.

        Raises:
            RefusedError: the work does not exist, or belongs to another worker.
        """
        raise NotImplementedError

    def frame_handlers(self) -> dict[str, Handler]:
        return {"ping": self.ping, "more_time": self.more_time}

    async def _language(self) -> str:
        """Language of the page that opened the socket (static/js/kit/connection.js)."""
        named = parse_qs(self.scope.get("query_string", b"").decode("latin-1")).get("language", [""])
        return await socket_language(named[0])

    def public_id(self) -> UUID:
        return UUID(str(self.scope["url_route"]["kwargs"]["public_id"]))

    def _session(self) -> Session:
        # Django's parser, as for the pages: Python's drops all cookies if one is malformed.
        headers = [value.decode("latin-1") for name, value in self.scope["headers"] if name == b"cookie"]
        session = session_of(parse_cookie("; ".join(headers)))
        if session is None:
            raise RefusedError("no_session")
        return session

    def _count(self, worker_id: int) -> None:
        address = (self.scope.get("client") or ("",))[0]
        bounds = {f"worker {worker_id}": MOST_OF_A_WORKER, f"address {address}": MOST_OF_AN_ADDRESS}
        if any(_open[holder] >= most for holder, most in bounds.items()):
            raise RefusedError("too_many_tabs")
        if len(_openings) >= MOST_REMEMBERED:
            _openings.clear()
        if not _openings.setdefault(worker_id, RateLimit(OPENINGS_AT_ONCE, OPENINGS_PER_SECOND)).spend():
            raise RefusedError("too_fast")
        self.counted_for = tuple(bounds)
        _open.update(self.counted_for)

    @override
    async def dispatch(self, message: Frame) -> None:
        """Channels' dispatch without closing old database connections in a thread: none are opened there."""
        await getattr(self, get_handler_name(message))(message)

    async def disconnect(self, code: int) -> None:
        self.is_open = False

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self.assignment_id is None or not self.is_open:
            return  # refused; the socket is being closed
        frame: Frame = {}
        try:
            if not self.allowance.spend():
                raise RefusedError("too_fast")
            frame = parse_frame(text_data, self.handlers)
            is_step = frame["type"] not in NO_STEP
            if is_step and (self.status.ended or self.status.is_held):
                raise RefusedError("ended" if self.status.ended else "paused")
            if not self.has_begun and frame["type"] not in OF_THE_PAGE:
                await self.begin()
            await self.handlers[frame["type"]](frame)
            if frame["type"] not in OF_THE_PAGE:
                self.is_at_work = True
            if is_step:
                await self.on_step()
        except RefusedError as refusal:
            await self.refuse(refusal, frame)

    async def begin(self) -> None:
        """Handle the start of the work, before its first frame is processed.

        Raises:
            RefusedError: other workers have taken the place.
        """
        self.has_begun = True

    async def ping(self, frame: Frame) -> None:
        """Answer the page, which detects a dead connection by it: browsers hide protocol-level pings."""
        await self.say({"type": "pong"})

    # --- pauses, messages of the team, time limits -----------------------------------------------

    async def _check_status(self) -> None:
        assert self.assignment_id is not None
        statuses = await in_database(worker_statuses, [self.assignment_id])
        await self.update_status(statuses.get(self.assignment_id, NO_STATUS))

    async def update_status(self, status: WorkerStatus) -> None:
        """Send the page changes of pause, message and time limits."""
        before, self.status = self.status, status
        if status == before:
            return
        if status.ended:
            if not before.ended:
                await self.show_progress()
            return
        if status.page_state != before.page_state:
            await self.say(status.frame(timezone.now()))
        if before.is_held and not status.is_held:
            await self.show_progress()

    async def show_progress(self) -> None:
        """Send the state of the work; the page then sends unsaved steps, or leads to the next page."""

    async def on_step(self) -> None:
        """Handle a completed step after which it is still the worker's turn."""
        await self.update_clock(waits=True)

    async def update_clock(self, *, waits: bool, anew: bool = True) -> None:
        """Start or stop the time limit's clock, if the study has one."""
        self.waits = waits
        if self.assignment_id is not None and self.has_clock and self.status.is_limited:
            await in_database(limits.update_clocks, self.assignment_id, waits=waits, anew=anew)
            await self._check_status()

    async def more_time(self, frame: Frame) -> None:
        assert self.assignment_id is not None
        of = field(frame, "of", str)
        if of not in ("message", "session"):
            raise RefusedError("malformed")
        await in_database(limits.extend, self.assignment_id, of)
        await self._check_status()

    async def say(self, *frames: Frame) -> None:
        """Send frames to this tab, in one write, if it is still open."""
        if not self.is_open:
            return
        for number, frame in enumerate(frames, start=1):
            message: Any = {"type": "websocket.send", "text": as_json(frame)}
            if number < len(frames):
                message[FOLLOWED] = True
            await self.base_send(message)

    async def refuse(self, refusal: RefusedError, frame: Frame) -> None:
        echoed = {name: frame[name] for name in self.echoed_fields if isinstance(frame.get(name), str | int)}
        reason = {"reason": refusal.reason, "say": refusal.say, **self.redirect_for(refusal.reason)}
        await self.say({"type": "refused", **reason, **echoed})
        if refusal.reason in CLOSE_CODES:
            self.is_open = False
            await self.close(code=CLOSE_CODES[refusal.reason])

    def redirect_for(self, reason: str) -> Frame:
        """Address to which the page leads after this refusal, under the key `to`; empty to stay."""
        return {}

    def gives_sign_of_page(self) -> bool:
        """True if the place of an open page without work is to be extended now."""
        now = time.monotonic()
        if self.has_begun or now - self.last_sign_of_page <= SECONDS_BETWEEN_SIGNS_OF_A_PAGE:
            return False
        self.last_sign_of_page = now
        return True

    def gives_sign_of_life(self) -> bool:
        """True if the worker's activity is to be recorded now; `watch` asks every second."""
        now = time.monotonic()
        if not self.is_at_work or now - self.last_sign_of_life <= SECONDS_BETWEEN_SIGNS_OF_LIFE:
            return False
        self.noted_as_at_work()
        return True

    def noted_as_at_work(self) -> None:
        self.is_at_work, self.last_sign_of_life = False, time.monotonic()
