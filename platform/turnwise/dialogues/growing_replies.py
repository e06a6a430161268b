"""Replies that tabs show before they are complete: as the bot writes them, or at one pace for all bots.

    bot ── texts so far ──▶ GrowingReply ── bot_text frames ──▶ every open tab
                                 └── the reply, stored once it is complete or stopped

The text so far is in the memory of this process only. If the process dies, the bot is asked for the reply
once more, as for any other; a partial reply is never stored, unless the worker stops it. The tab that stops
it may be served by another process, so stops go to all processes over the channel layer.

A reply at a fixed pace may be stopped after the bot has given all of it. Its outcome is then *stopped*, as
the worker judges the part that was shown, and the outcome of the whole reply is stored beside it.
"""

import asyncio
import secrets
import time
from dataclasses import replace
from typing import Any

from channels.layers import BaseChannelLayer, get_channel_layer

from chatbots.base import Context
from chatbots.hosting.growth import cut_to, grown_from
from chatbots.hosting.response_checks import is_blank
from chatbots.replies import ReplyOutcome, Response
from turnwise.bots.hosting import client
from turnwise.bots.hosting.client import OnLoading, Reply
from turnwise.bots.hosting.growth import PartialReply
from turnwise.dialogues import pictures
from turnwise.dialogues.seat_context import SeatContext
from turnwise.live.database import in_database
from turnwise.live.frames import Frame, Tell
from turnwise.live.metrics.recording import record_first_text
from turnwise.live.sockets.newest import NewestSender
from turnwise.studies.models import ReplyDisplay

# Between two parts of a reply at a fixed pace.
PACED_EVERY_SECONDS = 0.05


class GrowingReply:
    """A reply that is shown while it grows.

    Args:
        seat: of the worker.
        position: of the reply.
        send: sends a frame to every tab of the seat.
    """

    def __init__(self, seat: SeatContext, position: int, send: Tell) -> None:
        self._seat, self._position, self._send = seat, position, send
        # Two processes may ask for the same reply. A tab follows one of them.
        self._stream = secrets.token_hex(4)
        self._shown = ""
        self._version_id = 0
        self._began = time.monotonic()
        self._first_seconds: float | None = None
        self._stopping = asyncio.Event()
        self._sender = NewestSender(self._show)

    async def reply(
        self,
        bot_id: int,
        context: Context,
        on_loading: OnLoading | None = None,
        *,
        tenant: str = "",
        deadline: float | None = None,
    ) -> Reply:
        """Ask the bot and show its reply; return the reply to store, complete or stopped.

        Args:
            bot_id: of a `turnwise.bots.models.Bot`.
            context: the conversation so far.
            on_loading: called once if the bot is still loading.
            tenant: as for `client.reply`; the study if empty.
            deadline: as for `client.reply`.

        Raises:
            chatbots.errors.ChatbotError: the bot is busy, late, failed or not hosted.
        """
        self._began = time.monotonic()
        is_paced = self._seat.reply_display == ReplyDisplay.FIXED_PACE
        listening = asyncio.ensure_future(self._receive_stops()) if self._seat.may_stop_replies else None
        asking = asyncio.ensure_future(
            client.reply(
                bot_id,
                context,
                tenant=tenant or self._seat.study_code,
                deadline=deadline,
                on_loading=on_loading,
                on_partial=None if is_paced else self._receive,
            )
        )
        try:
            if await self._is_stopped_before(asking):
                return self._stopped(context)
            return await self._paced(asking.result()) if is_paced else asking.result()
        finally:
            asking.cancel()
            if listening:
                listening.cancel()

    def stop(self) -> None:
        """End the reply after its visible text; no effect while it has none, or once it is complete."""
        if not is_blank(self._shown):
            self._stopping.set()

    async def _receive_stops(self) -> None:
        """Stop when a tab asks for it, in this process or in another one."""
        layer, group = _layer(), _stop_group(self._seat)
        channel = await layer.new_channel()
        await layer.group_add(group, channel)
        try:
            while True:
                event = await layer.receive(channel)
                if event["position"] == self._position:
                    self.stop()
        finally:
            await layer.group_discard(group, channel)

    async def close(self) -> None:
        """Show nothing more, so that the frame of the finished reply comes last."""
        await self._sender.close()

    @property
    def frame(self) -> Frame | None:
        """Frame for a tab that opens now; None while the reply has no visible text."""
        if not self._shown:
            return None
        return {"position": self._position, "stream": self._stream, "offset": 0, "text": self._shown}

    async def _is_stopped_before(self, asking: "asyncio.Future[Reply]") -> bool:
        """Wait for the bot or the worker; True if the worker stopped the reply before its end."""
        stopping = asyncio.ensure_future(self._stopping.wait())
        either: set[asyncio.Future[Any]] = {asking, stopping}
        try:
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stopping.cancel()
        return not asking.done()

    def _receive(self, partial: PartialReply) -> None:
        if self._first_seconds is None:
            self._first_seconds = time.monotonic() - self._began
            if self._seat.bot_id is not None:
                record_first_text(self._seat.bot_id, self._first_seconds)
        self._version_id = partial.version_id
        self._sender.put(cut_to(partial.text, self._seat.reply_limit))

    async def _show(self, text: str) -> None:
        if self._stopping.is_set():
            return
        offset, new = grown_from(self._shown, text)
        self._shown = text
        grown = {"position": self._position, "stream": self._stream, "offset": offset, "text": new}
        await self._send({"type": "bot_text", **grown})

    def _stopped(self, context: Context) -> Reply:
        response = Response(self._shown, outcome=ReplyOutcome.STOPPED, first_seconds=self._first_seconds)
        milliseconds = round((time.monotonic() - self._began) * 1000)
        return Reply(response, self._version_id, milliseconds, context.seed)

    async def _paced(self, reply: Reply) -> Reply:
        """Show a complete reply at the study's pace."""
        text, began = cut_to(reply.response.text, self._seat.reply_limit), time.monotonic()
        while (length := int((time.monotonic() - began) * self._seat.reply_pace)) < len(text):
            if part := cut_to(text, length).rstrip():
                self._sender.put(part)
            try:
                async with asyncio.timeout(PACED_EVERY_SECONDS):
                    await self._stopping.wait()
            except TimeoutError:
                continue
            whole = reply.response
            stopped = replace(
                whole,
                text=self._shown,
                outcome=ReplyOutcome.STOPPED,
                outcome_before_stop=whole.outcome,
            )
            return replace(reply, response=stopped)
        return reply


