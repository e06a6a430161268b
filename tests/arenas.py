"""Studies in which people talk with two bots at once, and tabs of their workers."""

import json
from collections.abc import Sequence
from typing import Any

from asgiref.testing import ApplicationCommunicator
from channels.routing import URLRouter

from tests.conftest import Tab, enter
from turnwise.accounts.models import User
from turnwise.bots.services import register_bot
from turnwise.crowd.entry.sessions import COOKIE, signed
from turnwise.crowd.models import Participation
from turnwise.judging.models import JudgingPlan
from turnwise.project.sockets import websocket_urlpatterns
from turnwise.studies.asks import About, AskSpec
from turnwise.studies.models import Study
from turnwise.studies.services import save_study, set_state
from turnwise.tasks.arena import battles


def make_arena(
    owner: User,
    names: Sequence[str] = ("ann", "bob"),
    *,
    each: int = 2,
    target: int = 50,
    scripts: dict[str, dict[str, Any]] | None = None,
    question_set: str = "preference",
    votes_each: bool = False,
    **fields: Any,
) -> Study:
    """An open study of this owner; every bot says its name, unless it has a script."""
    bots = {
        register_bot(
            name=name,
            title=name.title(),
            adapter="scripted",
            configuration=(scripts or {}).get(name, {"replies": [f"I am {name}."]}),
        ): target
        for name in names
    }
    made = {"title": "Arena", "languages": ["en"], "practice": False, "min_turns": 2, "max_turns": 4}
    opening = {"opening_speaker": "human", "opening_text": ""}
    study = save_study(
        Study(task="arena", **made | opening | fields),
        owner=owner,
        consent_text="You talk to machines.",
        targets=bots,
        plan=JudgingPlan(raters_per_item=1, batch_size=each, judges_each_exchange=votes_each),
        asks=[AskSpec(question_set, About.PAIR)],
    )
    return set_state(study.pk, Study.State.OPEN)


def come(study: Study) -> Participation:
    """A new worker begins."""
    participation = enter(study)
    battles.begin(participation.pk)
    return participation


class ArenaTab(Tab):
    """A browser tab of a worker who talks with two bots."""

    def __init__(self, participation: Participation) -> None:
        scope = {
            "type": "websocket",
            "path": f"/ws/arena/{participation.study.code}/",
            "headers": [(b"cookie", f"{COOKIE}={signed(participation)}".encode())],
            "subprotocols": [],
        }
        self.application = ApplicationCommunicator(URLRouter(websocket_urlpatterns), scope)

    async def connect(self) -> None:
        await self.application.send_input({"type": "websocket.connect"})
        assert (await self.application.receive_output(timeout=30))["type"] == "websocket.accept"

    async def until(self, holds: Any) -> dict[str, Any]:
        """Receive frames up to the first state for which this holds."""
        while True:
            message = await self.application.receive_output(timeout=30)
            assert message["type"] == "websocket.send", message
            frame: dict[str, Any] = json.loads(message["text"])
            assert frame["type"] != "refused", frame
            if frame["type"] == "state" and holds(frame):
                return frame
