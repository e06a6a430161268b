import asyncio
import shutil
import ssl
import subprocess
import threading
import time
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from chatbots.errors import ForbiddenAddressError, ServiceError
from chatbots.services.client import MOST_BYTES, Answer, Client, Request, pause_before_retry
from tests.chatbots.local_service import Sent, in_order, running

GOOD = Sent({"reply": "Hello"})


@pytest.fixture(autouse=True)
def _this_machine_is_allowed(monkeypatch):
    monkeypatch.setenv("TURNWISE_ALLOWED_NETWORKS", "127.0.0.0/8,::1/128")


async def exchange(url, **settings):
    client = Client(**{"timeout": 10.0} | settings)
    try:
        return await client.exchange(Request(url, content={"text": "Hi"}, query={"key": "sk-123"}))
    finally:
        await client.close()


async def test_a_good_answer_is_parsed():
    with running(in_order(GOOD)) as service:
        assert await exchange(f"{service.url}/say") == {"reply": "Hello"}

    [received] = service.received
    assert (received.path, received.json, received.query) == ("/say", {"text": "Hi"}, {"key": "sk-123"})
    assert received.headers["host"] == service.url.removeprefix("http://")


async def test_nothing_is_sent_to_an_address_that_is_not_allowed(monkeypatch):
    monkeypatch.setenv("TURNWISE_ALLOWED_NETWORKS", "10.0.0.0/8")

    with (
        running(in_order(GOOD)) as service,
        pytest.raises(ForbiddenAddressError, match=r"127\.0\.0\.1 is not an address of the public"),
    ):
        await exchange(service.url)
    assert service.received == []


@pytest.mark.parametrize("status", [429, 500, 502, 503])
async def test_a_temporary_error_is_retried(status):
    with running(in_order(Sent(status=status, headers={"Retry-After": "0"}), GOOD)) as service:
        assert await exchange(service.url, retries=1) == {"reply": "Hello"}
    assert len(service.received) == 2


@pytest.mark.parametrize("status", [400, 401, 404, 413])
async def test_a_permanent_error_is_not_retried(status):
    with (
        running(in_order(Sent({"error": "no such model"}, status=status))) as service,
        pytest.raises(ServiceError, match=f"answered {status} .*no such model"),
    ):
        await exchange(service.url, retries=3)
    assert len(service.received) == 1


async def test_the_last_failure_is_reported_when_the_attempts_are_used_up():
    with (
        running(in_order(Sent("busy", status=503, headers={"Retry-After": "0"}))) as service,
        pytest.raises(ServiceError, match="503 Service Unavailable"),
    ):
        await exchange(service.url, retries=2)
    assert len(service.received) == 3


async def test_a_pause_that_would_pass_the_deadline_is_not_waited_for():
    with (
        running(in_order(Sent("later", status=429, headers={"Retry-After": "3600"}))) as service,
        pytest.raises(ServiceError, match="429 Too Many Requests"),
    ):
        await exchange(service.url, retries=5, timeout=30.0)
    assert len(service.received) == 1


@pytest.mark.parametrize(
    "sent",
    [Sent(hangs=True), Sent({"reply": "x" * 400}, pause=0.05)],
    ids=["it hangs", "it drips, a byte at a time"],
)
async def test_an_answer_that_does_not_end_is_given_up(sent):
    with (
        running(in_order(sent)) as service,
        pytest.raises(ServiceError, match=r"did not answer within 0\.5 s. Check that it runs"),
    ):
        await exchange(service.url, timeout=0.5)


async def test_an_answer_of_endless_size_is_given_up():
    with (
        running(in_order(Sent(body=b'"' + b"x" * (MOST_BYTES + 1)))) as service,
        pytest.raises(ServiceError, match="sent more than 1,000,000 bytes"),
    ):
        await exchange(service.url)


async def test_a_truncated_answer_is_reported():
    with (
        running(in_order(Sent(body=b'{"reply": "Hel', promised=100))) as service,
        pytest.raises(ServiceError, match="broke the connection"),
    ):
        await exchange(service.url)


async def test_a_service_that_is_not_there_is_reported():
    with running(in_order(GOOD)) as service:
        pass

    with pytest.raises(ServiceError, match="broke the connection or took none"):
        await exchange(service.url)


async def test_an_unknown_name_is_reported():
    with pytest.raises(ServiceError, match=r"the name nowhere\.invalid cannot be resolved"):
        await exchange("http://nowhere.invalid/")


