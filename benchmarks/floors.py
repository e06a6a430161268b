"""Bare consumers for `turns.py` to compare the product with.

`echo` is what the socket costs; `floor` adds what no platform that keeps its turns can leave out:
one statement that stores a message and its reply, from a small pool of threads that keep their
connections; `wide_floor` has as many threads as the product. None has a channel layer, and the
statement goes straight to the driver.
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


class Connections:
    """A pool of threads, each of which keeps its connection."""

    def __init__(self, threads: int) -> None:
        self.pool = ThreadPoolExecutor(threads)
        self.kept = threading.local()

    async def insert(self, dialogue: int, position: int, text: str) -> None:
        await asyncio.get_running_loop().run_in_executor(self.pool, self._insert, dialogue, position, text)

    def _insert(self, dialogue: int, position: int, text: str) -> None:
        if not hasattr(self.kept, "connection"):
            self.kept.connection = psycopg2.connect(os.environ["DATABASE_URL"])
            self.kept.connection.autocommit = True
        with self.kept.connection.cursor() as cursor:
            cursor.execute(INSERT, (dialogue, position, text, dialogue, position + 1, REPLY))


class Floor(AsyncWebsocketConsumer):
    connections = Connections(4)
    position = 0

    async def receive(self, text_data: str | None = None, bytes_data: bytes | None = None) -> None:
        assert text_data is not None
        frame = json.loads(text_data)
        await self.connections.insert(id(self), self.position, frame["text"])
        self.position += 2
        turn = {"position": self.position, "speaker": "bot", "text": REPLY}
        await self.send(text_data=json.dumps({"type": "bot_turn", "turn": turn}, separators=(",", ":")))


class WideFloor(Floor):
    """With as many threads as the product has."""

    connections = Connections(int(os.environ["TURNWISE_DATABASE_THREADS"]))


async def ready(scope: Any, receive: Any, send: Any) -> None:
    """Answer the page that says that the server is up."""
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b""})


def bare(consumer: type[AsyncWebsocketConsumer]) -> ProtocolTypeRouter:
    return ProtocolTypeRouter({"http": ready, "websocket": consumer.as_asgi()})


echo = bare(Echo)
floor = bare(Floor)
wide_floor = bare(WideFloor)
