"""Two web processes on one database: people who meet, and an operator, on different ones; both are killed."""

import asyncio
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.conf import settings
from django.test import Client
from django.utils import timezone
from websockets.asyncio.client import ClientConnection, connect

from tests.conftest import MakeMeeting, session_cookie, start_dialogue, worker_of
from tests.operating.conftest import MakeWizard
from tests.server import Server
from tests.tasks.two_people.conftest import come, dialogue_of
from turnwise.accounts.models import User
from turnwise.crowd.entry.sessions import COOKIE, signed
from turnwise.crowd.models import Assignment, PayEntry
from turnwise.dialogues.models import Dialogue, OperatorReply, Seat, Turn

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE = 90


@pytest.fixture(scope="module")
def servers(django_db_setup: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[Server]]:
    two = [Server(tmp_path_factory.mktemp(name) / "log") for name in ("first", "second")]
    for server in two:
        server.start()
    yield two
    for server in two:
        server.end()


class Line:
    """The socket of a page. It says that somebody is there when it is asked, as pages do."""

    def __init__(self, socket: ClientConnection) -> None:
        self.socket = socket

    @classmethod
    async def to(cls, server: Server, path: str, cookie: str) -> "Line":
        address = server.address.replace("http", "ws") + path
        headers = {"Cookie": cookie, "Origin": server.address}
        return cls(await connect(address, additional_headers=headers, open_timeout=PATIENCE))

    async def send(self, **frame: Any) -> None:
        await self.socket.send(json.dumps(frame))

    async def say(self, text: str) -> None:
        await self.send(type="turn", key=str(uuid4()), text=text)

    async def hear(self, *kinds: str) -> dict[str, Any]:
        async for message in self.socket:
            frame: dict[str, Any] = json.loads(message)
            assert frame["type"] != "refused" or "refused" in kinds, frame
            if frame["type"] == "are_you_there":
                await self.send(type="here", **{name: frame[name] for name in ("meeting",) if name in frame})
            elif frame["type"] in kinds:
                return frame
        raise ConnectionError(f"The line ended before one of {kinds}.")


async def test_two_people_meet_and_talk_over_two_servers_and_outlive_one(
    servers: list[Server], make_meeting: MakeMeeting
) -> None:
    study = await sync_to_async(make_meeting)(pay_amount=2)
    people = [await sync_to_async(come)(study) for _ in range(2)]
    cookies = [f"{COOKIE}={await sync_to_async(signed)(each.participation)}" for each in people]
    lobby = f"/ws/lobby/{study.code}/"
    waits = [await Line.to(server, lobby, who) for server, who in zip(servers, cookies, strict=True)]
    await asyncio.gather(*(line.hear("met") for line in waits))
    dialogue = await sync_to_async(dialogue_of)(people[0])
    assert dialogue
    talk = f"/ws/dialogues/{dialogue.public_id}/"
    number = await Seat.objects.filter(assignment=people[0]).values_list("number", flat=True).aget()
    lines = [await Line.to(server, talk, who) for server, who in zip(servers, cookies, strict=True)]
    first, second = lines if number == 0 else lines[::-1]
    for line in lines:
        await line.hear("state")

    await first.say("Hello from one server")
    assert (await second.hear("partner_turn"))["turn"]["text"] == "Hello from one server"
    await second.send(type="label", position=0, answers={"sensible": True, "specific": False})
    await second.hear("label_saved")
    await second.say("Hello from the other")
    assert (await first.hear("partner_turn"))["turn"]["text"] == "Hello from the other"

    servers[0].end(kill=True)
    back = await Line.to(servers[1], talk, cookies[0])
    state = await back.hear("state")
    assert [turn["text"] for turn in state["turns"]] == ["Hello from one server", "Hello from the other"]
    stays = lines[1]
    await back.socket.close()
    await Seat.objects.filter(assignment=people[0]).aupdate(seen_at=timezone.now() - timedelta(minutes=1))
    await stays.send(type="here")
    while not (await stays.hear("partner"))["may_end"]:
        pass
    await stays.send(type="end_alone")
    while not (await stays.hear("state"))["finished"]:
        pass

    servers[0].start()
    assert (await Dialogue.objects.aget()).ending == "partner_left"
    outcomes = [
        await Assignment.objects.values_list("outcome", flat=True).aget(pk=each.pk) for each in people
    ]
    assert outcomes == ["timed_out", "partner_left"]
    paid = PayEntry.objects.filter(participation=people[1].participation_id, reason="earned")
    assert [each.amount async for each in paid] == [2]


async def test_acknowledged_replies_of_an_operator_outlive_both_servers(
    servers: list[Server], make_wizard: MakeWizard, rex: User
) -> None:
    study = await sync_to_async(make_wizard)(settings={"seconds": 60, "most_seconds": 60})
    client = Client()
    await sync_to_async(client.force_login)(rex)
    signed_in = f"{settings.SESSION_COOKIE_NAME}={client.cookies[settings.SESSION_COOKIE_NAME].value}"
    page = await Line.to(servers[0], "/ws/operating/wizard/", signed_in)
    await page.hear("state")
    dialogue = await sync_to_async(start_dialogue)(study)
    talk = f"/ws/dialogues/{dialogue.public_id}/"
    cookie = f"{COOKIE}={await sync_to_async(lambda: session_cookie(worker_of(dialogue)))()}"
    worker = await Line.to(servers[1], talk, cookie)
    await worker.hear("state")
    await worker.say("Is anybody there?")
    while not any(each["waits"] for each in (await page.hear("conversations"))["conversations"]):
        pass

    frame = {"id": str(dialogue.public_id), "position": 2, "text": "I am.", "key": str(uuid4())}
    await page.send(type="answer", **frame)
    await page.hear("answer_saved")
    for server in servers:
        server.end(kill=True)
    assert await Turn.objects.acount() == 2
    for server in servers:
        server.start()
    await OperatorReply.objects.aupdate(due_at=timezone.now())

    back = await Line.to(servers[0], talk, cookie)
    turns = (await back.hear("state"))["turns"]
    assert turns[2:] or (await back.hear("bot_turn"))["turn"]["text"] == "I am."
    said = Turn.objects.filter(dialogue=dialogue).order_by("position").values_list("text", flat=True)
    assert [text async for text in said] == ["Hi!", "Is anybody there?", "I am."]
