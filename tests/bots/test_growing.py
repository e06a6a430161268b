"""Replies that grow in another process, over the real Channels layer."""

import asyncio
import json
import signal
from collections.abc import Awaitable, Callable

import pytest
from asgiref.sync import sync_to_async
from pytest_django.fixtures import Settings

from chatbots.base import Context
from chatbots.errors import BotFailedError, BotLateError
from tests.bots.conftest import StartHost
from tests.chatbots.growing import EMOJI, LONG
from turnwise.bots.hosting import client, presence
from turnwise.bots.hosting.growth import GrowthDecoder, GrowthEncoder, PartialReply
from turnwise.bots.hosting.remote import bot_client
from turnwise.bots.models import Bot
from turnwise.bots.services import register_bot
from turnwise.live.sockets import newest
from turnwise.live.sockets.newest import NewestSender, fair_pause

pytestmark = pytest.mark.django_db(transaction=True)
HELLO = Context.from_texts(["Hello"])
PACE = {"characters_per_second": 2000}


@pytest.fixture
def _elsewhere(settings: Settings) -> None:
    settings.BOTS_HERE = frozenset()


def scripted(**configuration: object) -> Bot:
    return register_bot(
        name="far",
        title="Far",
        adapter="scripted",
        configuration={"replies": [LONG[:2000]]} | PACE | configuration,
    )


@pytest.mark.usefixtures("_elsewhere")
@pytest.mark.parametrize("text", [EMOJI, LONG[:2000]])
async def test_a_reply_of_another_process_grows(start_host: StartHost, text: str) -> None:
    bot = await sync_to_async(scripted)(
        replies=[text], seconds=0.1, characters_per_second=max(100, len(text))
    )
    await sync_to_async(start_host)("far")
    partials: list[PartialReply] = []

    reply = await client.reply(bot.pk, HELLO, on_partial=partials.append)

    assert reply.response.text == text
    assert len(partials) > 1
    assert all(text.startswith(partial.text) for partial in partials)
    assert {partial.version_id for partial in partials} == {reply.version_id}


async def test_a_reply_of_this_process_grows() -> None:
    bot = await sync_to_async(scripted)()
    partials: list[PartialReply] = []

    reply = await client.reply(bot.pk, HELLO, on_partial=partials.append)

    assert len(partials) > 1
    assert all(reply.response.text.startswith(partial.text) for partial in partials)


@pytest.mark.usefixtures("_elsewhere")
async def test_a_killed_host_in_the_middle_of_a_reply_costs_no_reply(
    start_host: StartHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presence, "BACK_WITHIN_SECONDS", 600)
    bot = await sync_to_async(scripted)(characters_per_second=500)
    process = await sync_to_async(start_host)("far")
    partials: list[PartialReply] = []
    asking = asyncio.create_task(client.reply(bot.pk, HELLO, on_partial=partials.append))
    while not partials:
        await asyncio.sleep(0.02)

    await sync_to_async(process.end)(signal.SIGKILL)
    await sync_to_async(start_host)("far")

    assert (await asking).response.text == LONG[:2000]
    shortest = min(range(len(partials)), key=lambda number: len(partials[number].text))
    assert shortest >= 0  # the second host has begun anew
    assert all(LONG.startswith(partial.text) for partial in partials)


@pytest.mark.usefixtures("_elsewhere")
async def test_a_cancelled_caller_ends_the_reply_in_the_other_process(start_host: StartHost) -> None:
    bot = await sync_to_async(scripted)(characters_per_second=50)
    await sync_to_async(start_host)("far")
    partials: list[PartialReply] = []
    asking = asyncio.create_task(client.reply(bot.pk, HELLO, on_partial=partials.append))
    while not partials:
        await asyncio.sleep(0.02)

    asking.cancel()
    await asyncio.gather(asking, return_exceptions=True)

    sender, received = await bot_client(), len(partials)
    assert not sender._requests
    assert not sender._growing
    await asyncio.sleep(0.3)
    assert len(partials) == received