@pytest.mark.parametrize("body", [b"<html>", b"", b"\xff\xfe", b"[" * 100_000])
async def test_an_answer_that_is_no_json_is_reported(body):
    with (
        running(in_order(Sent(body=body))) as service,
        pytest.raises(ServiceError, match="did not answer with JSON"),
    ):
        await exchange(service.url)


@pytest.mark.parametrize("status", [301, 302, 307, 308])
async def test_a_redirect_is_not_followed(status):
    sent = Sent(status=status, headers={"Location": "http://169.254.169.254/latest"})

    with (
        running(in_order(sent, GOOD)) as service,
        pytest.raises(ServiceError, match=r"redirects to http://169\.254.*which is not followed"),
    ):
        await exchange(service.url)
    assert len(service.received) == 1


async def test_a_compressed_answer_is_refused_unread():
    with (
        running(in_order(Sent("x", headers={"Content-Encoding": "gzip"}))) as service,
        pytest.raises(ServiceError, match="compressed"),
    ):
        await exchange(service.url)


async def test_a_key_that_a_service_repeats_is_not_shown():
    with (
        running(in_order(Sent("Wrong key sk-123", status=401))) as service,
        pytest.raises(ServiceError, match=r"Wrong key \(hidden\)") as caught,
    ):
        await exchange(service.url, hidden=["sk-123"])
    assert "sk-123" not in str(caught.value)


async def test_no_proxy_of_the_environment_is_used(monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:9")

    with running(in_order(GOOD)) as service:
        assert await exchange(service.url) == {"reply": "Hello"}


async def test_many_exchanges_run_at_the_same_time():
    all_here = threading.Barrier(8, timeout=20)

    def answer(received):
        all_here.wait()  # fails unless eight requests are open at once
        return GOOD

    with running(answer) as service:
        client = Client(timeout=20.0, connections=8)
        answers = await asyncio.gather(*(client.exchange(Request(service.url, content={})) for _ in range(8)))
        await client.close()
    assert answers == [{"reply": "Hello"}] * 8


@pytest.mark.parametrize(
    ("header", "attempt", "draw", "seconds"),
    [
        ("", 0, 0.0, 0.5),
        ("", 3, 0.0, 4.0),  # 0.5 · 2³
        ("", 3, 0.5, 5.0),  # and half of a half of it
        ("7", 3, 0.0, 7.0),
        ("7", 0, 1.0, 7.25),
        ("soon", 1, 0.0, 1.0),
        ("Thu, 01 Jan 1970 00:00:00 GMT", 0, 0.0, 0.0),
    ],
)
def test_pauses_double_unless_the_service_asks_for_another(header, attempt, draw, seconds):
    answer = Answer(503, {"retry-after": header} if header else {}, b"")

    assert pause_before_retry(answer, attempt, lambda: draw) == pytest.approx(seconds)


def test_a_date_to_come_back_at_is_honoured():
    answer = Answer(429, {"retry-after": formatdate(time.time() + 100, usegmt=True)}, b"")

    assert 90 < pause_before_retry(answer, 0, lambda: 0.0) <= 100


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A key and a certificate of this machine, signed by itself, for the name localhost."""
    if not shutil.which("openssl"):
        pytest.skip("the command openssl, which makes the certificate, is not installed")
    folder = tmp_path_factory.mktemp("certificate")
    wanted = "-x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=localhost -addext subjectAltName=DNS:localhost"
    files = ["-keyout", "key.pem", "-out", "certificate.pem"]
    subprocess.run(["openssl", "req", *wanted.split(), *files], cwd=folder, check=True, capture_output=True)
    return folder


@pytest.fixture
def secure_port(certificate):
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b'"secret"')

        def log_message(self, *arguments): ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate / "certificate.pem", certificate / "key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    yield server.server_port
    server.shutdown()
    server.server_close()
    thread.join()


async def test_a_certificate_that_nobody_vouches_for_is_refused(secure_port):
    with pytest.raises(ServiceError, match="certificate verify failed"):
        await exchange(f"https://localhost:{secure_port}/")


async def test_a_certificate_is_held_against_the_name_not_the_address(secure_port, certificate):
    trusting = ssl.create_default_context(cafile=str(certificate / "certificate.pem"))

    assert await exchange(f"https://localhost:{secure_port}/", verify=trusting) == "secret"
    with pytest.raises(ServiceError, match="certificate"):
        await exchange(f"https://127.0.0.1:{secure_port}/", verify=trusting)
