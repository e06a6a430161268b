"""uvicorn's protocols with bounds on what one connection may ask of the one process that serves all sockets.

Behind nginx these hold what nginx holds already; `manage.py serve` has nothing in front of it.
"""

import asyncio
from typing import Any

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.frames import Frame

from turnwise.live.allowance import Allowance

# Whose line and headers are not there after this never will be. Bodies have bounds of their own (bodies.py).
HEADER_SECONDS = 15.0

# Pings, pongs and parts of messages. A browser answers a ping every twenty seconds, and that is all.
FRAMES_AT_ONCE = 50
FRAMES_PER_SECOND = 5.0


class PatientHttp(HttpToolsProtocol):
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

    def _wait_for_headers(self) -> None:
        self._timer = self.loop.call_later(HEADER_SECONDS, self.transport.abort)

    def _stop_waiting(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class BoundedWebSocket(WebSocketsSansIOProtocol):
    """A WebSocket that ends when frames that carry no message come faster than any browser sends them.

    Frames with a message are the consumers' to bound: `turnwise.crowd.worker_socket`.
    """

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        self._allowance = Allowance(FRAMES_AT_ONCE, FRAMES_PER_SECOND)

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
