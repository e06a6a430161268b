"""Two bare consumers for `turns.py` to compare the product with.

`echo` is what the socket costs; `floor` adds what no platform that keeps its turns can leave out:
one statement that stores a message and its reply, over connections that are kept. Neither has a
channel layer, and the statement goes straight to the driver.
"""

import asyncio
import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg2
from channels.generic.websocket import AsyncWebsocketConsumer
from channels.routing import ProtocolTypeRouter
from django.conf import settings

settings.configure()

INSERT = "INSERT INTO floor_turn (dialogue, position, text) VALUES (%s, %s, %s), (%s, %s, %s)"
REPLY = "I don't know"


class Echo(AsyncWebsocketConsumer):
    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        assert text_data is not None
        await self.send(text_data=text_data.replace("turn", "bot_turn", 1))


class Floor(AsyncWebsocketConsumer):
    position = 0

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        assert text_data is not None
        frame = json.loads(text_data)
        loop = asyncio.get_running_loop()
        await loop.run_in_executor(_threads, _insert, id(self), self.position, frame["text"])
        self.position += 2
        turn = {"position": self.position, "speaker": "bot", "text": REPLY}
        await self.send(text_data=json.dumps({"type": "bot_turn", "turn": turn}, separators=(",", ":")))


_threads = ThreadPoolExecutor(int(os.environ["TURNWISE_DATABASE_THREADS"]))
_kept = threading.local()


def _insert(dialogue: int, position: int, text: str) -> None:
    if not hasattr(_kept, "connection"):
        _kept.connection = psycopg2.connect(os.environ["DATABASE_URL"])
        _kept.connection.autocommit = True
    with _kept.connection.cursor() as cursor:
        cursor.execute(INSERT, (dialogue, position, text, dialogue, position + 1, REPLY))


async def ready(scope: Any, receive: Any, send: Any) -> None:
    """Answer the page that says that the server is up."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def bare(consumer: type[AsyncWebsocketConsumer]) -> ProtocolTypeRouter:
    return ProtocolTypeRouter({"http": ready, "websocket": consumer.as_asgi()})


echo = bare(Echo)
floor = bare(Floor)
