"""The Channels layer: messages between the sockets, and between the processes, of one installation.

    group_send ── queues of this process, at once
             └── outbox ── PUBLISH ──▶ Redis ── one subscription per process ──▶ queues of the others

Nobody here ever waits for Redis: what stays in this process needs none, and the rest goes out from a task of
its own. While Redis is down, messages to other processes are lost, and their channels are told
`layer.restored` once it is back. A line that went silent without breaking is noticed by a probe to oneself.
Who sends to a process that has gone, and named a channel to reply to, hears `layer.nobody` there.
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
# Longer than this without even our own probes, and the line is taken for dead.
SILENCE_SECONDS = 6.0
PAUSE_SECONDS = 0.2
# What may wait for a Redis that takes nothing just now; beyond it the oldest are lost.
OUTBOX_SIZE = 10_000
BROADCAST_CHANNEL = "turnwise.everybody"


class RedisPubSubLayer:
    """A Channels layer, as `CHANNEL_LAYERS` names it: one `LoopLayer` for each event loop."""

    def __init__(self, address: str) -> None:
        """Take the address of Redis."""
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
        """Whether other processes can be reached, if need be after so many seconds.

        While the line is only beginning, wait for how that ends.
        """
        return await self.here().is_connected(patience)

    def is_cut_off(self) -> bool:
        """Whether a line of this process to the others is down; asked from any thread."""
        return any(layer.is_cut_off for loop, layer in list(self._layers.items()) if loop.is_running())


def process_layer() -> RedisPubSubLayer:
    """The one that the settings name."""
    layer = get_channel_layer()
    assert isinstance(layer, RedisPubSubLayer)
    return layer


class LoopLayer:
    """The layer of one event loop: its channels, its groups, and its line to Redis."""

    def __init__(self, address: str) -> None:
        """Begin to connect, for which nobody waits."""
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
        """A channel of this process; its name says where it is."""
        channel = f"{self._name}!{prefix}{uuid4().hex}"
        self._queues[channel] = asyncio.Queue()
        return channel

    async def receive(self, channel: str) -> Message:
        """The next message. Whoever is cancelled while waiting has gone, as Channels' consumers do."""
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
        """Whether the line is down, and not only beginning."""
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
        """Connect, again and again."""
        while True:
            try:
                await self._run_connection()
            except (RedisError, OSError, TimeoutError, ValueError) as error:
                said = str(error) or type(error).__name__
                log.warning("No line to other processes over Redis (%s). It is tried again.", said)
            self._is_up.clear()
            self._outbox.clear()
            self._tried.set()
            _raise_if_cancelled()
            await asyncio.sleep(PAUSE_SECONDS)

    async def _run_connection(self) -> None:
        """Until it breaks or goes silent."""
        client = redis.asyncio.Redis.from_url(
            self._address,
            socket_timeout=SILENCE_SECONDS,
            socket_connect_timeout=SILENCE_SECONDS,
            retry=Retry(NoBackoff(), 0),  # a line that is mended behind our back may have lost messages
        )
        async with client, client.pubsub() as incoming:
            await incoming.subscribe(self._name, BROADCAST_CHANNEL)
            _raise_if_cancelled()
            try:
                await self._run_until_broken(client, incoming)
            finally:
                # Said politely, `aclose` would wait for an answer on a line that may be dead.
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
        """Our first probe came back. After an outage, whatever others told meanwhile has passed us by."""
        was_down = self._tried.is_set()
        self._is_up.set()
        self._tried.set()
        if was_down:
            log.warning("The line to other processes over Redis is back.")
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
    """End here if this task was told to: redis-py uses `wait_for`, which may forget that on Python 3.11."""
    task = asyncio.current_task()
    if task and task.cancelling():
        raise asyncio.CancelledError
