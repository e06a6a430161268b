"""Requests to bots in other processes, over the Channels layer.

    caller ── BotClient.ask ▶ Outbox ── one message with all that wait ──▶ channel of the host
       ◀── BotClient, by number ─ Outbox ── one message with all answers that wait ──┘  hosting.Hosting

Each side sends one message at a time to each channel; items that arrive meanwhile go with the next message.
So a busy caller pays the trip through Redis once for many requests, and a single request is sent immediately.
A caller that shows replies as they grow gets items with the new part of the text before the answer.
"""

import asyncio
import base64
import itertools
import logging
from collections.abc import Hashable, Sequence
from dataclasses import astuple
from typing import Any
from weakref import WeakKeyDictionary

from channels.layers import get_channel_layer

from chatbots.base import Context, Drawing, Passage, Setting, Speaker, Turn
from chatbots.errors import (
    BotBusyError,
    BotFailedError,
    BotHostGoneError,
    BotLateError,
    BotNotHostedError,
    BotSilentError,
    CircuitOpenError,
    HostingError,
    LineLostError,
)
from chatbots.pictures import Picture
from chatbots.replies import Candidate, ReplyOutcome, ReplyToken, Response, Usage
from turnwise.bots.hosting.growth import GrowthDecoder, Item, OnPartial, PartialReply
from turnwise.bots.hosting.presence import Copy

log = logging.getLogger(__name__)

# Extra time for an answer that left the host in time.
TRAVEL_SECONDS = 1.0
# Callers learn within this time that the host was killed.
LOOK_AFTER_SECONDS = 1.0
CLIENTS_GROUP = "bots.couriers"
_ERRORS: dict[str, type[HostingError]] = {
    error.__name__: error
    for error in (
        BotBusyError,
        CircuitOpenError,
        BotLateError,
        BotFailedError,
        BotSilentError,
        BotNotHostedError,
        BotHostGoneError,
        LineLostError,
    )
}


class Outbox:
    """Queue that sends items to channels in as few messages as possible."""

    def __init__(self, kind: str, **heading: str) -> None:
        """Set the type and further fields of all messages."""
        self._heading = {"type": kind, **heading}
        self._waiting: dict[str, list[Item]] = {}
        self._senders: set[asyncio.Task[None]] = set()

    def post(self, channel: str, item: Item) -> None:
        if channel in self._waiting:
            self._waiting[channel].append(item)
            return
        self._waiting[channel] = [item]
        sender = asyncio.create_task(self._send(channel))
        self._senders.add(sender)
        sender.add_done_callback(self._senders.discard)

    async def _send(self, channel: str) -> None:
        layer = get_channel_layer()
        assert layer is not None
        try:
            while items := self._waiting[channel]:
                self._waiting[channel] = []
                await layer.send(channel, {**self._heading, "items": items})
        except Exception:  # callers get a timeout at their deadline
            log.exception("Messages to %s were lost.", channel)
        finally:
            del self._waiting[channel]


class BotClient:
    """Client of one event loop for bots in other processes: sends requests and dispatches the answers."""

    def __init__(self, channel: str) -> None:
        """Receive answers on `channel`, a new channel of the layer."""
        self._channel = channel
        self._outbox = Outbox("bots.requests", reply_to=channel)
        self._numbers = itertools.count()
        self._requests: dict[int, tuple[str, asyncio.Future[Item]]] = {}
        self._growing: dict[int, GrowthDecoder] = {}
        self._pending: dict[str, int] = {}
        self._tasks = [asyncio.create_task(step) for step in (self._listen(), self._probe_hosts())]

    async def is_connected(self, patience: float) -> bool:
        """True if other processes can be reached, at the latest after `patience` seconds."""
        return bool(await get_channel_layer().is_connected(patience))  # type: ignore[union-attr]  # turnwise.live.sockets.layer's own

    def pending_requests(self, copy: Copy) -> int:
        """Number of unanswered requests to the copy's process."""
        return self._pending.get(copy.channel, 0)

    async def ask(
        self,
        copy: Copy,
        context: Context,
        *,
        deadline: float,
        tenant: Hashable,
        on_partial: OnPartial | None = None,
    ) -> Item:
        """Send a request to a copy and return the host's answer, for `decode_response`.

        Args:
            copy: the copy to ask.
            context: the dialogue so far.
            deadline: seconds to wait at most.
            tenant: on whose behalf the bot is asked.
            on_partial: called with the text so far whenever it has grown; None: only the answer is sent.

        Raises:
            HostingError: the host reported an error, or no answer came in time.
        """
        number = next(self._numbers)
        answer: asyncio.Future[Item] = asyncio.get_running_loop().create_future()
        self._requests[number] = copy.channel, answer
        self._pending[copy.channel] = self.pending_requests(copy) + 1
        request = {"number": number, "bot": copy.bot_id, "deadline": deadline, "tenant": tenant}
        limit = asyncio.timeout(deadline + TRAVEL_SECONDS)
        if on_partial:
            self._growing[number] = GrowthDecoder(_renewing(limit, deadline, on_partial))
            request["grows"] = True
        self._outbox.post(copy.channel, request | encode_context(context))
        try:
            async with limit:
                item: Item = await answer
        except TimeoutError:
            late = f"The host {copy.host} did not answer within {deadline:g}\u00a0s. Try again."
            raise BotLateError(late) from None
        except asyncio.CancelledError:
            self._outbox.post(copy.channel, {"number": number, "cancelled": True})
            raise
        finally:
            del self._requests[number]
            self._growing.pop(number, None)
            self._pending[copy.channel] -= 1
        if "error" in item:
            raise _ERRORS.get(item["error"], BotFailedError)(item["why"])
        return item

    async def _listen(self) -> None:
        layer = get_channel_layer()
        assert layer is not None
        while True:
            message = await layer.receive(self._channel)
            if message["type"] == "layer.nobody":
                self._fail_pending_at(message["channel"])
                continue
            if message["type"] == "layer.restored":
                self._fail_all_pending()
                continue
            for item in message["items"]:
                self._receive(item)

    def _receive(self, item: Item) -> None:
        """Hand an answer or a part of a reply to its caller, unless it comes too late."""
        _, answer = self._requests.get(item["number"], ("", None))
        if answer is None or answer.done():
            return
        if "offset" not in item:
            answer.set_result(item)
        elif growing := self._growing.get(item["number"]):
            growing.decode(item)

    def _fail_pending_at(self, channel: str) -> None:
        """Fail all requests to a process that has ended."""
        gone = {
            "error": BotHostGoneError.__name__,
            "why": "The process that hosted the bot has ended. Try again.",
        }
        for requested_at, answer in list(self._requests.values()):
            if requested_at == channel and not answer.done():
                answer.set_result(gone)

    def _fail_all_pending(self) -> None:
        """Fail all pending requests: their answers may have been lost while Redis was down."""
        lost = {"error": LineLostError.__name__, "why": "Redis broke while the bot was asked. Try again."}
        for _, answer in list(self._requests.values()):
            if not answer.done():
                answer.set_result(lost)

    async def _probe_hosts(self) -> None:
        """Probe every host with pending requests: they are lost if the host has died."""
        layer = get_channel_layer()
        assert layer is not None
        while True:
            await asyncio.sleep(LOOK_AFTER_SECONDS)
            for channel in {channel for channel, _ in self._requests.values()}:
                await layer.send(channel, {"type": "bots.requests", "reply_to": self._channel, "items": []})


