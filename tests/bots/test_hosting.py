"""Bots in other processes: real ones, over the real Channels layer."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest
from asgiref.sync import sync_to_async
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.db.models.functions import Now
from django.test import Client
from pytest_django.fixtures import Settings

from chatbots.base import Context
from chatbots.errors import BotFailedError, BotLateError, BotNotHostedError
from chatbots.hosting import requests
from chatbots.hosting.health import State
from chatbots.replies import ReplyOutcome
from tests.bots.conftest import ROOT, StartHost
from tests.chatbots.local_service import Sent, running
from tests.conftest import PATIENCE, MakeStudy, enter
from turnwise.accounts.models import User
from turnwise.bots.hosting import client, presence, resident_bots
from turnwise.bots.hosting.host_process import Hosting
from turnwise.bots.hosting.remote import CLIENTS_GROUP, bot_client
from turnwise.bots.models import Bot, BotCopy, BotVersion
from turnwise.bots.services import change_bot, register_bot
from turnwise.crowd.models import Assignment
from turnwise.crowd.places.assignment import assign
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.live.sockets.layer import process_layer

pytestmark = pytest.mark.django_db(transaction=True)
HELLO = Context.from_texts(["Hello"])


@pytest.fixture(autouse=True)
def _nothing_is_hosted_here(settings: Settings) -> None:
    settings.BOTS_HERE = frozenset()


def scripted(name: str = "far", **configuration: object) -> Bot:
    return register_bot(
        name=name,
        title=name.title(),
        adapter="scripted",
        configuration={"replies": ["Hello!"]} | configuration,
    )


async def test_a_bot_of_another_process_answers_with_its_version(start_host: StartHost) -> None:
    bot = await sync_to_async(scripted)()
    await sync_to_async(start_host)("far")

    reply = await client.reply(bot.pk, HELLO)

    assert reply.response.text == "Hello!"
    version = await BotVersion.objects.aget(pk=reply.version_id)
    assert version.details["configuration"]["replies"] == ["Hello!"]


async def test_many_callers_at_once_each_get_their_own_answer(start_host: StartHost) -> None:
    bot = await sync_to_async(scripted)(replies=[f"Reply {n}" for n in range(1, 41)])
    await sync_to_async(start_host)("far")

    contexts = [Context.from_texts(["x"] * (2 * n - 1)) for n in range(1, 41)]  # n human turns each
    replies = await asyncio.gather(*[client.reply(bot.pk, context) for context in contexts])

    assert [reply.response.text for reply in replies] == [f"Reply {n}" for n in range(1, 41)]


async def test_callers_who_come_while_the_directory_is_read_find_the_host_as_the_first_does(
    start_host: StartHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    bot = await sync_to_async(scripted)()
    await sync_to_async(start_host)("far")
    monkeypatch.setattr(
        client, "DIRECTORY", presence.Directory()
    )  # as in a process that has asked nobody yet

    replies = await asyncio.gather(*[client.reply(bot.pk, HELLO) for _ in range(20)])

    assert [reply.response.text for reply in replies] == ["Hello!"] * 20


async def test_an_error_keeps_its_name_and_words_on_its_way(start_host: StartHost) -> None:
    bot = await sync_to_async(scripted)(fail_on=[1])
    await sync_to_async(start_host)("far")

    with pytest.raises(BotFailedError, match="Turn 1 was configured to fail"):
        await client.reply(bot.pk, HELLO)


async def test_what_a_filter_did_in_another_process_is_told(start_host: StartHost) -> None:
    inner = {"adapter": "scripted", "configuration": {"replies": ["I have told you all of this before"]}}
    settings = {"bot": inner, "fallbacks": ["What else is new?"]}
    bot = await sync_to_async(register_bot)(
        name="far", title="Far", adapter="repetition-filter", configuration=settings
    )
    await sync_to_async(start_host)("far")

    reply = await client.reply(bot.pk, Context.from_texts(["I have told you all of this before"]))

    assert reply.response.text == "What else is new?"
    assert reply.response.outcome is ReplyOutcome.FALLBACK
    assert reply.response.remarks == (
        "repetition-filter: every candidate repeats an earlier turn; said a fallback",
    )


async def test_no_host_is_said_with_the_cure_and_without_waiting_for_the_deadline() -> None:
    bot = await sync_to_async(scripted)()

    with pytest.raises(BotNotHostedError, match=r"not hosted anywhere.*hostbots far"):
        await client.reply(bot.pk, HELLO, deadline=3600)


async def served_of_copies(wanted: int) -> list[int]:
    """What each copy has answered, once their processes have announced that it is so many in all."""
    while True:
        served = [copy.health["served"] async for copy in BotCopy.objects.all()]
        if sum(served) == wanted:
            return served
        await asyncio.sleep(0.05)


async def test_a_bot_that_fails_elsewhere_is_not_called_unhosted() -> None:
    bot = await sync_to_async(scripted)()
    await BotCopy.objects.acreate(
        bot=bot, channel="x", host="gpu 7", state="failed", seen_at=Now(),
        health={"last_error": "File of the bot\nOSError: no weights in /srv/m"},
    )  # fmt: skip

    with pytest.raises(BotFailedError, match=r"Far could not be loaded at gpu 7\. Last error: OSError: no"):
        await client.reply(bot.pk, HELLO)


async def test_two_hosts_share_the_load_of_one_bot(start_host: StartHost) -> None:
    bot = await sync_to_async(scripted)(seconds=0.05)
    await sync_to_async(start_host)("far")
    await sync_to_async(start_host)("far", copies=2)

    await asyncio.gather(*[client.reply(bot.pk, HELLO) for _ in range(20)])

    assert await served_of_copies(20) == [10, 10]


async def test_its_page_shows_what_a_bot_did_in_each_process(
    start_host: StartHost, rex: User, sign_in: Callable[[User], Client]
) -> None:
    bot = await sync_to_async(scripted)()
    await sync_to_async(start_host)("far")
    for _ in range(3):
        await client.reply(bot.pk, HELLO)
    await served_of_copies(3)

    page = await sync_to_async(lambda: sign_in(rex).get("/bots/far/").content.decode())()

    assert "<dt>Answered</dt><dd>3</dd>" in page
    assert '<th scope="row">1</th><td>3</td>' in page  # one context at once, three times
    times = re.findall(r'<th scope="row">(?:up to|over) [\d.]+\ss</th><td>(\d+)</td>', page)
    assert (len(times), sum(map(int, times))) == (9, 3)


async def test_a_host_that_says_goodbye_is_asked_no_more(start_host: StartHost) -> None:
    bot = await sync_to_async(scripted)()
    process = await sync_to_async(start_host)("far")
    await client.reply(bot.pk, HELLO)

    assert await sync_to_async(process.end)() == 0
    await sync_to_async(presence.DIRECTORY.read)()

    with pytest.raises(BotNotHostedError):
        await client.reply(bot.pk, HELLO)


async def test_who_waits_for_a_killed_host_hears_the_one_started_in_its_place(
    start_host: StartHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Another host is there within seconds, but not on a machine with other work.
    monkeypatch.setattr(presence, "BACK_WITHIN_SECONDS", 3 * PATIENCE)
    bot = await sync_to_async(scripted)(seconds=1)
    process = await sync_to_async(start_host)("far")
    heard: list[str] = []

    async def on_loading() -> None:
        heard.append("it is starting")

    waiting = asyncio.create_task(client.reply(bot.pk, HELLO, on_loading=on_loading))
    await asyncio.sleep(0.3)  # by now it computes
    await sync_to_async(process.end)(signal.SIGKILL)
    while not heard:
        await asyncio.sleep(0.05)
        assert not waiting.done()
    assert not await BotCopy.objects.aexists()  # whoever assigns bots knows, too
    await sync_to_async(start_host)("far")

    assert (await waiting).response.text == "Hello!"


async def test_a_killed_host_that_nobody_replaces_is_said_within_its_deadline(
    start_host: StartHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(presence, "BACK_WITHIN_SECONDS", 0.2)
    bot = await sync_to_async(scripted)()
    process = await sync_to_async(start_host)("far")
    await sync_to_async(process.end)(signal.SIGKILL)

    with pytest.raises(BotNotHostedError, match=r"manage\.py hostbots far"):
        await client.reply(bot.pk, HELLO)


async def test_who_gives_it_longer_hears_a_slow_bot_of_another_process(
    start_host: StartHost, settings: Settings
) -> None:
    settings.BOT_DEADLINE_SECONDS = 0.2
    bot = await sync_to_async(scripted)(seconds=0.6)
    await sync_to_async(start_host)("far")

    with pytest.raises(BotLateError):
        await client.reply(bot.pk, HELLO)
    assert (await client.reply(bot.pk, HELLO, deadline=30)).response.text == "Hello!"


async def test_a_bot_with_a_longer_limit_of_its_own_is_waited_for(
    start_host: StartHost, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TURNWISE_ALLOWED_NETWORKS", "127.0.0.0/8")
    settings.BOT_DEADLINE_SECONDS = 0.2
    reply = json.dumps({"choices": [{"message": {"role": "assistant", "content": "Hello!"}}]}).encode()
    with running(lambda received: Sent(parts=[0.6, reply])) as service:
        configuration = {"base_url": service.url, "model": "m", "stream": False}
        bot = await sync_to_async(register_bot)(
            name="slow", title="Slow", adapter="openai-chat", configuration=configuration
        )
        await sync_to_async(start_host)("slow")

        assert (await client.reply(bot.pk, HELLO)).response.text == "Hello!"

        hosted = await sync_to_async(resident_bots.host)(bot)
        assert hosted.resident.deadline == 60


async def test_who_asks_while_the_line_breaks_asks_again_once_it_is_back(start_host: StartHost) -> None:
    """What the host answered meanwhile may be lost; without that they would wait until the deadline."""
    bot = await sync_to_async(scripted)(seconds=1.0)
    await sync_to_async(start_host)("far")
    waiting = asyncio.create_task(client.reply(bot.pk, HELLO, deadline=600))
    sender = await bot_client()
    while not sender._requests:
        await asyncio.sleep(0.01)
    first = set(sender._requests)

    await process_layer().group_send(CLIENTS_GROUP, {"type": "layer.restored"})

    while set(sender._requests) <= first:
        await asyncio.sleep(0.01)
        assert not waiting.done()
    assert (await waiting).response.text == "Hello!"


def test_a_host_that_dies_is_started_again_and_ends_with_who_started_it(start_host: StartHost) -> None:
    scripted()
    keeper = start_host("far", once=False)
    (first,) = psutil.Process(keeper.process.pid).children()
    first.kill()
    copies = BotCopy.objects.filter(state="ready", host__endswith=str(first.pid))
    deadline = time.monotonic() + 3 * PATIENCE
    while not BotCopy.objects.filter(state="ready").exclude(pk__in=copies).exists():
        assert time.monotonic() < deadline, keeper.said()
        time.sleep(0.05)
    (second,) = psutil.Process(keeper.process.pid).children()

    assert keeper.end() == 0
    assert not second.is_running()
    assert "The host of bots ended (signal SIGKILL). Starting it again now." in keeper.said()


def test_an_empty_name_as_of_an_empty_setting_is_nobodys(start_host: StartHost) -> None:
    scripted()

    assert "ended" not in start_host("", once=False).said()


def test_an_unknown_name_is_refused_with_the_known_ones() -> None:
    scripted()

    with pytest.raises(CommandError, match=r"No bot is called fra\. Known: far"):
        call_command("hostbots", "fra")


def test_workers_are_not_sent_to_a_bot_that_nobody_hosts(
    start_host: StartHost, make_study: MakeStudy
) -> None:
    study = make_study({"here": 100, "nowhere": 100})
    start_host("here")

    places = [assign(enter(study).pk) for _ in range(4)]

    assert [place.study_bot.bot.name for place in places if place.study_bot] == ["here"] * 4


def test_a_worker_hears_that_no_bot_is_running_and_keeps_the_place(make_study: MakeStudy) -> None:
    participation = enter(make_study())

    with pytest.raises(EntryRefusedError, match="None of the chatbots") as refusal:
        assign(participation.pk)

    assert refusal.value.status == 503
    assert not Assignment.objects.exists()


# --- what one process does with its bots ---


@pytest.fixture
def _hosting(settings: Settings) -> Iterator[None]:
    settings.BOTS_HERE = None
    yield
    resident_bots.close()


def tended(bot: Bot) -> resident_bots.HostedBot:
    resident_bots.update_hosted_bots()
    hosted = resident_bots.hosted_here(bot.pk)
    assert hosted
    hosted.resident.wait_loaded(30)
    return hosted


@pytest.mark.usefixtures("_hosting")
def test_a_changed_configuration_is_loaded_and_an_inactive_bot_let_go() -> None:
    bot = scripted()
    first = tended(bot)
    assert tended(bot) is first

    Bot.objects.update(configuration={"replies": ["Changed."]})
    assert tended(bot).resident.respond_now(HELLO).text == "Changed."
    assert first.resident.state is State.CLOSED

    Bot.objects.update(active=False)
    resident_bots.update_hosted_bots()
    assert resident_bots.hosted_bots() == []


@pytest.mark.usefixtures("_hosting")
async def test_a_caller_of_another_process_who_leaves_takes_the_request_along() -> None:
    bot = await sync_to_async(scripted)(hang_on=[1], hang_seconds=3600)
    async with Hosting():
        resident = (await sync_to_async(tended)(bot)).resident
        channel = presence.DIRECTORY.own_channel
        while not channel:
            await asyncio.sleep(0.01)
            channel = presence.DIRECTORY.own_channel
        copy = presence.Copy(bot.pk, channel, "here", State.READY, reply_seconds=0.0)
        line = await bot_client()
        first, second = (
            asyncio.create_task(line.ask(copy, HELLO, deadline=3600, tenant=None)) for _ in range(2)
        )
        while resident.waiting < 2:
            await asyncio.sleep(0.01)

        second.cancel()
        async with asyncio.timeout(120):
            while resident.waiting > 1:  # the first has begun
                await asyncio.sleep(0.01)
        first.cancel()


@pytest.mark.usefixtures("_hosting")
def test_a_bot_that_was_given_longer_is_not_stuck_before(settings: Settings) -> None:
    settings.BOT_DEADLINE_SECONDS = 0.1
    slow = tended(scripted(seconds=1.0)).resident
    with ThreadPoolExecutor(1) as thread:
        waiting = thread.submit(slow.respond_now, HELLO, deadline=30)
        time.sleep(0.5)  # twice the deadline is long over

        assert slow.state is State.READY
        assert waiting.result().text == "Hello!"


@pytest.mark.usefixtures("_hosting")
def test_a_bot_that_could_not_be_loaded_is_loaded_again_though_nobody_asks() -> None:
    bot = scripted()
    Bot.objects.update(configuration={"replies": []})
    first = tended(bot)
    assert first.resident.state is State.FAILED
    resident_bots.update_hosted_bots()
    assert resident_bots.hosted_bots() == [first]  # not at once

    first.since -= 1.1 * resident_bots.RELOAD_SECONDS
    second = tended(bot)
    assert second is not first
    second.since -= 1.1 * resident_bots.RELOAD_SECONDS  # twice as long from now on
    resident_bots.update_hosted_bots()
    assert resident_bots.hosted_bots() == [second]


@pytest.mark.usefixtures("_hosting")
async def test_a_bot_that_kept_failing_is_found_well_again_though_nobody_asks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(requests, "FIRST_BACKOFF_SECONDS", 0.1)
    monkeypatch.setattr(presence, "ANNOUNCED_EVERY_SECONDS", 0.1)
    bot = await sync_to_async(scripted)(fail_on=[1], fail_times=requests.FAILURES_TO_OPEN)
    async with Hosting():
        for _ in range(requests.FAILURES_TO_OPEN):
            with pytest.raises(BotFailedError):
                await client.reply(bot.pk, HELLO)
        hosted = resident_bots.hosted_here(bot.pk)
        assert hosted
        assert hosted.resident.state is State.FAILING

        async with asyncio.timeout(120):
            while hosted.resident.state is State.FAILING:
                await asyncio.sleep(0.05)

        assert hosted.resident.state is State.READY
        assert (await client.reply(bot.pk, HELLO)).response.text == "Hello!"


@pytest.mark.usefixtures("_hosting")
def test_a_bot_that_hangs_is_left_behind_and_answers_again(settings: Settings) -> None:
    settings.BOT_DEADLINE_SECONDS = 0.2
    bot = scripted(hang_on=[1], hang_seconds=5)
    hung = tended(bot)
    with pytest.raises(BotLateError):
        hung.resident.respond_now(HELLO)
    time.sleep(0.3)
    assert hung.resident.state is State.STUCK

    fresh = tended(bot)

    assert fresh is not hung
    third = Context.from_texts(["Hello", "?", "Again"])
    assert fresh.resident.respond_now(third, deadline=30).text == "Hello!"
    assert not resident_bots.needs_new_process()


@pytest.mark.usefixtures("_hosting")
def test_a_bot_past_the_memory_budget_is_refused_with_figures(settings: Settings) -> None:
    settings.BOT_MEMORY_BYTES = 10_000_000_000
    bot = scripted()
    Bot.objects.update(memory_bytes=12_000_000_000)

    hosted = tended(bot)

    assert hosted.resident.state is State.FAILED
    with pytest.raises(BotFailedError, match=r"Far needs 12,000\sMB; .* and may hold 10,000\sMB"):
        hosted.resident.respond_now(HELLO)


def test_what_was_measured_with_other_settings_is_forgotten() -> None:
    bot = scripted()
    Bot.objects.update(memory_bytes=12_000_000_000)

    change_bot(bot.pk, title="Far", configuration={"replies": ["Hello!"]}, by=None)
    assert Bot.objects.get().memory_bytes == 12_000_000_000
    change_bot(bot.pk, title="Far", configuration={"replies": ["Smaller."]}, by=None)
    assert Bot.objects.get().memory_bytes is None


def test_a_host_without_a_database_says_which_setting_is_missing() -> None:
    done = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "hostbots"],
        env=os.environ | {"DATABASE_URL": "postgresql:///none?host=/nowhere"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 1
    [line] = done.stderr.splitlines()
    assert line.startswith("CommandError: PostgreSQL does not answer")
    assert line.endswith("Set DATABASE_URL and REDIS_URL to those of the web server.")


@pytest.mark.usefixtures("_hosting")
def test_the_memory_of_a_loaded_bot_is_remembered() -> None:
    bot = scripted()

    tended(bot)

    bot.refresh_from_db()
    assert bot.memory_bytes is not None
    assert bot.memory_bytes < 100_000_000


@sync_to_async
def wait_until(is_so: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE
    while not is_so():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def is_announcing() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_stat_activity"
            " WHERE state = 'active' AND query LIKE 'INSERT INTO \"bots_botcopy\"%'"
        )
        return bool(cursor.fetchone()[0])


async def test_a_process_that_ends_while_it_announces_its_bots_announces_none_afterwards(
    settings: Settings,
) -> None:
    settings.BOTS_HERE = None
    bot = await sync_to_async(scripted)()
    hold, held = threading.Event(), threading.Event()

    def hold_bot() -> None:
        """Hold the bot's row, for which the announcement waits with its last statement."""
        try:
            with transaction.atomic():
                Bot.objects.select_for_update().get(pk=bot.pk)
                held.set()
                assert hold.wait(PATIENCE)
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        holding = pool.submit(hold_bot)
        assert await asyncio.to_thread(held.wait, PATIENCE)
        hosting = Hosting()
        await hosting.__aenter__()
        await wait_until(is_announcing)
        ending = asyncio.create_task(hosting.__aexit__(None, None, None))
        await asyncio.wait([ending], timeout=1)
        hold.set()
        await asyncio.to_thread(holding.result)
        await ending

    await wait_until(lambda: not is_announcing())
    assert not await BotCopy.objects.aexists()
