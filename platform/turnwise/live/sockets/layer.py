"""The Channels layer: messages between the sockets, and between the processes, of one installation.

    group_send ── queues of this process, at once
             └── outbox ── PUBLISH ──▶ Redis ── one subscription per process ──▶ queues of the others

Senders never wait for Redis: messages within the process do not need it, and a separate task sends the rest.
While Redis is down, messages to other processes are lost; groups receive `layer.restored` once it is back.
A probe to the process itself detects a connection that went silent without breaking. If the receiving process
has ended, the sender gets `layer.nobody` on its `reply_to` channel.
"""

import asyncio
import json
import logging
from collections import defaultdict, deque
from contextlib import suppress
from typing import Any
from uuid import uuid4
from weakref import WeakKeyDictionary

import redis.asyncio
from channels.layers import get_channel_layer
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from turnwise.live.frames import as_json

log = logging.getLogger(__name__)

Message = dict[str, Any]

PROBE_SECONDS = 2.0
# Without any message, even our own probes, for this long the connection counts as dead.
SILENCE_SECONDS = 6.0
PAUSE_SECONDS = 0.2
# Messages that wait while Redis accepts none; beyond this the oldest are dropped.
OUTBOX_SIZE = 10_000
BROADCAST_CHANNEL = "turnwise.everybody"


class RedisPubSubLayer:
    """Channels layer over Redis pub/sub (`CHANNEL_LAYERS`), with one `LoopLayer` for each event loop."""

    def __init__(self, address: str) -> None:
        """Set the address of Redis."""
        self._address = address
        self._layers: WeakKeyDictionary[asyncio.AbstractEventLoop, LoopLayer] = WeakKeyDictionary()

    def here(self) -> "LoopLayer":
        loop = asyncio.get_running_loop()
        if loop not in self._layers:
            self._layers[loop] = LoopLayer(self._address)
        return self._layers[loop]

    async def new_channel(self, prefix: str = "channel") -> str:
        return self.here().new_channel(prefix)

    async def receive(self, channel: str) -> Message:
        return await self.here().receive(channel)

    async def send(self, channel: str, message: Message) -> None:
        self.here().send(channel, message)

    async def group_add(self, group: str, channel: str) -> None:
        self.here().groups[group].add(channel)

    async def group_discard(self, group: str, channel: str) -> None:
        self.here().leave(group, channel)

    async def group_send(self, group: str, message: Message) -> None:
        self.here().send_to_group(group, message)

    async def is_connected(self, patience: float = 0.0) -> bool:
        """True if other processes can be reached, at the latest after `patience` seconds.

        Waits for the first attempt to connect in any case.
        """
        return await self.here().is_connected(patience)

    def is_cut_off(self) -> bool:
        """True if a connection of this process to Redis is down; callable from any thread."""
        return any(layer.is_cut_off for loop, layer in list(self._layers.items()) if loop.is_running())


def process_layer() -> RedisPubSubLayer:
    """The channel layer that the settings name."""
    layer = get_channel_layer()
    assert isinstance(layer, RedisPubSubLayer)
    return layer