def _renewing(limit: asyncio.Timeout, deadline: float, on_partial: OnPartial) -> OnPartial:
    """Receiver of texts so far that renews the time limit of its request; the host sets the longest time."""

    def receive(partial: PartialReply) -> None:
        limit.reschedule(asyncio.get_running_loop().time() + deadline + TRAVEL_SECONDS)
        on_partial(partial)

    return receive


_clients: "WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Future[BotClient]]" = WeakKeyDictionary()


async def bot_client() -> BotClient:
    """The `BotClient` of this event loop."""
    loop = asyncio.get_running_loop()
    coming = _clients.get(loop)
    if coming is None or (coming.done() and (coming.cancelled() or coming.exception())):
        coming = _clients[loop] = asyncio.ensure_future(_new_client())
    return await asyncio.shield(coming)


async def _new_client() -> BotClient:
    layer = get_channel_layer()
    assert layer is not None
    channel = await layer.new_channel()
    await layer.group_add(CLIENTS_GROUP, channel)  # to be told when the connection is back
    return BotClient(channel)


# --- encoding ---


def encode_context(context: Context) -> Item:
    return {
        "turns": [[turn.speaker.value, turn.text, *_encoded_picture(turn.picture)] for turn in context.turns],
        "seed": context.seed,
        "dialogue": context.dialogue,
        "material": [[passage.text, passage.title] for passage in context.material],
        "drawing": astuple(context.drawing) if context.drawing else None,
        "setting": astuple(context.setting),
    }


def decode_context(item: Item) -> Context:
    turns = tuple(
        Turn(Speaker(speaker), text, _decoded_picture(picture)) for speaker, text, *picture in item["turns"]
    )
    material = tuple(Passage(text, title) for text, title in item["material"])
    drawing = Drawing(*item["drawing"]) if item["drawing"] else None
    return Context(turns, item["seed"], item["dialogue"], material, drawing, _setting(item["setting"]))


def _setting(fields: Sequence[Any]) -> Setting:
    """Decode a setting; JSON has lists where it has tuples."""
    language, scenario, persona, columns = fields
    return Setting(language, scenario, persona, tuple((name, value) for name, value in columns))


def _encoded_picture(picture: Picture | None) -> list[str]:
    return [picture.media_type, picture.base64] if picture else []


def _decoded_picture(fields: list[str]) -> Picture | None:
    return Picture(fields[0], base64.b64decode(fields[1])) if fields else None


def encode_response(response: Response) -> Item:
    return {
        "text": response.text,
        "candidates": [[candidate.text, candidate.score] for candidate in response.candidates],
        "usage": astuple(response.usage) if response.usage else None,
        "remarks": list(response.remarks),
        "outcome": response.outcome.value,
        "reasoning": response.reasoning,
        "model": response.model,
        "first_seconds": response.first_seconds,
        "tokens": [[token.text, token.alternatives] for token in response.tokens],
    }


def decode_response(item: Item) -> Response:
    candidates = tuple(Candidate(text, score) for text, score in item["candidates"])
    return Response(
        item["text"],
        candidates,
        Usage(*item["usage"]) if item["usage"] else None,
        tuple(item["remarks"]),
        outcome=ReplyOutcome(item["outcome"]),
        reasoning=item["reasoning"],
        model=item["model"],
        first_seconds=item["first_seconds"],
        tokens=tuple(
            ReplyToken(text, tuple((other, value) for other, value in likely))
            for text, likely in item.get("tokens", ())  # hosts of an earlier version send none
        ),
    )
