"""Host process of bots: loads them, announces them, and answers requests of other processes."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from types import TracebackType
from typing import Any, Self

from channels.layers import get_channel_layer
from django.db import connection

from chatbots.errors import (
    BotFailedError,
    BotLateError,
    BotNotHostedError,
    ChatbotError,
    HostingError,
    last_line,
)
from chatbots.hosting.health import DRIFT_CONTEXTS, State
from turnwise.bots.hosting import presence, resident_bots, spending
from turnwise.bots.hosting.growth import GrowthEncoder, Item, PartialReply
from turnwise.bots.hosting.presence import DIRECTORY
from turnwise.bots.hosting.remote import Outbox, decode_context, encode_response
from turnwise.bots.hosting.resident_bots import HostedBot
from turnwise.live.sockets.newest import NewestSender

log = logging.getLogger(__name__)
PAUSE_AFTER_ERROR_SECONDS = 1.0
GLANCE_SECONDS = 0.1
# More than a statement of PostgreSQL takes; a process that ends is killed after 20 seconds.
LAST_STEP_SECONDS = 10.0


class Hosting:
    """Hosts this process's bots from `async with` to its end."""

    def __init__(self) -> None:
        """Host nothing yet."""
        self._channel = ""
        self._is_withdrawn = False
        self._tasks: list[asyncio.Task[None]] = []
        self._under_way: set[asyncio.Task[None]] = set()
        self._in_threads: set[asyncio.Future[None]] = set()
        self._answering: dict[tuple[str, int], asyncio.Task[None]] = {}  # by the caller's channel and number
        self._outbox = Outbox("bots.answers")

    async def __aenter__(self) -> Self:
        """Start in the background, so that pages do not wait for models, Redis or PostgreSQL."""
        self._tasks = [
            asyncio.create_task(self._run_forever(step)) for step in (self._take_requests, self._tend_loop)
        ]
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Withdraw the announcement first, so that other processes ask another host."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        # A thread continues when its task is cancelled: it could announce these bots after `withdraw`.
        if self._in_threads:
            await asyncio.wait(self._in_threads, timeout=LAST_STEP_SECONDS)
        if self._channel:
            with suppress(Exception):
                await self._with_database(lambda: presence.withdraw(self._channel))
        await asyncio.to_thread(resident_bots.close)

    async def withdraw(self) -> None:
        """Announce these bots no longer; requests are still answered, as others may not know of it yet."""
        self._is_withdrawn = True
        await self._with_database(self._update)

    async def finish(self, seconds: float) -> None:
        """Wait until other processes ask elsewhere and their requests are answered; at most this long."""
        until = time.monotonic() + seconds
        await asyncio.sleep(presence.OLD_AFTER_SECONDS + presence.ANNOUNCED_EVERY_SECONDS)
        while self._answering and time.monotonic() < until:
            await asyncio.sleep(GLANCE_SECONDS)

    async def _run_forever(self, step: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Restart a loop whenever it fails, for example when Redis or PostgreSQL restarts."""
        while True:
            try:
                await step()
            except Exception:
                log.exception("Hosting of bots was interrupted")
                await asyncio.sleep(PAUSE_AFTER_ERROR_SECONDS)

    async def _tend_loop(self) -> None:
        """Keep the hosted bots and their announcement up to date."""
        while True:
            await self._with_database(self._update)
            for hosted in resident_bots.hosted_bots():
                if hosted.resident.is_half_open:
                    self._begin(self._probe(hosted))
            await self._wait_for_change()

    async def _wait_for_change(self) -> None:
        """Wait until a bot is loaded or fails, or until the next announcement is due."""
        announced, until = _states(), time.monotonic() + presence.ANNOUNCED_EVERY_SECONDS
        while _states() == announced and time.monotonic() < until:
            await asyncio.sleep(GLANCE_SECONDS)

    async def _with_database(self, step: Callable[[], None]) -> None:
        """Run a step on a thread that closes its database connection at the end."""
        in_thread = asyncio.ensure_future(asyncio.to_thread(_with_connection, step))
        self._in_threads.add(in_thread)
        in_thread.add_done_callback(self._in_threads.discard)
        await asyncio.shield(in_thread)

    def _update(self) -> None:
        resident_bots.update_hosted_bots()
        if self._channel and self._is_withdrawn:
            presence.withdraw(self._channel)
        elif self._channel:
            presence.announce(self._channel)
        DIRECTORY.read()

    async def _take_requests(self) -> None:
        layer = get_channel_layer()
        assert layer is not None
        self._channel = DIRECTORY.own_channel = await layer.new_channel()
        await self._with_database(self._update)
        while True:
            message = await layer.receive(self._channel)
            for request in message["items"]:
                self._take(message["reply_to"], request)

    def _take(self, reply_to: str, request: Item) -> None:
        """Start a request, or cancel one whose caller has left."""
        key = reply_to, request["number"]
        if "cancelled" in request:
            if task := self._answering.get(key):
                task.cancel()
            return
        self._answering[key] = task = self._begin(self._answer(reply_to, request))
        task.add_done_callback(lambda _: self._answering.pop(key, None))

    def _begin(self, step: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(step)
        self._under_way.add(task)
        task.add_done_callback(self._under_way.discard)
        return task

    async def _probe(self, hosted: HostedBot) -> None:
        """Let one probe request through to a bot whose circuit breaker is half open; it counts as others."""
        with suppress(ChatbotError):
            await spending.refuse_over_budget(hosted.row.pk)
            try:
                response = await hosted.resident.respond(DRIFT_CONTEXTS[0])
            except BotLateError:
                await spending.count(hosted.row.pk, None)
                raise
            await spending.count(hosted.row.pk, response)

    async def _answer(self, reply_to: str, request: Item) -> None:
        """Ask the bot and send its answer or the error to the caller."""
        growth = self._growth_sender(reply_to, request["number"]) if request.get("grows") else None
        try:
            answer = await self._answered(request, growth)
        except HostingError as error:
            answer = {"error": type(error).__name__, "why": str(error)}
        except Exception as error:
            log.exception("A request for bot %s failed.", request.get("bot"))
            answer = {"error": BotFailedError.__name__, "why": last_line(error)}
        finally:
            if growth:
                await growth.close()
        self._outbox.post(reply_to, {"number": request["number"], **answer})

    def _growth_sender(self, reply_to: str, number: int) -> NewestSender[PartialReply]:
        """Sender of the new parts of a reply that grows."""
        encoder = GrowthEncoder()

        async def send(partial: PartialReply) -> None:
            self._outbox.post(reply_to, {"number": number, **encoder.encode(partial)})

        return NewestSender(send)

    async def _answered(self, request: Item, growth: NewestSender[PartialReply] | None) -> Item:
        hosted = resident_bots.hosted_here(request["bot"])
        if hosted is None:
            raise BotNotHostedError(f"Bot {request['bot']} is not hosted there any more. Try again.")
        started = time.monotonic()
        response = await hosted.resident.respond(
            decode_context(request),
            deadline=request["deadline"],
            tenant=request["tenant"],
            on_text=hosted.on_text(growth.put) if growth else None,
        )
        milliseconds = round((time.monotonic() - started) * 1000)
        return encode_response(response) | {"version": hosted.version_id, "latency_ms": milliseconds}


def _states() -> list[tuple[int, State]]:
    return [(hosted.row.pk, hosted.resident.state) for hosted in resident_bots.hosted_bots()]


def _with_connection(step: Callable[[], None]) -> None:
    try:
        step()
    finally:
        connection.close()
