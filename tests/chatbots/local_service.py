"""A real HTTP server on this machine, whose answers, good or bad, a test decides."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qsl, urlsplit


@dataclass
class Received:
    """A request as it arrived."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    json: Any
    port: int = 0


@dataclass
class Sent:
    """An answer. `promised` is the length that is announced, `pause` is in seconds between single bytes.

    `parts` are sent as chunks; a number is a pause in seconds, an event is waited for. With `breaks`, the
    connection is closed before the last chunk is announced. With `drops`, it is closed without an answer.
    """

    content: Any = None
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    body: bytes | None = None
    promised: int | None = None
    pause: float = 0.0
    hangs: bool = False
    parts: Sequence[bytes | float | threading.Event] | None = None
    breaks: bool = False
    drops: bool = False

    @property
    def bytes(self) -> bytes:
        return json.dumps(self.content).encode() if self.body is None else self.body


class Server(ThreadingHTTPServer):
    """Takes many connections at once."""

    request_queue_size = 512
    daemon_threads = True


class LocalService:
    """Answers each request with `answer(received)`; remembers what it received."""

    def __init__(self, answer: Callable[[Received], Sent]) -> None:
        self.answer = answer
        self.received: list[Received] = []
        self.lost = 0
        """Streams whose reader closed the connection."""
        self.over = threading.Event()
        self.server = Server(("127.0.0.1", 0), self._handler())
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def _handler(service) -> type[BaseHTTPRequestHandler]:  # noqa: N805 - `self` is the handler below
        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                parts = urlsplit(self.path)
                body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
                query = dict(parse_qsl(parts.query, keep_blank_values=True))
                headers = {name.lower(): value for name, value in self.headers.items()}
                received = Received(
                    self.command,
                    parts.path,
                    query,
                    headers,
                    json.loads(body) if body else None,
                    self.client_address[1],
                )
                service.received.append(received)
                service._send(self, service.answer(received))

            do_GET = do_PATCH = do_POST  # noqa: N815 - the names that http.server looks for

            def log_message(self, *arguments: object) -> None: ...

        return Handler

    def _send(self, handler: BaseHTTPRequestHandler, sent: Sent) -> None:
        if sent.hangs:
            self.over.wait(60)
            handler.close_connection = True
            return
        if sent.drops:
            handler.close_connection = True
            return
        if sent.parts is not None:
            self._send_parts(handler, sent, sent.parts)
            return
        handler.send_response(sent.status)
        for name, value in sent.headers.items():
            handler.send_header(name, value)
        handler.send_header("Content-Length", str(sent.promised or len(sent.bytes)))
        handler.end_headers()
        try:
            if sent.pause:
                for byte in sent.bytes:
                    handler.wfile.write(bytes([byte]))
                    if self.over.wait(sent.pause):
                        return
            else:
                handler.wfile.write(sent.bytes)
        except OSError:
            pass
        handler.close_connection |= sent.promised is not None

    def _send_parts(
        self, handler: BaseHTTPRequestHandler, sent: Sent, parts: Sequence[bytes | float | threading.Event]
    ) -> None:
        handler.send_response(sent.status)
        for name, value in sent.headers.items():
            handler.send_header(name, value)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        try:
            for part in parts:
                if isinstance(part, bytes):
                    handler.wfile.write(b"%x\r\n%s\r\n" % (len(part), part))
                elif isinstance(part, threading.Event):
                    part.wait(60)
                else:
                    self.over.wait(part)
            if not sent.breaks:
                handler.wfile.write(b"0\r\n\r\n")
        except OSError:
            self.lost += 1
        handler.close_connection |= sent.breaks


@contextmanager
def running(answer: Callable[[Received], Sent]) -> Iterator[LocalService]:
    """A service that runs while the block does."""
    service = LocalService(answer)
    thread = threading.Thread(target=service.server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield service
    finally:
        service.over.set()
        service.server.shutdown()
        service.server.server_close()
        thread.join()


def in_order(*answers: Sent) -> Callable[[Received], Sent]:
    """One answer after the other; the last for all that follow."""
    waiting = list(answers)
    return lambda received: waiting.pop(0) if len(waiting) > 1 else waiting[0]
