"""The socket of a worker who judges. Translates frames to calls of `judging` and back; decides nothing."""

import json
import time
from typing import Any
from uuid import UUID

from channels.consumer import get_handler_name
from channels.generic.websocket import AsyncWebsocketConsumer
from django.http.cookie import parse_cookie
from django.urls import reverse
from typing_extensions import override

from crowd.services import keep_place
from crowd.sessions import Session, session_of
from dialogues.consumers import (
    BURST,
    CLOSE_CODES,
    FRAMES_PER_SECOND,
    SECONDS_BETWEEN_SIGNS_OF_LIFE,
    Handler,
    field,
    parse_frame,
    uuid_field,
)
from dialogues.database import in_database
from dialogues.refusals import RefusedError
from dialogues.turn_taking import Frame
from labels import judging
from labels.judging import Desk

_as_json = json.JSONEncoder(separators=(",", ":")).encode


class JudgingConsumer(AsyncWebsocketConsumer):
    """One browser tab of a worker who judges items one after the other."""

    desk: Desk | None = None

    async def connect(self) -> None:
        await self.accept()
        self.allowance = float(BURST)
        self.last_frame_at = self.last_sign_of_life = time.monotonic()
        self.handlers: dict[str, Handler] = {"judge": self.judge, "finish": self.finish, "ping": self.ping}
        try:
            self.desk = await self._find_desk(self._session())
            await self._show_state()
        except RefusedError as refusal:
            await self._refuse(refusal, {})

    def _session(self) -> Session:
        headers = [value.decode("latin-1") for name, value in self.scope["headers"] if name == b"cookie"]
        session = session_of(parse_cookie("; ".join(headers)))
        if session is None:
            raise RefusedError("no_session")
        return session

    async def _find_desk(self, session: Session) -> Desk:
        public_id = UUID(str(self.scope["url_route"]["kwargs"]["public_id"]))
        desk = await in_database(judging.desk_of, public_id, session.worker_id)
        if desk.participation_id not in session.participations:
            raise RefusedError("not_yours")
        return desk

    @override
    async def dispatch(self, message: Frame) -> None:
        """Channels' own, without its trip to a thread that closes old connections: none are opened there."""
        await getattr(self, get_handler_name(message))(message)

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        if self.desk is None:
            return  # turned away; the close is on its way
        frame: Frame = {}
        try:
            self._spend_allowance()
            frame = parse_frame(text_data, self.handlers)
            await self.handlers[frame["type"]](frame)
            if frame["type"] != "ping":
                await self._show_sign_of_life(self.desk)
        except RefusedError as refusal:
            await self._refuse(refusal, frame)

    # --- frames from the browser -----------------------------------------------------------------

    async def judge(self, frame: Frame) -> None:
        key = uuid_field(frame, "item")
        judged = await in_database(judging.judge, self._desk, key=key, answers=field(frame, "answers", dict))
        await self.say(
            {
                "type": "judged",
                "item": str(key),
                "answers": judged.answers,
                "leased": judged.leased,
                "progress": judged.progress,
            }
        )

    async def finish(self, frame: Frame) -> None:
        await in_database(judging.finish, self._desk)
        await self._show_state()

    async def ping(self, frame: Frame) -> None:
        await self.say({"type": "pong"})

    # --- frames to the browser -------------------------------------------------------------------

    async def say(self, frame: Frame) -> None:
        await self.send(text_data=_as_json(frame))

    async def _show_state(self) -> None:
        state: dict[str, Any] = await in_database(judging.state, self._desk)
        is_over = state.pop("is_over")
        finished = reverse("crowd:thanks", args=[self._desk.study_code]) if is_over else None
        await self.say({"type": "state", **state, "finished": finished})

    async def _refuse(self, refusal: RefusedError, frame: Frame) -> None:
        """Say why. After an item that is gone the page needs the items that are still its own."""
        item = {"item": frame["item"]} if isinstance(frame.get("item"), str) else {}
        await self.say({"type": "refused", "reason": refusal.reason, "say": refusal.say, **item})
        if refusal.reason in CLOSE_CODES:
            await self.close(code=CLOSE_CODES[refusal.reason])
        elif refusal.reason in judging.REFUSALS:
            await self._show_state()

    # --- bounds ----------------------------------------------------------------------------------

    @property
    def _desk(self) -> Desk:
        assert self.desk is not None
        return self.desk

    def _spend_allowance(self) -> None:
        now = time.monotonic()
        self.allowance = min(BURST, self.allowance + (now - self.last_frame_at) * FRAMES_PER_SECOND) - 1
        self.last_frame_at = now
        if self.allowance < 0:
            raise RefusedError("too_fast")

    async def _show_sign_of_life(self, desk: Desk) -> None:
        if self.last_frame_at - self.last_sign_of_life > SECONDS_BETWEEN_SIGNS_OF_LIFE:
            self.last_sign_of_life = self.last_frame_at
            await in_database(keep_place, desk.assignment_id)
