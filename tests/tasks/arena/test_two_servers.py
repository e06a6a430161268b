"""Two web processes on one database: a bot is asked once for both, and again only after one was killed."""

import asyncio
import json
import threading
from collections.abc import Iterator
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async

from tests.arenas import come, make_arena
from tests.chatbots.local_service import Received, Sent, running
from tests.operating.test_two_servers import PATIENCE, Line
from tests.server import Server
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.crowd.entry.sessions import COOKIE, signed
from turnwise.dialogues.models import Battle, Dialogue, Fault, Turn
from turnwise.labels.models import Label

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio]

QUICK, SLOW = "I am ann.", "I am bob."


@pytest.fixture(scope="module")
def servers(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Server]]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("TURNWISE_ALLOWED_NETWORKS", "127.0.0.0/8")
        two = [Server(tmp_path_factory.mktemp(name) / "log") for name in ("first", "second")]
        for server in two:
            server.start()
        yield two
        for server in two:
            server.end()


async def stored_texts() -> list[list[str]]:
    """Texts of each conversation, in order; the quick bot's first."""
    found = [
        [turn.text async for turn in Turn.objects.filter(dialogue=side).order_by("position")]
        async for side in Dialogue.objects.all()
    ]
    return sorted(found, key=lambda texts: QUICK not in texts)


async def test_the_missing_reply_is_asked_for_again_and_the_other_one_stays(
    servers: list[Server], rex: User
) -> None:
    server = servers[0]
    script = {"replies": [SLOW], "hang_on": [1], "hang_seconds": 3600}
    study = await sync_to_async(make_arena)(rex, scripts={"bob": script}, each=1)
    person = await sync_to_async(come)(study)
    path, cookie = f"/ws/arena/{study.code}/", f"{COOKIE}={signed(person)}"
    message = {"type": "turn", "battle": 1, "key": str(uuid4()), "text": "Hello!"}
    async with asyncio.timeout(PATIENCE):
        line = await Line.to(server, path, cookie)
        await line.send(**message)
        while await stored_texts() != [["Hello!", QUICK], ["Hello!"]]:
            await asyncio.sleep(0.05)
        server.end(kill=True)  # with its lease, which expires by itself
        await Bot.objects.filter(name="bob").aupdate(configuration={"replies": [SLOW]})
        server.start()

        back = await Line.to(server, path, cookie)
        await back.send(**message)  # as the page does, which has no answer to it
        state = await back.hear("state")
        while not state["may_vote"]:
            assert state["turns"][0]["replies"] is None
            state = await back.hear("state")
        replies = [each["text"] for each in state["turns"][0]["replies"]]
        assert sorted(replies) == [QUICK, SLOW]
        assert await stored_texts() == [["Hello!", QUICK], ["Hello!", SLOW]]
        assert not await Fault.objects.aexists()

        for _ in range(2):  # sent again after a lost connection
            await back.send(type="vote", battle=1, exchange=1, ask=0, answers={"better": "first"})
        while state["battle"] is not None:
            state = await back.hear("state")
        await back.socket.close()
    assert [label.answers async for label in Label.objects.all()] == [{"better": "first"}]
    assert await Battle.objects.filter(left__ending="complete", right__ending="complete").acount() == 1


async def test_a_tab_on_another_server_waits_for_the_reply_that_is_paid_for(
    servers: list[Server], rex: User
) -> None:
    is_released = threading.Event()
    body = json.dumps({"choices": [{"message": {"role": "assistant", "content": SLOW}}]}).encode()
    asked: list[str] = []

    def answer(received: Received) -> Sent:
        asked.append(received.json["messages"][-1]["content"])
        return Sent(parts=[is_released, body] if asked[-1] == "Hello!" else [body])  # a loaded bot is greeted

    with running(answer) as service:
        study = await sync_to_async(make_arena)(rex, each=1)
        chat = {"base_url": f"{service.url}/v1", "model": "slow", "stream": False}
        await Bot.objects.filter(name="bob").aupdate(adapter="openai-chat", configuration=chat)
        person = await sync_to_async(come)(study)
        path, cookie = f"/ws/arena/{study.code}/", f"{COOKIE}={signed(person)}"
        message = {"type": "turn", "battle": 1, "key": str(uuid4()), "text": "Hello!"}
        async with asyncio.timeout(PATIENCE):
            first = await Line.to(servers[0], path, cookie)
            await first.send(**message)
            while "Hello!" not in asked or await stored_texts() != [["Hello!", QUICK], ["Hello!"]]:
                await asyncio.sleep(0.05)

            second = await Line.to(servers[1], path, cookie)
            assert (await second.hear("state"))["thinking"]
            for frame in (message, {"type": "retry", "battle": 1}):
                await second.send(**frame)
                assert (await second.hear("state"))["thinking"]
            is_released.set()
            for line in (first, second):
                while not (state := await line.hear("state"))["may_vote"]:
                    pass
                assert sorted(each["text"] for each in state["turns"][0]["replies"]) == [QUICK, SLOW]
                await line.socket.close()
    assert asked.count("Hello!") == 1
    assert await stored_texts() == [["Hello!", QUICK], ["Hello!", SLOW]]
    assert not await Fault.objects.aexists()
