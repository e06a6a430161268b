"""Requests whose connection breaks before an answer begins are repeated once."""

import socket
import struct
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from chatbots.errors import ServiceError
from chatbots.services.client import Answer, Client, Request, pause_before_retry
from tests.chatbots.local_service import Sent, in_order, running

BODY = b'{"reply": "Hello"}'
GOOD = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s" % (len(BODY), BODY)
Act = Callable[[socket.socket], None]


@pytest.fixture(autouse=True)
def _this_machine_is_allowed(monkeypatch):
    monkeypatch.setenv("TURNWISE_ALLOWED_NETWORKS", "127.0.0.0/8")


def read_request(connection: socket.socket) -> None:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536)
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65536)


def answers(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(GOOD)


def drops(connection: socket.socket) -> None:
    read_request(connection)


def resets(connection: socket.socket) -> None:
    read_request(connection)
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


def breaks_after_the_head(connection: socket.socket) -> None:
    read_request(connection)
    connection.sendall(GOOD[:-5])


def half_closes_before_the_next(connection: socket.socket) -> None:
    """Answer, keep the connection open, and close it when the next request has begun to arrive."""
    answers(connection)
    connection.recv(1)


@contextmanager
def service(*acts: Act) -> Iterator[tuple[str, list[str]]]:
    """A server whose connections do one act each, in order; yields its address and what was done."""
    done: list[str] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            for act in acts:
                connection, _ = server.accept()
                with connection:
                    done.append(act.__name__)
                    act(connection)

        threading.Thread(target=serve, daemon=True).start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}", done


@pytest.mark.parametrize("fault", [drops, resets])
async def test_a_dropped_request_is_repeated_once(fault):
    with service(fault, answers) as (url, done):
        client = Client(timeout=30)
        assert await client.exchange(Request(url, content={})) == {"reply": "Hello"}
        await client.close()

    assert done == [fault.__name__, "answers"]


@pytest.mark.parametrize("fault", [drops, resets])
async def test_a_request_that_is_dropped_twice_is_reported(fault):
    with service(fault, fault, answers) as (url, done):
        client = Client(timeout=30)
        with pytest.raises(ServiceError, match="broke the connection"):
            await client.exchange(Request(url, content={}))
        await client.close()

    assert done == [fault.__name__] * 2


async def test_an_answer_that_has_begun_is_not_repeated():
    with service(breaks_after_the_head, answers) as (url, done):
        client = Client(timeout=30)
        with pytest.raises(ServiceError, match="broke the connection"):
            await client.exchange(Request(url, content={}))
        await client.close()

    assert done == ["breaks_after_the_head"]


async def test_a_kept_connection_that_closes_at_the_next_request_is_replaced():
    with service(half_closes_before_the_next, answers) as (url, done):
        client = Client(timeout=30)
        for _ in range(2):
            assert await client.exchange(Request(url, content={})) == {"reply": "Hello"}
        await client.close()

    assert done == ["half_closes_before_the_next", "answers"]


async def test_a_request_timeout_of_the_service_is_repeated_once():
    with running(in_order(Sent(status=408), Sent({"reply": "Hello"}))) as local:
        client = Client(timeout=30, retries=0)
        assert await client.exchange(Request(local.url, content={})) == {"reply": "Hello"}
        await client.close()

    assert len(local.received) == 2


async def test_a_request_timeout_that_comes_twice_is_reported():
    with running(in_order(Sent(status=408))) as local:
        client = Client(timeout=30, retries=0)
        with pytest.raises(ServiceError, match="408 Request Timeout"):
            await client.exchange(Request(local.url, content={}))
        await client.close()

    assert len(local.received) == 2


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after": "0.25"}, 0.25),
        ({"retry-after-ms": "40"}, 0.04),
        ({"retry-after-ms": "12.5", "retry-after": "9"}, 0.0125),
        ({"retry-after-ms": "soon", "retry-after": "2"}, 2.0),
        ({"retry-after": "-1"}, 0.5),
        ({"retry-after": "inf"}, 0.5),
        ({"retry-after": "nan"}, 0.5),
        ({"retry-after": "1e5"}, 0.5),
    ],
)
def test_the_pause_that_the_service_asks_for(headers, seconds):
    assert pause_before_retry(Answer(429, headers, b""), 0, lambda: 0.0) == pytest.approx(seconds)
