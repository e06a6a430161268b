"""Alarms by mail and webhook, sent to a server that takes both."""

import json
import socketserver
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from django.core.cache import cache
from pytest_django.fixtures import Settings

from turnwise.project.health import Part
from turnwise.project.system import alarms
from turnwise.project.system.alarms import Watch

WELL, DOWN = Part(True, "ready"), Part(False, "late", "secret detail")
RECEIVED: list[str] = []


class Webhook(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        RECEIVED.append(self.rfile.read(int(self.headers["Content-Length"])).decode())
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None: ...


class Mailbox(socketserver.StreamRequestHandler):
    """As much of SMTP as a client needs that sends one mail."""

    def handle(self) -> None:
        self.wfile.write(b"220 here\r\n")
        while line := self.rfile.readline():
            if line.upper().startswith(b"DATA"):
                self.wfile.write(b"354 go on\r\n")
                mail = b"".join(iter(self.rfile.readline, b".\r\n"))
                RECEIVED.append(mail.decode())
            self.wfile.write(b"250 yes\r\n")
            if line.upper().startswith(b"QUIT"):
                return


@pytest.fixture
def receivers(settings: Settings) -> Iterator[None]:
    RECEIVED.clear()
    servers = HTTPServer(("127.0.0.1", 0), Webhook), socketserver.TCPServer(("127.0.0.1", 0), Mailbox)
    for server in servers:
        threading.Thread(target=server.serve_forever, daemon=True).start()
    settings.ALARM_WEBHOOK = f"http://127.0.0.1:{servers[0].server_address[1]}/x"
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    settings.EMAIL_HOST, settings.EMAIL_PORT = servers[1].server_address[:2]
    settings.ALARM_MAIL, settings.ALARM_FROM = "ada@example.org", "turnwise@example.org"
    yield
    for server in servers:
        server.shutdown()
        server.server_close()


def test_a_part_is_reported_once_when_it_stays_down_and_once_when_it_is_back() -> None:
    watch = Watch()
    seen = [watch.news({"redis": part}) for part in (WELL, DOWN, WELL, DOWN, DOWN, DOWN, WELL, WELL)]

    down, back = ["redis is not ready: late."], ["redis is ready again."]
    assert seen == [[], [], [], [], down, [], back, []]


@pytest.mark.usefixtures("receivers")
def test_an_alarm_goes_to_the_webhook_and_by_mail() -> None:
    alarms.send("redis is not ready: late.")

    posted, mail = RECEIVED
    assert json.loads(posted)["text"].startswith("Turnwise at ")
    assert "redis is not ready: late. Look at /system/" in posted
    assert "To: ada@example.org" in mail
    assert "Subject: Turnwise at localhost: redis is not ready: late" in mail


@pytest.mark.usefixtures("receivers")
def test_a_webhook_that_fails_keeps_no_mail_back_and_its_address_is_not_logged(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    settings.ALARM_WEBHOOK = "http://127.0.0.1:1/secret"
    alarms.send("redis is not ready: late.")

    assert len(RECEIVED) == 1
    assert "not sent by webhook: URLError" in caplog.text
    assert "secret" not in caplog.text


def test_of_several_servers_one_sends_an_alarm_and_all_do_without_redis(settings: Settings) -> None:
    assert [alarms.is_first("a"), alarms.is_first("a"), alarms.is_first("b")] == [True, False, True]
    cache.clear()
    settings.CACHES = {"default": {**settings.CACHES["default"], "LOCATION": "redis://127.0.0.1:1/0"}}
    assert [alarms.is_first("a"), alarms.is_first("a")] == [True, True]