_growing: dict[tuple[int, int], GrowingReply] = {}


def begin(seat: SeatContext, position: int, send: Tell) -> GrowingReply | None:
    """Register the reply at this position as one that grows; None if the study shows whole replies."""
    if not seat.replies_grow:
        return None
    _growing[seat.dialogue_id, position] = growing = GrowingReply(seat, position, send)
    return growing


def end(seat: SeatContext, position: int) -> None:
    """Remove the reply at this position from the growing ones: it is stored, or it failed."""
    _growing.pop((seat.dialogue_id, position), None)


def frame_of(seat: SeatContext, position: int) -> Frame | None:
    """Text so far of the reply at this position, for a tab that opens; None if this process has none."""
    growing = _growing.get((seat.dialogue_id, position))
    return growing.frame if growing else None


async def stop(seat: SeatContext, position: int) -> None:
    """Stop the reply at this position in whichever process shows it, if it is not complete."""
    await _layer().group_send(_stop_group(seat), {"type": "reply.stopped", "position": position})


def _stop_group(seat: SeatContext) -> str:
    """Channel group of the replies of one conversation that can be stopped."""
    return f"dialogue.{seat.dialogue_id}.stop"


def _layer() -> BaseChannelLayer:
    layer = get_channel_layer()
    assert layer is not None
    return layer


async def ask_bot(
    seat: SeatContext, context: Context, on_loading: OnLoading | None, growing: GrowingReply | None
) -> Reply:
    """Ask the bot of a seat for its reply, and show it meanwhile if it grows.

    Raises:
        chatbots.errors.ChatbotError: the bot is busy, late, failed or not hosted.
    """
    assert seat.bot_id is not None
    if seat.takes_pictures:
        context = await in_database(pictures.context_with_pictures, seat.bot_id, seat.dialogue_id, context)
    if growing:
        return await growing.reply(seat.bot_id, context, on_loading)
    return await client.reply(seat.bot_id, context, tenant=seat.study_code, on_loading=on_loading)
