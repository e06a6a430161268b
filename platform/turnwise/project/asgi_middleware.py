"""ASGI middleware: limits on request bodies, origin check of WebSockets, and reused threads for pages."""

import asyncio
import math
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager, suppress
from urllib.parse import urlsplit

from asgiref.sync import ThreadSensitiveContext, sync_to_async
from asgiref.typing import (
    ASGI3Application,
    ASGIReceiveCallable,
    ASGIReceiveEvent,
    ASGISendCallable,
    HTTPScope,
    Scope,
    WebSocketScope,
)
from django.core.handlers.asgi import ASGIHandler
from django.db import connections
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from typing_extensions import override

from turnwise.live.metrics import recording
from turnwise.live.metrics.families import SOCKETS
from turnwise.live.sockets import draining

# As in deploy/nginx.conf.template; the largest upload that a page takes is 60 MB.
MOST_BYTES = 64 * 1024**2
# Of all requests that are being received: what has come of each, not what it announces and never sends. What
# people write is not counted, so no upload keeps it out.
MOST_BYTES_AT_ONCE = 8 * MOST_BYTES
SMALL_BYTES = 2**16
SECONDS = 120.0

TOO_LARGE = (413, "The request is larger than 64 MB. No changes were made. Split what you send.\n")
TOO_SLOW = (408, "The request did not come in time. No changes were made. Try again.\n")
TOO_MUCH = (503, "Too much is being uploaded at the moment. No changes were made. Try again in a minute.\n")

Refusal = tuple[int, str]


class RefusedBodyError(Exception):
    """The body is not received any further."""

    def __init__(self, refusal: Refusal) -> None:
        super().__init__(refusal[1])
        self.refusal = refusal


class BoundedBodies:
    """Middleware that refuses bodies that are too large, too slow, or too much with all others."""

    def __init__(self, inner: ASGI3Application) -> None:
        self._inner = inner
        self._at_once = 0

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        assert scope["type"] == "http"
        body = _Body(self, receive)
        try:
            body.refuse_if_too_large(_declared(scope))
            await self._inner(scope, body.receive, send)
        except RefusedBodyError as error:
            await _refuse(send, *error.refusal)
        finally:
            self._at_once -= body.held

    def hold(self, number: int) -> None:
        if self._at_once + number > MOST_BYTES_AT_ONCE:
            raise RefusedBodyError(TOO_MUCH)
        self._at_once += number


class _Body:
    """The body of one request while it is received."""

    def __init__(self, bounds: BoundedBodies, receive: ASGIReceiveCallable) -> None:
        self._bounds = bounds
        self._receive = receive
        self._received = 0
        self._is_whole = False
        self._until = asyncio.get_running_loop().time() + SECONDS
        self.held = 0

    def refuse_if_too_large(self, number: float) -> None:
        if number > MOST_BYTES:
            raise RefusedBodyError(TOO_LARGE)

    def _hold_what_came(self) -> None:
        self.refuse_if_too_large(self._received)
        more = self._received - SMALL_BYTES - self.held
        if more > 0:
            self._bounds.hold(more)
            self.held += more

    async def receive(self) -> ASGIReceiveEvent:
        if (
            self._is_whole
        ):  # what still comes is that the browser has gone, which may take as long as it likes
            return await self._receive()
        try:
            async with asyncio.timeout_at(self._until):
                event = await self._receive()
        except TimeoutError:
            raise RefusedBodyError(TOO_SLOW) from None
        if event["type"] == "http.request":
            self._received += len(event["body"])
            self._is_whole = not event["more_body"]
            self._hold_what_came()
        return event


def _declared(scope: HTTPScope) -> float:
    value = dict(scope["headers"]).get(b"content-length", b"0")
    return int(value) if value.isdigit() and len(value) < 19 else math.inf


async def _refuse(send: ASGISendCallable, status: int, say: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"connection", b"close")]
    await send({"type": "http.response.start", "status": status, "headers": headers, "trailers": False})
    await send({"type": "http.response.body", "body": say.encode(), "more_body": False})


REASON = (
    "This page may not open a conversation here: its address and the server's differ. "
    "Open the study link itself. Behind a proxy, let the proxy pass the Host header on unchanged.\n"
)


