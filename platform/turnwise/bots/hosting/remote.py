"""Requests to bots in other processes, over the Channels layer.

    caller ── Courier.ask ──▶ Outbox ── one message with all that wait ──▶ channel of the host
       ◀── Courier, by number ── Outbox ── one message with all answers that wait ──┘  hosting.Hosting

Each side sends one message at a time to each channel; what comes meanwhile goes with the next. A busy caller
so pays the trip through Redis once for many requests, and a lone request never waits for company.
"""

import asyncio
import itertools
import logging
from collections.abc import Hashable
from dataclasses import astuple
from typing import Any
from weakref import WeakKeyDictionary

from channels.layers import get_channel_layer

from chatbots.base import Candidate, Context, Drawing, Passage, Response, Speaker, Turn
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
from turnwise.bots.hosting.presence import Copy

log = logging.getLogger(__name__)

Item = dict[str, Any]
# An answer that left the host in time may still be under way.
TRAVEL_SECONDS = 1.0
# Who waits learns so soon that the host was killed meanwhile.
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
    """Sends items to channels, in as few messages as it can."""

    def __init__(self, kind: str, **heading: Any) -> None:
        """Take the type of the messages, and what else each of them says."""
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
        except Exception:  # whoever waits hears of it at their deadline
            log.exception("Messages to %s were lost.", channel)
        finally:
            del self._waiting[channel]


class BotClient:
    """Asks bots in other processes for one event loop, and hands out their answers."""

    def __init__(self, channel: str) -> None:
        """Take answers on `channel`, a new one of the layer's."""
        self._channel = channel
        self._outbox = Outbox("bots.requests", reply_to=channel)
        self._numbers = itertools.count()
        self._requests: dict[int, tuple[str, asyncio.Future[Item]]] = {}
        self._pending: dict[str, int] = {}
        self._tasks = [asyncio.create_task(step) for step in (self._listen(), self._probe_hosts())]

    async def is_connected(self, patience: float) -> bool:
        """Whether others can be asked, if need be after so many seconds; what cannot be sent is dropped."""
        return bool(await get_channel_layer().is_connected(patience))  # type: ignore[union-attr]  # turnwise.live.layer's own

    def pending_requests(self, copy: Copy) -> int:
        """How many requests this process waits for there."""
        return self._pending.get(copy.channel, 0)

    async def ask(self, copy: Copy, context: Context, *, deadline: float, tenant: Hashable) -> Item:
        """The host's answer, as `decode_response` reads it.

        Raises:
            HostingError: as the bot's host said, or no answer came in time.
        """
        number = next(self._numbers)
        answer: asyncio.Future[Item] = asyncio.get_running_loop().create_future()
        self._requests[number] = copy.channel, answer
        self._pending[copy.channel] = self.pending_requests(copy) + 1
        request = {"number": number, "bot": copy.bot_id, "deadline": deadline, "tenant": tenant}
        self._outbox.post(copy.channel, request | encode_context(context))
        try:
            async with asyncio.timeout(deadline + TRAVEL_SECONDS):
                found: Item = await answer
        except TimeoutError:
            late = f"The host {copy.host} did not answer within {deadline:g}\u00a0s. Try again."
            raise BotLateError(late) from None
        except asyncio.CancelledError:
            self._outbox.post(copy.channel, {"number": number, "cancelled": True})
            raise
        finally:
            del self._requests[number]
            self._pending[copy.channel] -= 1
        if "error" in found:
            raise _ERRORS.get(found["error"], BotFailedError)(found["why"])
        return found

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
                _, answer = self._requests.get(item["number"], ("", None))
                if answer and not answer.done():  # else it came too late
                    answer.set_result(item)

    def _fail_pending_at(self, channel: str) -> None:
        """Tell all who wait for a process that it has gone."""
        gone = {
            "error": BotHostGoneError.__name__,
            "why": "The process that hosted the bot has ended. Try again.",
        }
        for requested_at, answer in list(self._requests.values()):
            if requested_at == channel and not answer.done():
                answer.set_result(gone)

    def _fail_all_pending(self) -> None:
        """Their answers may have been lost with the line."""
        lost = {"error": LineLostError.__name__, "why": "Redis broke while the bot was asked. Try again."}
        for _, answer in list(self._requests.values()):
            if not answer.done():
                answer.set_result(lost)

    async def _probe_hosts(self) -> None:
        """Knock at every host that owes an answer: what has been delivered to it may have died with it."""
        layer = get_channel_layer()
        assert layer is not None
        while True:
            await asyncio.sleep(LOOK_AFTER_SECONDS)
            for channel in {channel for channel, _ in self._requests.values()}:
                await layer.send(channel, {"type": "bots.requests", "reply_to": self._channel, "items": []})


_clients: "WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Future[BotClient]]" = WeakKeyDictionary()


async def bot_client() -> BotClient:
    """The courier of this event loop."""
    loop = asyncio.get_running_loop()
    coming = _clients.get(loop)
    if coming is None or (coming.done() and (coming.cancelled() or coming.exception())):
        coming = _clients[loop] = asyncio.ensure_future(_new_client())
    return await asyncio.shield(coming)


async def _new_client() -> BotClient:
    layer = get_channel_layer()
    assert layer is not None
    channel = await layer.new_channel()
    await layer.group_add(CLIENTS_GROUP, channel)  # which hears that the line is back
    return BotClient(channel)


# --- what travels ---


def encode_context(context: Context) -> Item:
    return {
        "turns": [[turn.speaker.value, turn.text] for turn in context.turns],
        "seed": context.seed,
        "dialogue": context.dialogue,
        "material": [[passage.text, passage.title] for passage in context.material],
        "drawing": astuple(context.drawing) if context.drawing else None,
    }


def decode_context(item: Item) -> Context:
    turns = tuple(Turn(Speaker(speaker), text) for speaker, text in item["turns"])
    material = tuple(Passage(text, title) for text, title in item["material"])
    drawing = Drawing(*item["drawing"]) if item["drawing"] else None
    return Context(turns, item["seed"], item["dialogue"], material, drawing)


def encode_response(response: Response) -> Item:
    return {
        "text": response.text,
        "candidates": [[candidate.text, candidate.score] for candidate in response.candidates],
        "tokens": response.tokens,
        "remarks": list(response.remarks),
        "fallback": response.fallback,
    }


def decode_response(item: Item) -> Response:
    candidates = tuple(Candidate(text, score) for text, score in item["candidates"])
    remarks = tuple(item["remarks"])
    return Response(item["text"], candidates, item["tokens"], remarks, fallback=item["fallback"])
