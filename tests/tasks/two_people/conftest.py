import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest
from asgiref.testing import ApplicationCommunicator
from channels.routing import URLRouter

from tests.conftest import PATIENCE, Tab, enter
from turnwise.crowd.entry.sessions import COOKIE, signed
from turnwise.crowd.models import Assignment, Participation
from turnwise.crowd.places.assignment import admit
from turnwise.dialogues.models import Dialogue
from turnwise.project.sockets import websocket_urlpatterns
from turnwise.studies.models import Study


def come(study: Study) -> Assignment:
    """Somebody new consents, and presses Find a partner."""
    return admit(enter(study).pk)


class LobbyTab(Tab):
    """A browser tab in the lobby. It answers when it is asked, as the page does."""

    def __init__(self, assignment: Assignment) -> None:
        participation: Participation = assignment.participation
        path, cookie = f"/ws/lobby/{participation.study.code}/", signed(participation)
        scope = {
            "type": "websocket",
            "path": path,
            "headers": [(b"cookie", f"{COOKIE}={cookie}".encode())],
            "subprotocols": [],
        }
        self.application = ApplicationCommunicator(URLRouter(websocket_urlpatterns), scope)
        self.first: dict[str, Any] = {}

    async def connect(self) -> None:
        await self.application.send_input({"type": "websocket.connect"})
        assert (await self.application.receive_output(timeout=PATIENCE))["type"] == "websocket.accept"
        self.first = await self.receive("state", "refused", "met", "over")

    async def until_over(self) -> dict[str, Any]:
        """Wait and answer, until somebody is there or the wait is over."""
        if self.first["type"] in ("met", "over", "refused"):
            return self.first
        while True:
            message = await self.application.receive_output(timeout=30)
            assert message["type"] == "websocket.send", message
            frame: dict[str, Any] = json.loads(message["text"])
            if frame["type"] == "are_you_there":
                meeting = {"meeting": frame["meeting"]} if "meeting" in frame else {}
                await self.send(type="here", **meeting)
            elif frame["type"] != "state":
                return frame


OpenLobby = Callable[[Assignment], Awaitable[LobbyTab]]


@pytest.fixture
async def open_lobby(transactional_db: None) -> AsyncIterator[OpenLobby]:
    """Open tabs in the lobby; everything is closed at the end."""
    tabs: list[LobbyTab] = []

    async def open_one(assignment: Assignment) -> LobbyTab:
        tab = LobbyTab(assignment)
        tabs.append(tab)
        await tab.connect()
        return tab

    yield open_one
    for tab in tabs:
        if not tab.application.future.done():
            await tab.disconnect()


def dialogue_of(assignment: Assignment) -> Dialogue | None:
    return Dialogue.objects.filter(seats__assignment=assignment).first()