class SameOrigin:
    """Middleware that refuses WebSockets from pages of other sites; browsers send our cookies with them.

    A client that sends no Origin is no browser page, and carries only cookies that it was given.
    """

    def __init__(self, inner: ASGI3Application) -> None:
        self.inner = inner

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        assert scope["type"] == "websocket"
        headers = dict(scope["headers"])
        origin = headers.get(b"origin")
        if origin is None or _host_of(origin) == headers.get(b"host", b"").decode("latin-1").lower():
            await self.inner(scope, receive, send)
        else:
            await turn_away(scope, receive, send, status=403, reason="foreign origin", say=REASON)


def _host_of(origin: bytes) -> str:
    try:
        return urlsplit(origin.decode("latin-1")).netloc.lower()
    except ValueError:
        return ""


async def turn_away(
    scope: WebSocketScope,
    receive: ASGIReceiveCallable,
    send: ASGISendCallable,
    *,
    status: int,
    reason: str,
    say: str,
) -> None:
    """Refuse a WebSocket in words, or where the server has none for it with a code and the reason's name."""
    await receive()
    if "websocket.http.response" not in (scope.get("extensions") or {}):
        await send({"type": "websocket.close", "code": 4000 + status, "reason": reason})
        return
    headers = [(b"content-type", b"text/plain; charset=utf-8")]
    await send({"type": "websocket.http.response.start", "status": status, "headers": headers})
    await send({"type": "websocket.http.response.body", "body": say.encode(), "more_body": False})


class CountedSockets:
    """Middleware that counts the open WebSockets for the metrics."""

    def __init__(self, inner: ASGI3Application) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        assert scope["type"] == "websocket"
        first = scope["path"].removeprefix("/ws/").partition("/")[0]
        kind = first if first in SOCKETS else "other"
        recording.count_socket(kind, 1)
        try:
            await self._inner(scope, receive, send)
        finally:
            recording.count_socket(kind, -1)


class Moving:
    """Middleware by which a server that is replaced sends its sockets to the next one."""

    def __init__(self, inner: ASGI3Application) -> None:
        self._inner = inner

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        if scope["type"] == "http":
            with draining.open_request():
                await self._inner(scope, receive, send)
            return

        async def close() -> None:
            with suppress(OSError, RuntimeError):  # the browser has gone meanwhile
                await send({"type": "websocket.close", "code": draining.MOVED, "reason": "moved"})

        with draining.open_socket() as socket:
            socket.close = close
            try:
                await self._inner(scope, receive, send)
            finally:
                socket.close = None
        if socket.has_moved:
            await close()


class PagesInOneThread(ASGIHandler):
    """Django's pages under ASGI; a request keeps its thread from the first middleware to the last.

    Django's own handler changes threads for each middleware and each of its hooks, 26 times for the shortest
    page, which took two thirds of its time.
    """

    @override
    def load_middleware(self, is_async: bool = False) -> None:
        super().load_middleware(is_async=False)

    @override
    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        """Answer on the thread of this request (`ReusedThreads`)."""
        return await sync_to_async(self.get_response)(request)


# Idle threads that are kept; further ones end with their page.
MOST_IDLE = 8


class ReusedThreads:
    """Middleware that runs each request on its own thread, reusing the one that became free last.

    Django begins a thread and a connection for each request; a session of PostgreSQL that knows no table
    yet takes longer than all the queries of most pages.
    """

    def __init__(self, inner: ASGI3Application) -> None:
        self._inner = inner
        self._idle: list[ThreadPoolExecutor] = []

    async def __call__(self, scope: Scope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
        async with self._thread() as thread, ThreadSensitiveContext(executor=thread):
            await self._inner(scope, receive, send)

    @asynccontextmanager
    async def _thread(self) -> AsyncIterator[ThreadPoolExecutor]:
        thread = self._idle.pop() if self._idle else ThreadPoolExecutor(1, thread_name_prefix="page")
        try:
            yield thread
        finally:
            if len(self._idle) < MOST_IDLE:
                self._idle.append(thread)
            else:
                thread.submit(connections.close_all)
                thread.shutdown(wait=False)
