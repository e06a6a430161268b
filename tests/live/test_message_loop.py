"""The loop of a consumer over the messages of its browser and of other processes."""

import asyncio
from collections.abc import Awaitable, Callable
from contextvars import ContextVar
from typing import Any

import pytest
from channels.exceptions import StopConsumer

from turnwise.live.sockets.message_loop import dispatch_messages

pytestmark = pytest.mark.asyncio(loop_scope="session")

Message = dict[str, Any]
language: ContextVar[str] = ContextVar("language", default="none")


def source(*messages: Message) -> tuple[asyncio.Queue[Message], Callable[[], Awaitable[Message]]]:
    queue: asyncio.Queue[Message] = asyncio.Queue()
    for message in messages:
        queue.put_nowait(message)
    return queue, queue.get


async def test_messages_of_both_sources_are_processed_one_at_a_time_in_the_order_of_each() -> None:
    _, browser = source(*({"browser": n} for n in range(20)), {"close": True})
    _, others = source(*({"other": n} for n in range(10)))
    seen: list[Message] = []
    inside = 0

    async def dispatch(message: Message) -> None:
        nonlocal inside
        inside += 1
        assert inside == 1
        await asyncio.sleep(0)
        seen.append(message)
        inside -= 1
        if "close" in message:
            raise StopConsumer

    with pytest.raises(StopConsumer):
        await dispatch_messages([browser, others], dispatch)

    assert [m["browser"] for m in seen if "browser" in m] == list(range(20))
    assert [m["other"] for m in seen if "other" in m] == list(range(10))


async def test_what_a_handler_sets_in_its_context_holds_for_messages_of_the_other_source() -> None:
    browser_queue, browser = source({"set": "es"})
    others_queue, others = source()
    seen: list[str] = []

    async def dispatch(message: Message) -> None:
        if "set" in message:
            language.set(message["set"])
            others_queue.put_nowait({})
        elif "close" in message:
            raise StopConsumer
        else:
            seen.append(language.get())
            browser_queue.put_nowait({"close": True})

    with pytest.raises(StopConsumer):
        await dispatch_messages([browser, others], dispatch)

    assert seen == ["es"]
    assert language.get() == "none"  # of the caller


@pytest.mark.parametrize("failing", [0, 1])
async def test_an_error_of_either_source_ends_the_loop_and_leaves_no_task(failing: int) -> None:
    before = asyncio.all_tasks()
    sources = [source()[1], source()[1]]

    async def fail() -> Message:
        raise ConnectionError("Redis is gone")

    async def dispatch(message: Message) -> None:
        raise AssertionError("No message came.")

    sources[failing] = fail
    with pytest.raises(ConnectionError, match="Redis is gone"):
        await dispatch_messages(sources, dispatch)

    assert asyncio.all_tasks() == before


async def test_a_cancelled_loop_cancels_the_message_in_process() -> None:
    _, browser = source({})
    started, cancelled = asyncio.Event(), asyncio.Event()

    async def dispatch(message: Message) -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            cancelled.set()
            raise

    loop = asyncio.create_task(dispatch_messages([browser], dispatch))
    await started.wait()
    loop.cancel()
    with pytest.raises(asyncio.CancelledError):
        await loop

    assert cancelled.is_set()
