from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from typing_extensions import override

from turnwise.crowd.queries import progress as bots_progress
from turnwise.crowd.work import WorkerTask
from turnwise.dialogues import reading
from turnwise.rehearsals.rehearsed import Crowd, RehearsedTask
from turnwise.studies.models import Study
from turnwise.studies.planned import Planned, number, of_conversations
from turnwise.studies.services import Plan
from turnwise.studies.tasks import Rows, copied_row, register
from turnwise.tasks.conversation.talks import TalkTask
from turnwise.tasks.two_people import queries, rehearsal
from turnwise.tasks.two_people.forms import TwoPeoplePage
from turnwise.tasks.two_people.models import TwoPeoplePlan
from turnwise.tasks.two_people.previewed import TwoPeoplePreviewed


@register
class TwoPeople(WorkerTask, TalkTask, RehearsedTask):
    """Two workers talk with each other, and both judge what is said."""

    key = "two_people"
    title = "Two people talk with each other"
    menu = "Have people talk with each other"
    order = 6
    form = TwoPeoplePage
    overview = "tasks/two_people/overview.html"
    manual = "human-human"
    namespace = "two_people"

    begin = "two_people:start"
    go_on = "two_people:talk"
    heading = _("Talk with another person, and judge what is said")
    welcome = "tasks/two_people/welcome.html"
    instructions = "tasks/two_people/instructions.html"
    saved = _("Your conversation and all your answers are saved.")
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
        wanted = study.study_bots.filter(target__gt=0, bot__active=True)
        if plan.alone == TwoPeoplePlan.Alone.BOT and not wanted.exists():
            return gettext(
                "Choose at least one active bot with a target above zero, for people whom nobody joins; or "
                "let those people leave."
            )
        return reading.why_too_few(study, plan.conversations)

    @override
    def planned(self, study: Study | None, sent: Mapping[str, str], wanted: Sequence[int]) -> Planned | None:
        conversations = number(sent.get("two_people-conversations"))
        return of_conversations([conversations], together=self.together) if conversations else None

    @override
    def is_full(self, study: Study, now: datetime) -> bool:
        return reading.is_used_up(study) or queries.is_full(study, now=now)

    @override
    def finished_and_wanted(self, studies: QuerySet[Study]) -> Rows:
        return queries.finished_and_wanted(studies)

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
            "Asked": "; ".join(map(str, study.asked)),
            "Partner": f"described as {partner}",
        }

    @override
    def shown(self, study: Study) -> Mapping[str, Any]:
        return {
            "plan": queries.plan_of(study),
            "people": queries.progress(study, now=timezone.now()),
            "bots": bots_progress(study),
            "fits_topical_chat": self.fits_topical_chat(study),
        }

    @override
    def copied(self, study: Study, workers: int) -> Study:
        return rehearsal.with_room(study, workers)

    @override
    def crowd(self, rehearsed: Study, server: str, workers: int) -> Crowd:
        return rehearsal.talkers(rehearsed, server, workers)
