"""What one connection may ask of the server: over real connections to a real uvicorn."""

import asyncio
import json
import socket
from collections.abc import Callable, Iterator
from contextlib import closing

import pytest
import uvicorn
from websockets.frames import Frame, Opcode

from turnwise.project import asgi_middleware, web_server
from turnwise.project.asgi_middleware import BoundedBodies

Connect = Callable[[], socket.socket]


async def pages(scope, receive, send):
    """Counts the bytes of a body, and greets a socket."""
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.accept"})
        while (await receive())["type"] != "websocket.disconnect":
            await send({"type": "websocket.send", "text": "heard"})
        return
    received, more = 0, True
    while more:
        event = await receive()
        if event["type"] == "http.disconnect":
            return
        received, more = received + len(event["body"]), event["more_body"]
    await send({"type": "http.response.start", "status": 200, "headers": [(b"connection", b"close")]})
    await send({"type": "http.response.body", "body": json.dumps(received).encode()})


async def application(scope, receive, send):
    await (bounded if scope["type"] == "http" else pages)(scope, receive, send)


bounded = BoundedBodies(pages)


@pytest.fixture
async def connect(monkeypatch: pytest.MonkeyPatch) -> Iterator[Connect]:  # type: ignore[misc]
    monkeypatch.setattr(web_server, "HEADER_SECONDS", 0.3)
    monkeypatch.setattr(asgi_middleware, "SECONDS", 0.3)
    config = uvicorn.Config(
        application,
        http=web_server.TimedHttp,
        ws=web_server.BoundedWebSocket,
        lifespan="off",
        log_level="critical",
    )
    server = uvicorn.Server(config)
    with closing(socket.create_server(("127.0.0.1", 0))) as listener:
        task = asyncio.create_task(server.serve([listener]))
        while not server.started:
            await asyncio.sleep(0.01)
        yield lambda: socket.create_connection(listener.getsockname(), timeout=20)
        server.should_exit = True
        await task


async def said(connection: socket.socket) -> bytes:
    """All that the server says until it ends the connection."""

    def read() -> bytes:
        found = b""
        try:
            while chunk := connection.recv(65536):
                found += chunk
        except ConnectionResetError:
            pass
        return found

    with connection:
        return await asyncio.to_thread(read)


async def test_half_a_header_does_not_keep_a_connection(connect: Connect) -> None:
    slow = connect()
    slow.sendall(b"GET / HTTP/1.1\r\nHost: here\r\nX-Never: ")

    assert await said(slow) == b""


async def test_a_connection_that_says_nothing_ends(connect: Connect) -> None:
    assert await said(connect()) == b""


async def test_a_body_that_never_ends_is_refused_in_words(connect: Connect) -> None:
    slow = connect()
    slow.sendall(b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 100\r\n\r\nhalf")

    answer = await said(slow)

    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"did not come in time" in answer


async def test_a_body_that_is_declared_too_large_is_refused_before_it_comes(connect: Connect) -> None:
    large = connect()
    large.sendall(b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 419430400\r\n\r\n")

    assert (await said(large)).startswith(b"HTTP/1.1 413 ")


async def test_a_body_that_grows_too_large_undeclared_is_refused(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asgi_middleware, "MOST_BYTES", 100_000)
    growing = connect()
    growing.sendall(b"POST / HTTP/1.1\r\nHost: here\r\nTransfer-Encoding: chunked\r\n\r\n")
    for _ in range(3):
        growing.sendall(b"9c40\r\n" + bytes(40_000) + b"\r\n")

    assert (await said(growing)).startswith(b"HTTP/1.1 413 ")


async def test_many_bodies_at_once_have_a_bound_together_and_give_their_room_back(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asgi_middleware, "MOST_BYTES_AT_ONCE", 1000)
    monkeypatch.setattr(asgi_middleware, "SMALL_BYTES", 100)
    monkeypatch.setattr(asgi_middleware, "SECONDS", 60.0)
    first, second = connect(), connect()
    first.sendall(b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 900\r\n\r\n" + bytes(899))
    while bounded._at_once < 799:
        await asyncio.sleep(0.01)
    second.sendall(b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 900\r\n\r\n" + bytes(900))
    refused = await said(second)
    first.sendall(bytes(1))
    taken = await said(first)

    assert refused.startswith(b"HTTP/1.1 503 ")
    assert b"900" in taken.partition(b"\r\n\r\n")[2]
    assert bounded._at_once == 0


async def test_who_announces_much_and_sends_nothing_keeps_nobody_out(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asgi_middleware, "SECONDS", 60.0)
    announced = f"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: {asgi_middleware.MOST_BYTES}\r\n\r\n"
    slow = [connect() for _ in range(8)]
    for each in slow:
        each.sendall(announced.encode())
    await asyncio.sleep(0.1)
    form = connect()
    form.sendall(b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\n\r\nagree=yes")

    answer = await said(form)

    assert answer.startswith(b"HTTP/1.1 200 ")
    for each in slow:
        each.close()


async def test_what_people_write_is_taken_while_uploads_have_all_the_room(
    connect: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(asgi_middleware, "MOST_BYTES_AT_ONCE", 1000)
    monkeypatch.setattr(asgi_middleware, "SMALL_BYTES", 100)
    monkeypatch.setattr(asgi_middleware, "SECONDS", 60.0)
    upload, form = connect(), connect()
    upload.sendall(b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 2000\r\n\r\n" + bytes(1100))
    while bounded._at_once < 1000:
        await asyncio.sleep(0.01)
    form.sendall(b"POST / HTTP/1.1\r\nHost: here\r\nContent-Length: 9\r\n\r\nagree=yes")

    answer = await said(form)

    assert answer.startswith(b"HTTP/1.1 200 ")
    upload.close()


def frame(opcode: Opcode, data: bytes = b"", *, fin: bool = True) -> bytes:
    return Frame(opcode, data, fin).serialize(mask=True)


async def open_socket(connect: Connect) -> socket.socket:
    connection = connect()
    connection.sendall(
        b"GET / HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        b"Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n\r\n"
    )
    assert (await asyncio.to_thread(connection.recv, 65536)).startswith(b"HTTP/1.1 101 ")
    return connection


@pytest.mark.parametrize(
    "flood",
    [
        frame(Opcode.PING, b"x") * 1000,
        frame(Opcode.PONG, b"x") * 1000,
        frame(Opcode.TEXT, b"x", fin=False) + frame(Opcode.CONT, b"x", fin=False) * 1000,
    ],
    ids=["pings", "pongs", "parts"],
)
async def test_a_flood_of_frames_without_a_message_ends_the_connection(
    connect: Connect, flood: bytes
) -> None:
    flooding = await open_socket(connect)
    flooding.sendall(flood)

    await said(flooding)  # it comes back because the server ended the connection


async def test_pings_and_parts_at_a_person_s_rate_are_answered(connect: Connect) -> None:
    quiet = await open_socket(connect)
    quiet.sendall(frame(Opcode.PING, b"x") * 10)
    quiet.sendall(frame(Opcode.TEXT, b"a", fin=False) + frame(Opcode.CONT, b"b"))

    found = b""
    while b"heard" not in found:
        found += await asyncio.to_thread(quiet.recv, 65536)
    quiet.close()

    assert found.count(b"\x8a\x01x") == 10
