"""Messages that follow each other at once, through the web server's own protocol."""

import asyncio
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest
import uvicorn
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosedError

from turnwise.live.sockets.message_loop import FOLLOWED
from turnwise.project.web_server import BoundedWebSocket

Message = dict[str, Any]


def text_message(text: str, **more: bool) -> Message:
    return {"type": "websocket.send", "text": text, **more}


class Counted(BoundedWebSocket):
    """Counts what is written to its connection."""

    writes: list[int] = []

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        write = transport.write

        class Counting:
            def __getattr__(self, name: str) -> Any:
                return getattr(transport, name)

            def write(self, data: bytes) -> None:
                Counted.writes.append(len(data))
                write(data)

        self.transport = Counting()  # type: ignore[assignment]


@asynccontextmanager
async def serving(answer: Callable[[Message], list[Message]]) -> AsyncIterator[str]:
    """A server that sends these messages for each text that it gets; yields its address."""

    async def application(scope: Message, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        while (message := await receive())["type"] == "websocket.receive":
            for each in answer(message):
                await send(each)

    config = uvicorn.Config(
        application, ws=Counted, lifespan="off", log_config=None, ws_per_message_deflate=False
    )
    server = uvicorn.Server(config)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        work = asyncio.create_task(server.serve([listener]))
        try:
            yield f"ws://127.0.0.1:{listener.getsockname()[1]}/"
        finally:
            server.should_exit = True
            await work


async def test_a_message_that_another_follows_is_written_together_with_it() -> None:
    answer = [text_message("saved, ünïcode", **{FOLLOWED: True}), text_message("replied")]
    async with serving(lambda _: answer) as address, connect(address) as browser:
        Counted.writes.clear()
        for _ in range(3):
            await browser.send("a message")
            assert [await browser.recv(), await browser.recv()] == ["saved, ünïcode", "replied"]

        assert len(Counted.writes) == 3


async def test_a_message_whose_follower_never_comes_is_sent_before_the_close() -> None:
    answer = [text_message("saved", **{FOLLOWED: True}), {"type": "websocket.close", "code": 4400}]
    async with serving(lambda _: answer) as address, connect(address) as browser:
        await browser.send("a message")

        assert await browser.recv() == "saved"
        with pytest.raises(ConnectionClosedError) as closed:
            await browser.recv()
        assert closed.value.rcvd
        assert closed.value.rcvd.code == 4400
