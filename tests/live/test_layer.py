"""Messages between sockets and processes, over a Redis that is killed, frozen and started again."""

import asyncio
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from turnwise.live.sockets import layer as layers
from turnwise.live.sockets.layer import Message, RedisPubSubLayer
from turnwise.project.supervision.embedded import Redis


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Redis]:
    server = Redis(tmp_path / "redis")
    server.start()
    yield server
    server.stop()


@pytest.fixture(autouse=True)
def _soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layers, "PROBE_SECONDS", 0.1)
    monkeypatch.setattr(layers, "SILENCE_SECONDS", 0.5)
    monkeypatch.setattr(layers, "PAUSE_SECONDS", 0.05)


class Process:
    """What a process has: a layer, and a tab in the group that all tests use."""

    def __init__(self, server: Redis) -> None:
        self.layer = RedisPubSubLayer(server.url)

    async def open_tab(self) -> str:
        self.tab = await self.layer.new_channel()
        await self.layer.group_add("dialogue.1", self.tab)
        return self.tab

    async def next(self) -> Message:
        async with asyncio.timeout(120):
            return await self.layer.receive(self.tab)

    async def next_of(self, kind: str) -> Message:
        while (message := await self.next())["type"] != kind:
            pass
        return message

    async def tell(self, text: str) -> None:
        await self.layer.group_send("dialogue.1", {"type": "tab.frame", "text": text})


@pytest.fixture
async def two(server: Redis) -> tuple[Process, Process]:
    """Two processes that are connected, each with a tab."""
    here, there = Process(server), Process(server)
    for process in (here, there):
        await process.open_tab()
        assert await process.layer.is_connected()
    return here, there


async def test_a_tab_in_another_process_hears_what_is_told(two: tuple[Process, Process]) -> None:
    here, there = two

    for text in ("one", "two"):
        await here.tell(text)

    assert [(await there.next())["text"] for _ in range(2)] == ["one", "two"]
    assert (await here.next())["text"] == "one"  # those of one's own process hear it, too, and once


async def test_a_message_to_one_channel_reaches_it_wherever_it_is(two: tuple[Process, Process]) -> None:
    here, there = two

    await here.layer.send(there.tab, {"type": "tab.here"})
    await here.layer.send(here.tab, {"type": "tab.here"})

    assert await there.next() == await here.next() == {"type": "tab.here"}


async def test_without_redis_a_tab_opens_at_once_and_those_of_its_process_hear_each_other(
    server: Redis,
) -> None:
    server.stop()
    here = Process(server)

    await here.open_tab()
    await here.tell("still here")

    assert (await here.next())["text"] == "still here"
    assert not await here.layer.is_connected()


async def test_who_has_patience_hears_that_the_line_is_back(
    server: Redis, two: tuple[Process, Process]
) -> None:
    here, _ = two
    assert server.process
    server.process.kill()
    while await here.layer.is_connected():
        await asyncio.sleep(0.02)
    waiting = asyncio.create_task(here.layer.is_connected(patience=600))

    await asyncio.to_thread(server.process.wait)
    await asyncio.to_thread(server.start)

    assert await waiting


@pytest.mark.parametrize("fault", [signal.SIGKILL, signal.SIGSTOP])
async def test_after_a_crash_or_a_freeze_of_redis_tabs_are_told_and_hear_each_other_again(
    server: Redis, two: tuple[Process, Process], fault: signal.Signals
) -> None:
    here, there = two
    assert server.process
    server.process.send_signal(fault)
    while await here.layer.is_connected() or await there.layer.is_connected():  # noticed without any message
        await asyncio.sleep(0.02)
    await here.tell("lost")

    if fault == signal.SIGSTOP:
        server.process.send_signal(signal.SIGCONT)
    else:
        await asyncio.to_thread(server.process.wait)
        await asyncio.to_thread(server.start)

    assert (await here.next())["text"] == "lost"  # not for those of its own process
    assert await here.next() == await there.next() == {"type": "layer.restored"}
    await here.tell("found")
    assert (await there.next())["text"] == "found"


async def test_thirty_crashes_leave_no_layer_hanging(server: Redis, two: tuple[Process, Process]) -> None:
    here, there = two
    for number in range(30):
        assert server.process
        server.process.kill()
        await asyncio.gather(*(process.tell("into the crash") for process in two))
        await asyncio.to_thread(server.process.wait)
        await asyncio.to_thread(server.start)
        for process in two:
            await process.next_of("layer.restored")
        await here.layer.send(there.tab, {"type": "tab.number", "number": number})
        assert (await there.next_of("tab.number"))["number"] == number


async def test_a_channel_whose_tab_has_gone_keeps_nothing(two: tuple[Process, Process]) -> None:
    here, _ = two
    loop_layer = here.layer.here()
    waiting = asyncio.ensure_future(here.layer.receive(here.tab))
    await asyncio.sleep(0)

    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    await here.layer.group_discard("dialogue.1", here.tab)
    await here.tell("to nobody")

    assert not loop_layer._queues
    assert not loop_layer.groups
