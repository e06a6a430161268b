"""The web server for sockets and pages: uvicorn with limits per connection, which nginx would set otherwise.

python -m turnwise.project.supervision.keeper NAME turnwise.project.web_server [--fd N | --host H --port N] …
"""

import argparse
import asyncio
import importlib
import socket
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import uvicorn
from django.urls import reverse
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame
from websockets.protocol import State

from turnwise.live.frames import MAX_FRAME, RateLimit
from turnwise.live.sockets.message_loop import FOLLOWED
from turnwise.project.supervision.installation import listen

# Whose line and headers are not there after this never will be. Bodies have bounds of their own (bodies.py).
HEADER_SECONDS = 15.0

# Pings, pongs and parts of messages. A browser answers a ping every twenty seconds, and that is all.
FRAMES_AT_ONCE = 50
FRAMES_PER_SECOND = 5.0


class TimedHttp(HttpToolsProtocol):
    """HTTP whose headers must come in time."""

    _timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._wait_for_headers()

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._timer is None:  # a further request on the same connection
            self._wait_for_headers()

    def on_headers_complete(self) -> None:
        self._stop_waiting()
        super().on_headers_complete()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_waiting()
        super().connection_lost(exc)

    def handle_websocket_upgrade(self) -> None:
        super().handle_websocket_upgrade()
        self.parser = None  # type: ignore[assignment]  # it and this object refer to each other

    def _wait_for_headers(self) -> None:
        self._timer = self.loop.call_later(HEADER_SECONDS, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class BoundedWebSocket(WebSocketsSansIOProtocol):
    """A WebSocket that writes messages together, and ends when frames without a message come too fast.

    Frames with a message are the consumers' to bound: `turnwise.crowd.worker_socket`.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._allowance = RateLimit(FRAMES_AT_ONCE, FRAMES_PER_SECOND)

    async def send(self, message: Any) -> None:
        """Send a message; one that another follows at once is written together with that."""
        if FOLLOWED in message and self.writable.is_set() and self.conn.state is State.OPEN:
            self.conn.send_text(message["text"].encode())
        else:
            await super().send(message)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.conn.parser.close()  # it and the connection refer to each other

    def handle_ping(self) -> None:
        if self._may():
            super().handle_ping()

    def handle_pong(self, event: Frame) -> None:
        if self._may():
            super().handle_pong(event)

    def handle_cont(self, event: Frame) -> None:
        if self._may():
            super().handle_cont(event)

    def _may(self) -> bool:
        may = self._allowance.spend()
        if not may:
            self.transport.abort()
        return may


APPLICATION = "turnwise.project.asgi:application"
LARGEST_FRAME_BYTES = max(2**18, MAX_FRAME)
SECONDS_TO_END = 5


def load(arguments: Sequence[str]) -> Callable[[], Callable[[], int]]:
    """Import all that pages and sockets need."""
    options = _parsed(arguments)
    module, _, name = options.application.partition(":")
    application = getattr(importlib.import_module(module), name)
    if options.application == APPLICATION:
        reverse("crowd:thanks", args=["-"])  # all pages are imported, and found by name, before anybody asks
    config = uvicorn.Config(
        application,
        loop="uvloop",
        lifespan=options.lifespan,
        http=TimedHttp,
        ws=BoundedWebSocket,
        ws_max_size=LARGEST_FRAME_BYTES,
        ws_per_message_deflate=False,
        log_config=None,  # ours stands in the settings
        access_log=False,
        timeout_graceful_shutdown=SECONDS_TO_END,
        forwarded_allow_ips=options.forwarded_allow_ips,
    )
    config.load()
    config.get_loop_factory()
    return partial(_listening, options, config)


def _listening(options: argparse.Namespace, config: uvicorn.Config) -> Callable[[], int]:
    """Take the address: who comes between two copies waits."""
    listener = listen(options.host, options.port) if options.fd is None else socket.socket(fileno=options.fd)
    return partial(_serve, config, listener)


def _serve(config: uvicorn.Config, listener: socket.socket) -> int:
    server = uvicorn.Server(config)
    server.run(sockets=[listener])
    return 0 if server.started else 1


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="turnwise.project.web_server")
    parser.add_argument("--fd", type=int, help="number of a socket that listens already")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on")
    parser.add_argument("--port", type=int, default=8000, help="port to listen on")
    parser.add_argument("--forwarded-allow-ips", help="whose X-Forwarded-For is believed")
    parser.add_argument("--application", default=APPLICATION, help="another one, for measurements")
    parser.add_argument("--lifespan", default="on", choices=["on", "off"])
    return parser.parse_args(arguments)
