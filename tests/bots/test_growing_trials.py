"""*Try it*: the reply in lines of JSON as it grows, and on the page."""

import json
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient

from chatbots.hosting.response_checks import clean_text
from tests.chatbots.growing import EMOJI, LONG
from tests.conftest import PATIENCE
from turnwise.accounts.models import User
from turnwise.bots import trial
from turnwise.bots.hosting import resident_bots
from turnwise.bots.models import Bot
from turnwise.bots.services import register_bot

pytestmark = pytest.mark.django_db(transaction=True)
WHOLE = clean_text(f"{EMOJI} {LONG[:600]}").strip()


def writer(owner: User, **settings: Any) -> Bot:
    """A loaded bot that writes its reply in a second."""
    script = {"replies": [WHOLE], "characters_per_second": len(WHOLE)} | settings
    bot = register_bot(name="writer", title="Writer", adapter="scripted", configuration=script, owner=owner)
    resident_bots.host(bot).resident.wait_loaded(PATIENCE)
    return bot


async def lines_of(client: AsyncClient) -> list[dict[str, Any]]:
    """The lines of the answer to a message."""
    answer = await client.post(
        "/bots/writer/try/reply/",
        json.dumps({"turns": ["Hello"], "seed": 3}),
        content_type="application/json",
        headers={"Accept": "application/x-ndjson"},
    )
    assert answer.status_code == 200
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    sent = b"".join([part async for part in answer])
    return [json.loads(line) for line in sent.splitlines()]


@pytest.fixture
async def client(rex: User) -> AsyncClient:
    client = AsyncClient()
    await client.aforce_login(rex)
    return client


async def test_a_reply_comes_in_parts_and_then_whole(rex: User, client: AsyncClient) -> None:
    bot = await sync_to_async(writer)(rex)

    *parts, reply = await lines_of(client)

    text = ""
    for part in parts:
        text = text[: part["offset"]] + part["text"]
        assert WHOLE.startswith(text)
    assert len(parts) > 2
    assert (reply["text"], reply["seed"]) == (WHOLE, 3)
    assert reply["version"] == (await bot.versions.aget()).pk


async def test_a_bot_that_does_not_stream_gives_one_line(rex: User, client: AsyncClient) -> None:
    await sync_to_async(writer)(rex, characters_per_second=None)

    [reply] = await lines_of(client)

    assert reply["text"] == WHOLE


async def test_a_failure_is_the_last_line(rex: User, client: AsyncClient) -> None:
    await sync_to_async(writer)(rex, fail_on=[1])

    [line] = await lines_of(client)

    assert "configured to fail" in line["error"]


async def test_who_waits_for_too_many_replies_reads_so(
    rex: User, client: AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    await sync_to_async(writer)(rex)
    monkeypatch.setattr(trial, "MOST_AT_ONCE", 0)

    assert await lines_of(client) == [{"error": trial.TOO_MANY}]
