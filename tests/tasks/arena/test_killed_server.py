"""The server is killed after one of the two replies to a message was saved, and before the other."""

import asyncio
from collections.abc import Iterator
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async

from tests.arenas import come, make_arena
from tests.operating.test_two_servers import PATIENCE, Line
from tests.server import Server
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.crowd.entry.sessions import COOKIE, signed
from turnwise.dialogues.models import Battle, Dialogue, Fault, Turn
from turnwise.labels.models import Label

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio]

QUICK, SLOW = "I am ann.", "I am bob."


@pytest.fixture
def server(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    one = Server(tmp_path_factory.mktemp("killed") / "log")
    one.start()
    yield one
    one.end()


async def stored_texts() -> list[list[str]]:
    """Texts of each conversation, in order; the quick bot's first."""
    found = [
        [turn.text async for turn in Turn.objects.filter(dialogue=side).order_by("position")]
        async for side in Dialogue.objects.all()
    ]
    return sorted(found, key=lambda texts: QUICK not in texts)


async def test_the_missing_reply_is_asked_for_again_and_the_other_one_stays(
    server: Server, rex: User
) -> None:
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
        server.end(kill=True)
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
            await back.send(type="vote", battle=1, ask=0, answers={"better": "first"})
        while state["battle"] is not None:
            state = await back.hear("state")
        await back.socket.close()
    assert [label.answers async for label in Label.objects.all()] == [{"better": "first"}]
    assert await Battle.objects.filter(left__ending="complete", right__ending="complete").acount() == 1
