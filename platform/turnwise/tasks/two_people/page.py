"""The partner's description on the page, and the preview with a scripted partner."""

from collections.abc import AsyncIterator, Mapping
from typing import Any

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from typing_extensions import override

from turnwise.crowd.worker_task import EXAMPLE_CODE, FrameAnswers
from turnwise.live.frames import Frame
from turnwise.tasks.conversation.page import PartnerDescription
from turnwise.tasks.conversation.preview import TalkPreviewed
from turnwise.tasks.two_people import queries
from turnwise.tasks.two_people.models import TwoPeoplePlan


def describe_partner(plan: TwoPeoplePlan, *, is_bot: bool) -> PartnerDescription:
    """Describe the partner for the page: a person, or a bot instead of a missing partner."""
    partner = _("Partner"), _("Your partner")
    if not plan.disclosed:
        says = _("Your partner may be a person or a chatbot; you are not told which.")
        return PartnerDescription(*partner, is_person=not is_bot, is_disclosed=False, says=says)
    if is_bot:
        says = _("Nobody else came, so you are talking with a chatbot, not with a person.")
        return PartnerDescription(_("Chatbot"), _("The chatbot"), says=says)
    says = _("You are talking with another participant in this study: a person, not a chatbot.")
    return PartnerDescription(*partner, is_person=True, says=says)


class TwoPeoplePreviewed(TalkPreviewed):
    """Preview of the lobby and of the conversation; the partner's messages are scripted."""

    pages = {"lobby": gettext_lazy("Waiting"), "work": gettext_lazy("The work")}
    with_bot = False

    @property
    def plan(self) -> TwoPeoplePlan:
        return queries.plan_of(self.study) or TwoPeoplePlan(study=self.study)

    @override
    def partner_description(self) -> PartnerDescription:
        return describe_partner(self.plan, is_bot=False)

    @override
    def template_and_context(self) -> tuple[str, dict[str, Any]]:
        if self.key != "lobby":
            return super().template_and_context()
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
    def answers(self) -> Mapping[str, FrameAnswers]:
        return {} if self.key == "lobby" else super().answers()
