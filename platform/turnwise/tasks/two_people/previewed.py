"""The lobby and the conversation of two people as who makes them tries them: the other is scripted."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _
from typing_extensions import override

from turnwise.crowd.previewed import EXAMPLE_CODE, Answers
from turnwise.live.frames import Frame
from turnwise.tasks.conversation.page import Opposite
from turnwise.tasks.conversation.previewed import TalkPreviewed
from turnwise.tasks.two_people import queries
from turnwise.tasks.two_people.models import TwoPeoplePlan
from turnwise.tasks.two_people.page import opposite_of


class TwoPeoplePreviewed(TalkPreviewed):
    """Somebody waits, and then talks with another person, whose messages are scripted."""

    pages = {"lobby": _("Waiting"), "work": _("The work")}
    with_bot = False

    @property
    def plan(self) -> TwoPeoplePlan:
        return queries.plan_of(self.study) or TwoPeoplePlan(study=self.study)

    @override
    def opposite(self) -> Opposite:
        return opposite_of(self.plan, is_bot=False)

    @override
    def shown(self) -> tuple[str, dict[str, Any]]:
        if self.key != "lobby":
            return super().shown()
        settings = {"socket": self.socket}
        return "tasks/two_people/lobby.html", {
            "plan": self.plan, "resume_code": EXAMPLE_CODE, "settings": settings,
        }  # fmt: skip

    @override
    async def begin(self) -> AsyncIterator[Frame]:
        if self.key == "lobby":
            yield {"type": "state", "waited": 0}
            return
        async for frame in super().begin():
            yield frame

    @override
    def answers(self) -> Mapping[str, Answers]:
        return {} if self.key == "lobby" else super().answers()
