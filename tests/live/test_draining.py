"""A server that is replaced sends its sockets elsewhere, each once nothing of it is under way."""

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest
from channels.exceptions import StopConsumer

from turnwise.live.sockets import draining
from turnwise.live.sockets.draining import MOVED
from turnwise.live.sockets.message_loop import Message, dispatch_messages


class Browser:
    """A socket whose messages are handled one at a time."""

    def __init__(self) -> None:
        self.sent: asyncio.Queue[Message] = asyncio.Queue()
        self.handled: list[Any] = []
        self.may_end = asyncio.Event()

    async def work(self) -> bool:
        """Serve until the socket is closed; True if it was sent elsewhere."""
        with draining.open_socket() as socket:
            with pytest.raises(StopConsumer):
                await dispatch_messages([self.sent.get], self._handle)
            return socket.has_moved

    async def _handle(self, message: Message) -> None:
        self.handled.append(message["type"])
        if message["type"] == "websocket.disconnect":
            assert message["code"] == MOVED
            raise StopConsumer
        if message["type"] == "turn":
            draining.hold(asyncio.create_task(self._reply()))

    async def _reply(self) -> None:
        await self.may_end.wait()
        self.handled.append("reply")


async def after(seconds: float, browser: Browser) -> list[Any]:
    await asyncio.sleep(seconds)
    return list(browser.handled)


async def test_an_idle_socket_moves_at_once() -> None:
    browser = Browser()
    working = asyncio.create_task(browser.work())
    await asyncio.sleep(0)

    assert await draining.drain(10)
    assert await working
    assert browser.handled == ["websocket.disconnect"]


async def test_a_socket_moves_after_the_reply_that_its_message_began() -> None:
    browser = Browser()
    working = asyncio.create_task(browser.work())
    browser.sent.put_nowait({"type": "turn"})
    drained = asyncio.create_task(draining.drain(10))

    assert await after(0.3, browser) == ["turn"]
    browser.sent.put_nowait({"type": "ping"})
    assert await after(0.1, browser) == ["turn", "ping"]
    browser.may_end.set()

    assert await drained
    assert await working
    assert browser.handled == ["turn", "ping", "reply", "websocket.disconnect"]


async def test_what_takes_too_long_is_said() -> None:
    browser = Browser()
    working = asyncio.create_task(browser.work())
    browser.sent.put_nowait({"type": "turn"})
    await asyncio.sleep(0.05)

    assert not await draining.drain(0.3)
    browser.may_end.set()
    assert await working


async def test_a_page_under_way_is_waited_for() -> None:
    def page() -> Iterator[None]:
        with draining.open_request():
            yield

    loading = page()
    next(loading)
    assert not await draining.drain(0.2)
    next(loading, None)

    assert await draining.drain(1)


async def test_a_socket_with_a_loop_of_its_own_is_closed() -> None:
    closed = asyncio.Event()

    async def close() -> None:
        closed.set()

    async def work() -> None:
        with draining.open_socket() as socket:
            socket.close = close
            await closed.wait()

    working = asyncio.create_task(work())
    await asyncio.sleep(0)

    assert await draining.drain(10)
    await working
