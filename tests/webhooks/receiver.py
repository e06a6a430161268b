"""A real HTTP server that receives webhooks, and a check of signatures that shares no code with ours."""

import base64
import hashlib
import hmac
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass
class Received:
    """A request as it arrived; names of headers in lower case."""

    headers: Mapping[str, str]
    body: bytes


@dataclass
class Reply:
    """An answer; with an event, it waits for that."""

    status: int = 200
    body: bytes = b""
    location: str = ""
    waits_for: threading.Event | None = None


class Receiver:
    """Answers each request with `answer(number)`, and remembers it."""

    def __init__(self, answer: Callable[[int], Reply]) -> None:
        self.received: list[Received] = []
        received = self.received

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                received.append(Received({k.lower(): v for k, v in self.headers.items()}, body))
                reply = answer(len(received))
                if reply.waits_for:
                    reply.waits_for.wait(30)
                self.send_response(reply.status)
                if reply.location:
                    self.send_header("Location", reply.location)
                self.send_header("Content-Length", str(len(reply.body)))
                with suppress(OSError):  # the sender has gone
                    self.end_headers()
                    self.wfile.write(reply.body)

            def log_message(self, *_arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_port}/events"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


def is_genuine(secret: str, headers: Mapping[str, str], body: bytes) -> bool:
    """Check a signature as the Standard Webhooks specification describes it."""
    key = base64.b64decode(secret.split("_")[1])
    signed = b".".join([headers["webhook-id"].encode(), headers["webhook-timestamp"].encode(), body])
    expected = base64.b64encode(hmac.new(key, signed, hashlib.sha256).digest()).decode()
    return any(hmac.compare_digest(f"v1,{expected}", each) for each in headers["webhook-signature"].split())
