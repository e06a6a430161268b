import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from asgiref.testing import ApplicationCommunicator
from channels.routing import URLRouter
from django.conf import settings
from django.test import Client

from tests.conftest import PATIENCE, Tab
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.bots.services import register_bot
from turnwise.dialogues.models import Dialogue
from turnwise.project.sockets import websocket_urlpatterns
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import Study
from turnwise.studies.services import save_study, set_state

MakeWizard = Callable[..., Study]


@pytest.fixture
def make_wizard(rex: User) -> MakeWizard:
    """Make an open study of Rex whose bot, "wizard", is a person: himself and whom he names."""

    def make(*operators: User, settings: dict[str, Any] | None = None, **fields: Any) -> Study:
        quick = {"seconds": 0, "seconds_per_character": 0}
        bot = register_bot(
            name="wizard",
            title="Wizard",
            adapter="operator",
            configuration=quick | (settings or {}),
            owner=rex,
        )
        bot.operators.set(operators)
        fields = {
            "title": "Oz",
            "languages": ["en"],
            "practice": False,
            "min_turns": 2,
            "max_turns": 8,
        } | fields
        asks = [AskSpec("ssa", About.PARTNER_TURN, Moment.EACH_TURN)]
        study = save_study(
            Study(**fields), owner=rex, consent_text="You talk to a machine.", targets={bot: 100}, asks=asks
        )
        return set_state(study.pk, Study.State.OPEN)

    return make


class OperatorTab(Tab):
    """The operator's page of a bot. It says that it is there when it is asked, as the page does."""

    def __init__(self, cookie: str, bot: str) -> None:
        scope = {
            "type": "websocket",
            "path": f"/ws/operating/{bot}/",
            "headers": [(b"cookie", f"{settings.SESSION_COOKIE_NAME}={cookie}".encode())],
            "subprotocols": [],
        }
        self.application = ApplicationCommunicator(URLRouter(websocket_urlpatterns), scope)
        self.first: dict[str, Any] = {}

    async def receive(self, *kinds: str) -> dict[str, Any]:
        while True:
            message = await self.application.receive_output(timeout=PATIENCE)
            assert message["type"] == "websocket.send", message
            frame: dict[str, Any] = json.loads(message["text"])
            if frame["type"] == "are_you_there":
                await self.send(type="here")
            elif not kinds or frame["type"] in kinds:
                return frame

    async def sees(self, dialogue: Dialogue, **values: Any) -> dict[str, Any]:
        """Wait until the list tells this of a conversation."""
        while True:
            listed = await self.receive("conversations", "state")
            for each in listed["conversations"]:
                if each["id"] == str(dialogue.public_id) and values.items() <= each.items():
                    return each

    async def answer(self, dialogue: Dialogue, position: int, text: str, key: str = "") -> dict[str, Any]:
        key = key or str(uuid4())
        await self.send(type="answer", id=str(dialogue.public_id), position=position, text=text, key=key)
        return await self.receive("answer_saved", "refused")


OpenPage = Callable[..., Awaitable[OperatorTab]]


@pytest.fixture
async def open_page(transactional_db: None) -> AsyncIterator[OpenPage]:
    """Open operator's pages that have received their first state; everything is closed at the end."""
    tabs: list[OperatorTab] = []

    async def open_one(operator: User, bot: str = "wizard") -> OperatorTab:
        client = Client()
        await sync_to_async(client.force_login)(operator)
        tab = OperatorTab(client.cookies[settings.SESSION_COOKIE_NAME].value, bot)
        tabs.append(tab)
        await tab.connect()
        return tab

    yield open_one
    for tab in tabs:
        if not tab.application.future.done():
            await tab.disconnect()


def wizard() -> Bot:
    return Bot.objects.get(name="wizard")
