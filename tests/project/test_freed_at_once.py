"""What turns and closed sockets used is freed at once: a full garbage collection stops the whole server."""

import asyncio
import gc
import weakref
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
import uvicorn
from channels.exceptions import StopConsumer
from websockets.asyncio.client import connect

from chatbots.base import Bot, BotConfiguration, Context
from chatbots.hosting.resident import Resident
from chatbots.replies import Response
from turnwise.crowd.worker_socket import WorkerSocket
from turnwise.live.sockets.message_loop import dispatch_messages
from turnwise.project.web_server import BoundedWebSocket

pytestmark = pytest.mark.asyncio(loop_scope="session")


@pytest.fixture(autouse=True)
def no_garbage_collection() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()


class Text(str):
    """A text whose end can be watched."""

    __slots__ = ("__weakref__",)


class EchoBot(Bot):
    def respond(self, contexts: Any) -> list[Response]:
        return [Response("Well.") for _ in contexts]


@pytest.mark.parametrize("timeout", [None, 60.0])
async def test_a_request_to_a_bot_is_freed_once_it_is_answered(timeout: float | None) -> None:
    with Resident("echo", lambda: EchoBot(BotConfiguration())) as resident:
        resident.wait_loaded(60)
        text = Text("Hello?")
        freed = weakref.ref(text)
        await resident.respond(Context.from_texts([text]), timeout=timeout)
        del text
        await resident.respond(
            Context.from_texts(["Next."]), timeout=timeout
        )  # the thread lets go of the first

    assert freed() is None


async def test_the_loop_of_a_socket_is_freed_once_it_is_closed() -> None:
    async def elsewhere() -> dict[str, Any]:
        await asyncio.sleep(3600)
        return {}

    async def dispatch(message: dict[str, Any]) -> None:
        raise StopConsumer

    async def use() -> weakref.ref[Text]:
        text = Text("Hello?")

        async def browser() -> dict[str, Any]:
            return {"text": text}

        with suppress(StopConsumer):
            await dispatch_messages([browser, elsewhere], dispatch)
        return weakref.ref(text)

    freed = await use()
    await asyncio.sleep(0)  # the event loop lets go of the tasks

    assert freed() is None


async def test_a_worker_s_socket_is_freed_once_it_is_closed(transactional_db: None) -> None:
    class Socket(WorkerSocket):
        async def connect(self) -> None:
            self.handlers = self.frame_handlers()

    messages: list[dict[str, Any]] = [
        {"type": "websocket.connect"},
        {"type": "websocket.disconnect", "code": 1001},
    ]

    async def receive() -> dict[str, Any]:
        return messages.pop(0)

    async def send(message: dict[str, Any]) -> None: ...

    socket = Socket()
    socket.is_open = True
    freed = weakref.ref(socket)
    await socket({"type": "websocket"}, receive, send)
    del socket
    await asyncio.sleep(0)

    assert freed() is None


async def test_a_connection_is_freed_once_it_is_closed() -> None:
    seen: list[weakref.ref[Any]] = []

    class Watched(BoundedWebSocket):
        def connection_made(self, transport: Any) -> None:
            seen.extend([weakref.ref(self), weakref.ref(self.conn)])
            super().connection_made(transport)

    async def application(scope: Any, receive: Any, send: Any) -> None:
        await receive()
        await send({"type": "websocket.accept"})
        while (await receive())["type"] == "websocket.receive":
            await send({"type": "websocket.send", "text": "Well."})

    server = uvicorn.Server(uvicorn.Config(application, port=0, ws=Watched, lifespan="off", log_config=None))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    async with connect(f"ws://127.0.0.1:{port}/") as browser:
        await browser.send("Hello?")
        assert await browser.recv() == "Well."
        assert all(each() for each in seen)
    server.should_exit = True
    await serving

    assert not any(each() for each in seen)
