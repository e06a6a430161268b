from collections.abc import Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from typing_extensions import override

from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.studies.forms import ASKING, FIELDS, StudyForm
from turnwise.studies.models import Speaker, Study
from turnwise.tasks.conversation.forms import ConversationPage
from turnwise.tasks.two_people.models import TwoPeoplePlan


class TwoPeopleForm(StudyForm):
    """Everything about a study whose workers talk with each other, but the lobby."""

    class Meta(StudyForm.Meta):
        fields = (*FIELDS, "min_turns", "max_turns", "material", "bots_read", "knowledge", *ASKING)
        labels = {"pay_amount": _("Pay per person and conversation")}


class TwoPeoplePlanForm(forms.ModelForm[TwoPeoplePlan]):
    """How many conversations, and what becomes of who waits in vain."""

    class Meta:
        model = TwoPeoplePlan
        fields = ("conversations", "wait_minutes", "alone", "disclosed")

    def __init__(self, study: Study, data: Any = None) -> None:
        super().__init__(data, instance=getattr(study, "two_people", None), prefix="two_people")
        for each in self.fields.values():
            each.disabled = study.state != Study.State.DRAFT


class TwoPeoplePage(ConversationPage):
    """The study, its lobby, and the bots with which people talk for whom nobody came."""

    template = "tasks/two_people/form.html"
    study_form = TwoPeopleForm

    @override
    def __init__(self, user: User, study: Study, data: Any = None) -> None:
        super().__init__(user, study, data)
        self.plan_form = TwoPeoplePlanForm(study, data)

    @override
    def is_valid(self) -> bool:
        return all([super().is_valid(), self.plan_form.is_valid()])

    @override
    def study(self) -> Study:
        study = super().study()
        if study.state == Study.State.DRAFT:
            # Nobody says a prepared sentence: whoever has waited longest begins.
            study.opening_speaker, study.opening_text = Speaker.HUMAN, ""
        return study

    @override
    def plan(self) -> TwoPeoplePlan:
        return self.plan_form.save(commit=False)

    @override
    def targets(self) -> Mapping[Bot, int]:
        return super().targets() if self.plan().alone == TwoPeoplePlan.Alone.BOT else {}

    @override
    def shown(self) -> dict[str, Any]:
        return super().shown() | {"plan_form": self.plan_form}
