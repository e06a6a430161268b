"""The task *Two people talk with each other*, its forms, the partner's description, and its preview."""

from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext, gettext_lazy
from django.utils.translation import gettext as _
from typing_extensions import override

from turnwise.bots.models import Bot
from turnwise.crowd.queries import progress as bots_progress
from turnwise.crowd.worker_task import EXAMPLE_CODE, FrameAnswers, WorkerTask
from turnwise.dialogues import reading_material
from turnwise.live.frames import Frame
from turnwise.rehearsals.rehearsed_task import Crowd, RehearsedTask
from turnwise.studies.forms import ASKING, FIELDS, StudyForm
from turnwise.studies.models import Speaker, Study
from turnwise.studies.outlook import PlannedStudy, parse_count, planned_conversations
from turnwise.studies.queries import active_bots_of
from turnwise.studies.starting.intentions import Aim, Intention, Material
from turnwise.studies.tasks import Plan, Rows, copied_row, register
from turnwise.tasks.conversation.page import PartnerDescription
from turnwise.tasks.conversation.preview import TalkPreviewed
from turnwise.tasks.conversation.talk_task import ConversationPage, TalkTask, pictures_line
from turnwise.tasks.plan_pages import PlanForm, PlanPage
from turnwise.tasks.two_people import queries, rehearsal
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


class TwoPeopleForm(StudyForm):
    """Form of the study's fields; the lobby has its own."""

    class Meta(StudyForm.Meta):
        fields = (
            *FIELDS,
            "min_turns",
            "max_turns",
            "material",
            "bots_read",
            "knowledge",
            *ASKING,
            "max_message_chars",
            "scenario",
            "persona",
            "takes_pictures",
        )
        labels = {"pay_amount": gettext_lazy("Pay per person and conversation")}


class TwoPeoplePlanForm(PlanForm[TwoPeoplePlan]):
    """Form of the number of conversations and of the lobby."""

    attribute = "two_people"

    class Meta:
        model = TwoPeoplePlan
        fields = ("conversations", "wait_minutes", "alone", "disclosed")


class TwoPeoplePage(PlanPage[TwoPeoplePlan], ConversationPage):
    """Forms of the study, its lobby, and the bots for workers without a partner."""

    template = "tasks/two_people/form.html"
    study_form = TwoPeopleForm

    plan_form_class = TwoPeoplePlanForm

    @override
    def plan(self) -> TwoPeoplePlan:
        return self.plan_form.save(commit=False)

    @override
    def study(self) -> Study:
        study = super().study()
        if study.state == Study.State.DRAFT:
            # There is no prepared opening: the person who has waited longest begins.
            study.opening_speaker, study.opening_text = Speaker.HUMAN, ""
        return study

    @override
    def targets(self) -> Mapping[Bot, int]:
        return super().targets() if self.plan().alone == TwoPeoplePlan.Alone.BOT else {}


@register
class TwoPeople(WorkerTask, TalkTask, RehearsedTask):
    """Two workers talk with each other, and both judge the messages."""

    key = "two_people"
    title = "Two people talk with each other"
    menu = "Have people talk with each other"
    order = 6
    intentions = (Intention(Aim.PEOPLE, Material.TWO_PEOPLE), Intention(Aim.QUESTIONS, Material.TWO_PEOPLE))
    form = TwoPeoplePage
    overview = "tasks/two_people/overview.html"
    manual = "human-human"
    namespace = "two_people"

    begin = "two_people:start"
    go_on = "two_people:talk"
    heading = gettext_lazy("Talk with another person, and judge what is said")
    welcome = "tasks/two_people/welcome.html"
    instructions = "tasks/two_people/instructions.html"
    saved = gettext_lazy("Your conversation and all your answers are saved.")
    previewed = TwoPeoplePreviewed

    together = 2
    report = "tasks/two_people/report.html"
    analysed = "tasks/conversation/analysed.html"

    @override
    def takes_bots(self, study: Study) -> bool:
        plan = queries.plan_of(study)
        return plan is not None and plan.alone == TwoPeoplePlan.Alone.BOT

    @override
    def why_not_open(self, study: Study) -> str:
        plan = queries.plan_of(study)
        if plan is None:
            return gettext("Say how many conversations are wanted, then open the study.")
        if plan.alone == TwoPeoplePlan.Alone.BOT and not active_bots_of(study).exists():
            return gettext(
                "Choose at least one active bot with a target above zero, for people whom nobody joins; or "
                "let those people leave."
            )
        return reading_material.article_shortage(study, plan.conversations)

    @override
    def planned(
        self, study: Study | None, sent: Mapping[str, str], wanted: Sequence[int]
    ) -> PlannedStudy | None:
        conversations = parse_count(sent.get("two_people-conversations"))
        return planned_conversations([conversations], together=self.together) if conversations else None

    @override
    def is_full(self, study: Study, now: datetime) -> bool:
        return reading_material.is_used_up(study) or queries.is_full(study, now=now)

    @override
    def completed_and_planned(self, studies: QuerySet[Study]) -> Rows:
        return queries.completed_and_planned(studies)

    @override
    def plan_of_copy(self, study: Study) -> Plan | None:
        plan: Plan | None = copied_row(queries.plan_of(study))
        return plan

    @override
    def protocol(self, study: Study) -> Mapping[str, str]:
        plan = queries.plan_of(study)
        partner = "a person" if plan and plan.disclosed else "a person or a chatbot"
        return {
            "Opening": "the one who had waited longest, in their own words",
            "Turns": f"{study.min_turns} to {study.max_turns}",
            "Asked": "; ".join(map(str, study.work_asks)),
            "Partner": f"described as {partner}",
            **pictures_line(study),
        }

    @override
    def overview_context(self, study: Study) -> Mapping[str, Any]:
        return {
            "plan": queries.plan_of(study),
            "people": queries.progress(study, now=timezone.now()),
            "bots": bots_progress(study),
            "fits_topical_chat": self.fits_topical_chat(study),
        }

    @override
    def copied(self, study: Study, workers: int) -> Study:
        return rehearsal.copy_with_places(study, workers)

    @override
    def crowd(self, rehearsed: Study, server: str, workers: int) -> Crowd:
        return rehearsal.talking_crowd(rehearsed, server, workers)