class LoopLayer:
    """The layer of one event loop: its channels, its groups, and its connection to Redis."""

    def __init__(self, address: str) -> None:
        """Start to connect in the background."""
        self.groups: defaultdict[str, set[str]] = defaultdict(set)
        self._name = f"turnwise.{uuid4().hex}"
        self._queues: dict[str, asyncio.Queue[Message]] = {}
        self._address = address
        self._outbox: deque[tuple[str, Message]] = deque(maxlen=OUTBOX_SIZE)
        self._has_mail = asyncio.Event()
        self._tried = asyncio.Event()
        self._is_up = asyncio.Event()
        self._line = asyncio.get_running_loop().create_task(self._keep_connected())

    def new_channel(self, prefix: str) -> str:
        """Create a channel of this process; its name contains the name of the process."""
        channel = f"{self._name}!{prefix}{uuid4().hex}"
        self._queues[channel] = asyncio.Queue()
        return channel

    async def receive(self, channel: str) -> Message:
        """Wait for the next message. A cancelled receiver is removed with its channel."""
        try:
            return await self._queues[channel].get()
        except asyncio.CancelledError:
            self._queues.pop(channel, None)
            raise

    def send(self, channel: str, message: Message) -> None:
        process = channel.partition("!")[0]
        if process == self._name:
            self._deliver(channel, message)
        else:
            self._post(process, {"channel": channel, "message": message})

    def send_to_group(self, group: str, message: Message) -> None:
        self._deliver_to_group(group, message)
        self._post(BROADCAST_CHANNEL, {"from": self._name, "group": group, "message": message})

    def leave(self, group: str, channel: str) -> None:
        members = self.groups.get(group, set())
        members.discard(channel)
        if not members:
            self.groups.pop(group, None)

    async def is_connected(self, patience: float) -> bool:
        await self._tried.wait()
        with suppress(TimeoutError):
            async with asyncio.timeout(patience):
                await self._is_up.wait()
        return self._is_up.is_set()

    @property
    def is_cut_off(self) -> bool:
        """True if the connection is down, after a first attempt."""
        return self._tried.is_set() and not self._is_up.is_set()

    def _deliver(self, channel: str, message: Message) -> None:
        if channel in self._queues:
            self._queues[channel].put_nowait(message)

    def _deliver_to_group(self, group: str, message: Message) -> None:
        for channel in list(self.groups.get(group, ())):
            self._deliver(channel, message)

    def _post(self, to: str, envelope: Message) -> None:
        if self._is_up.is_set() or not self._tried.is_set():
            self._outbox.append((to, envelope))
            self._has_mail.set()

    async def _keep_connected(self) -> None:
        """Reconnect whenever the connection breaks."""
        while True:
            try:
                await self._run_connection()
            except (RedisError, OSError, TimeoutError, ValueError) as error:
                reason = str(error) or type(error).__name__
                log.warning("No connection to other processes over Redis (%s). It is retried.", reason)
            self._is_up.clear()
            self._outbox.clear()
            self._tried.set()
            _raise_if_cancelled()
            await asyncio.sleep(PAUSE_SECONDS)

    async def _run_connection(self) -> None:
        """Run one connection until it breaks or goes silent."""
        client = redis.asyncio.Redis.from_url(
            self._address,
            socket_timeout=SILENCE_SECONDS,
            socket_connect_timeout=SILENCE_SECONDS,
            retry=Retry(NoBackoff(), 0),  # a silent reconnect may have lost messages
        )
        async with client, client.pubsub() as incoming:
            await incoming.subscribe(self._name, BROADCAST_CHANNEL)
            _raise_if_cancelled()
            try:
                await self._run_until_broken(client, incoming)
            finally:
                # `aclose` would wait for an answer on a connection that may be dead.
                await client.connection_pool.disconnect()

    async def _run_until_broken(
        self, client: redis.asyncio.Redis, incoming: redis.asyncio.client.PubSub
    ) -> None:
        steps = (self._receive_loop(incoming), self._send_loop(client), self._probe_loop())
        tasks = [asyncio.ensure_future(step) for step in steps]
        try:
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _receive_loop(self, incoming: redis.asyncio.client.PubSub) -> None:
        while True:
            async with asyncio.timeout(SILENCE_SECONDS):
                heard = await incoming.get_message(ignore_subscribe_messages=True, timeout=None)
            _raise_if_cancelled()
            if heard is not None:
                self._dispatch(json.loads(heard["data"]))

    def _dispatch(self, envelope: Message) -> None:
        if "group" in envelope:
            if envelope["from"] != self._name:
                self._deliver_to_group(envelope["group"], envelope["message"])
        elif "channel" in envelope:
            self._deliver(envelope["channel"], envelope["message"])
        elif not self._is_up.is_set():
            self._mark_connected()

    def _mark_connected(self) -> None:
        """Note that the first probe came back. Messages sent during an outage are lost."""
        was_down = self._tried.is_set()
        self._is_up.set()
        self._tried.set()
        if was_down:
            log.warning("The connection to other processes over Redis is back.")
            for group in list(self.groups):
                self._deliver_to_group(group, {"type": "layer.restored"})

    async def _send_loop(self, client: redis.asyncio.Redis) -> None:
        while True:
            await self._has_mail.wait()
            self._has_mail.clear()
            envelopes, self._outbox = self._outbox, deque(maxlen=OUTBOX_SIZE)
            async with asyncio.timeout(SILENCE_SECONDS), client.pipeline(transaction=False) as batch:
                for to, envelope in envelopes:
                    batch.publish(to, as_json(envelope))
                heard_by = await batch.execute()
            _raise_if_cancelled()
            for (_, envelope), listeners in zip(envelopes, heard_by, strict=True):
                if not listeners and "channel" in envelope:
                    self._report_no_receiver(envelope)

    def _report_no_receiver(self, envelope: Message) -> None:
        reply_to = envelope["message"].get("reply_to", "")
        self._deliver(reply_to, {"type": "layer.nobody", "channel": envelope["channel"]})

    async def _probe_loop(self) -> None:
        while True:
            self._outbox.append((self._name, {}))
            self._has_mail.set()
            await asyncio.sleep(PROBE_SECONDS)


def _raise_if_cancelled() -> None:
    """Raise a pending cancellation: redis-py uses `wait_for`, which may swallow it on Python 3.11."""
    task = asyncio.current_task()
    if task and task.cancelling():
        raise asyncio.CancelledError