@pytest.mark.usefixtures("_elsewhere")
async def test_a_reply_that_grows_may_take_longer_than_one_that_shows_nothing(start_host: StartHost) -> None:
    bot = await sync_to_async(scripted)(replies=["x" * 300], characters_per_second=100)
    await sync_to_async(start_host)("far")

    reply = await client.reply(bot.pk, HELLO, deadline=1.0, on_partial=lambda _: None)
    with pytest.raises(BotLateError):
        await client.reply(bot.pk, HELLO, deadline=1.0)

    assert len(reply.response.text) == 300


@pytest.mark.usefixtures("_elsewhere")
async def test_a_planned_failure_ends_a_growing_reply(start_host: StartHost) -> None:
    bot = await sync_to_async(scripted)(fail_on=[1])
    await sync_to_async(start_host)("far")

    with pytest.raises(BotFailedError, match="Turn 1 was configured to fail"):
        await client.reply(bot.pk, HELLO, on_partial=lambda _: None)


def test_items_hold_only_the_new_part_and_survive_json() -> None:
    texts = [EMOJI[:7], EMOJI, EMOJI[:7], "Another", "Another text"]
    encoder, received = GrowthEncoder(), list[PartialReply]()
    decoder = GrowthDecoder(received.append)

    items = [encoder.encode(PartialReply(text, 5)) for text in texts]
    for item in items:
        decoder.decode(json.loads(json.dumps(item)))

    assert [partial.text for partial in received] == texts
    assert items[1]["text"] == EMOJI[7:]
    assert (items[2]["offset"], items[2]["text"]) == (7, "")


def test_nothing_is_shown_after_a_lost_item() -> None:
    encoder, received = GrowthEncoder(), list[PartialReply]()
    decoder = GrowthDecoder(received.append)
    items = [encoder.encode(PartialReply(text, 5)) for text in ("One", "One two", "One two three")]

    decoder.decode(items[0])
    decoder.decode(items[2])

    assert [partial.text for partial in received] == ["One"]


def slow_receiver() -> tuple[list[int], asyncio.Event, Callable[[int], Awaitable[None]]]:
    sent, is_free = list[int](), asyncio.Event()

    async def send(value: int) -> None:
        sent.append(value)
        await is_free.wait()

    return sent, is_free, send


async def test_a_slow_receiver_gets_the_newest_value() -> None:
    sent, is_free, send = slow_receiver()
    sender = NewestSender(send, lambda: 0.0)
    for value in range(100):
        sender.put(value)
        await asyncio.sleep(0)
    is_free.set()
    while len(sent) < 2:
        await asyncio.sleep(0)
    await sender.close()

    assert sent == [0, 99]


async def test_nothing_is_sent_after_the_end() -> None:
    sent, is_free, send = slow_receiver()
    sender = NewestSender(send, lambda: 60.0)
    sender.put(1)
    await asyncio.sleep(0)
    sender.put(2)
    closing = asyncio.create_task(sender.close())
    await asyncio.sleep(0)
    assert not closing.done()  # the first value is still being sent
    is_free.set()
    await closing
    sender.put(3)
    await asyncio.sleep(0)

    assert sent == [1]


async def test_an_error_while_sending_does_not_end_the_sending() -> None:
    sent: list[int] = []

    async def send(value: int) -> None:
        if value == 1:
            raise OSError("The line is broken.")
        sent.append(value)

    sender = NewestSender(send, lambda: 0.0)
    sender.put(1)
    await asyncio.sleep(0)
    sender.put(2)
    while not sent:
        await asyncio.sleep(0)
    await sender.close()

    assert sent == [2]


async def test_many_senders_leave_each_other_time() -> None:
    """200 replies that grow at once must not keep the event loop from the messages of those who talk."""
    is_free = asyncio.Event()

    async def send(_value: int) -> None:
        await is_free.wait()

    alone = fair_pause()
    senders = [NewestSender(send) for _ in range(200)]
    for sender in senders:
        sender.put(1)
    await asyncio.sleep(0)
    together = fair_pause()
    is_free.set()
    await asyncio.gather(*(sender.close() for sender in senders))

    assert alone == newest.SHORTEST_PAUSE
    assert together == 200 / newest.SENT_PER_SECOND
    assert fair_pause() == alone
