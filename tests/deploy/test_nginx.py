"""Pages while their server is away: nginx with the real configuration, before servers that count."""

import runpy
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from typing_extensions import override

from tests.deploy.test_native import NEEDS_NGINX, NGINX, ROOT

pytestmark = NEEDS_NGINX


class Sockets(BaseHTTPRequestHandler):
    """The sockets' server: says what it was asked."""

    def do_GET(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        said = f"{self.command} {self.path} {body.decode()}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(said)))
        self.end_headers()
        self.wfile.write(said)

    do_POST = do_GET  # noqa: N815

    @override
    def log_message(self, *args: object) -> None:
        """Say nothing."""


class Nginx:
    """nginx before two servers of pages: one is never there, the other neither, or dies when asked."""

    def __init__(self, var: Path, header_seconds: int) -> None:
        self.var = var
        self.pages = socket.create_server(("127.0.0.1", 0))
        self.sockets = ThreadingHTTPServer(("127.0.0.1", 0), Sockets)
        threading.Thread(target=self.sockets.serve_forever, daemon=True).start()
        with socket.create_server(("127.0.0.1", 0)) as listener:
            self.port = listener.getsockname()[1]
        with socket.create_server(("127.0.0.1", 0)) as listener:
            nobody = listener.getsockname()[1]
        ports = {"pages": [nobody, self.pages.getsockname()[1]], "sockets": [self.sockets.server_address[1]]}
        conf = runpy.run_path(str(ROOT / "deploy" / "native"))["nginx_conf"](var, self.port, ports)
        patience = f"client_header_timeout {header_seconds}s"
        conf.write_text(conf.read_text().replace("client_header_timeout 15s", patience))
        self.process = subprocess.Popen([str(NGINX), "-p", str(var), "-c", str(conf)])
        deadline = time.monotonic() + 60
        while not self._listens():
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def _listens(self) -> bool:
        with suppress(OSError):
            socket.create_connection(("127.0.0.1", self.port)).close()
            return True
        return False

    def let_pages_die(self) -> None:
        """Each request is read, and its connection then closed, as by a process that is killed."""

        def die() -> None:
            with suppress(OSError):
                while True:
                    asked, _ = self.pages.accept()
                    asked.recv(65536)
                    asked.close()

        threading.Thread(target=die, daemon=True).start()

    def ask(self, data: bytes | None = None) -> tuple[int, str]:
        try:
            with urlopen(Request(f"http://127.0.0.1:{self.port}/s/a/", data), timeout=60) as answer:
                return answer.status, answer.read().decode()
        except HTTPError as error:
            return error.code, ""

    def end(self) -> None:
        self.process.terminate()
        self.process.wait(60)
        self.pages.close()
        self.sockets.shutdown()
        self.sockets.server_close()


@pytest.fixture
def nginx(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Nginx]:
    nginx = Nginx(tmp_path, getattr(request, "param", 15))
    yield nginx
    nginx.end()


def test_where_the_pages_server_is_not_reached_the_sockets_server_answers(nginx: Nginx) -> None:
    nginx.pages.close()

    for _ in range(2):  # each is asked first once
        assert nginx.ask() == (200, "GET /s/a/ ")
        assert nginx.ask(b"agree=yes") == (200, "POST /s/a/ agree=yes")


def test_what_a_form_sent_to_a_pages_server_that_died_is_not_sent_once_more(nginx: Nginx) -> None:
    nginx.let_pages_die()

    for _ in range(2):
        assert nginx.ask() == (200, "GET /s/a/ ")
        assert nginx.ask(b"agree=yes") == (502, "")


def halves_of_requests(nginx: Nginx, number: int) -> list[socket.socket]:
    halves = []
    for _ in range(number):
        halves.append(socket.create_connection(("127.0.0.1", nginx.port)))
        with suppress(OSError):  # it was turned away
            halves[-1].sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX-A: ")
    return halves


@pytest.mark.parametrize("nginx", [600], indirect=True)
def test_requests_that_never_end_keep_nobody_out(nginx: Nginx) -> None:
    nginx.let_pages_die()
    halves = halves_of_requests(nginx, 1500)

    assert {nginx.ask() for _ in range(50)} == {(200, "GET /s/a/ ")}
    for each in halves:
        each.close()


@pytest.mark.parametrize("nginx", [1], indirect=True)
def test_a_request_that_never_ends_is_ended(nginx: Nginx) -> None:
    (half,) = halves_of_requests(nginx, 1)
    half.settimeout(60)

    with half:
        while half.recv(4096):  # its refusal, and the end
            pass


def test_hashed_static_files_are_kept_for_a_year_and_others_for_an_hour(nginx: Nginx) -> None:
    folder = nginx.var / "static" / "js"
    folder.mkdir(parents=True)
    for name in ("live.js", "live.0123456789ab.js"):
        (folder / name).write_text("// a script\n")

    def kept(name: str) -> str | None:
        with urlopen(f"http://127.0.0.1:{nginx.port}/static/js/{name}", timeout=60) as answer:
            return str(answer.headers["Cache-Control"])

    assert kept("live.0123456789ab.js") == "public, max-age=31536000, immutable"
    assert kept("live.js") == "public, max-age=3600"
    with pytest.raises(HTTPError) as gone:
        kept("live.ba9876543210.js")
    assert (gone.value.code, gone.value.headers["Cache-Control"]) == (404, None)
