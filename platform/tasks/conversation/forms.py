from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from django import forms
from django.db.models import Q
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from typing_extensions import override

from accounts.models import User
from bots.models import OUTSIDE, Bot
from bots.queries import visible_bots
from knowledge.models import BaseVersion
from knowledge.queries import versions_of
from studies.ask_forms import AskForms
from studies.asks import Asked
from studies.forms import ASKING, FIELDS, StudyForm, StudyPage
from studies.models import Study, StudyBot


class ConversationForm(StudyForm):
    """Everything about a study whose workers talk, but its bots."""

    class Meta(StudyForm.Meta):
        fields = (
            *FIELDS, "opening_speaker", "opening_text", "min_turns", "max_turns", "blind", "material",
            "bots_read", "knowledge", *ASKING, "re_entry", "re_entry_most",
        )  # fmt: skip
        labels = {"pay_amount": gettext_lazy("Pay per conversation")}


class ConversationPage(StudyPage):
    """The study, and which bots it has."""

    template = "tasks/conversation/form.html"
    study_form: ClassVar[type[StudyForm]] = ConversationForm

    @override
    def __init__(self, user: User, study: Study, data: Any = None) -> None:
        super().__init__(user, study, data)
        knowledge: Any = self.form.fields["knowledge"]
        knowledge.queryset = versions_of(user) | BaseVersion.objects.filter(pk=study.knowledge_id or 0)
        knowledge.empty_label = _("None")
        self.bot_forms = target_formset(user, study if study.pk else None, data)
        self.ask_forms = AskForms(user, study, data)

    @override
    def is_valid(self) -> bool:
        return all([super().is_valid(), self.bot_forms.is_valid(), self.ask_forms.is_valid()])

    @override
    def targets(self) -> Mapping[Bot, int]:
        return chosen_targets(self.bot_forms)

    @override
    def asks(self) -> Sequence[Asked]:
        return self.ask_forms.asked

    @override
    def shown(self) -> dict[str, Any]:
        return super().shown() | {"bot_forms": self.bot_forms, "ask_forms": self.ask_forms}


class TargetForm(forms.Form):
    """One bot of the platform: in the study or not, and how many conversations are wanted."""

    bot = forms.ModelChoiceField(queryset=Bot.objects.all(), widget=forms.HiddenInput)
    chosen = forms.BooleanField(required=False)
    target = forms.IntegerField(min_value=1, max_value=100_000, initial=100)


def target_formset(user: User, study: Study | None, data: Any = None) -> "forms.BaseFormSet[TargetForm]":
    """A form for each bot that this person can choose: the active ones and those already in the study."""
    targets = dict(StudyBot.objects.filter(study=study).values_list("bot_id", "target")) if study else {}
    of_user = visible_bots(user).filter(active=True).values("pk")
    bots = list(Bot.objects.filter(Q(pk__in=of_user) | Q(pk__in=targets)).exclude(adapter=OUTSIDE))
    # As many as are offered, and a few that are gone since: whoever asks for more has none of them made.
    most = len(bots) + 20
    formset = forms.formset_factory(TargetForm, extra=0, max_num=most, absolute_max=most)(
        data,
        prefix="bots",
        initial=[
            {"bot": bot.pk, "chosen": bool(targets.get(bot.pk)), "target": targets.get(bot.pk) or 100}
            for bot in bots
        ],
    )
    for form in formset.forms:
        form.fields["bot"].queryset = Bot.objects.filter(pk__in=[bot.pk for bot in bots])  # type: ignore[attr-defined]  # a choice
    for form, bot in zip(formset.forms, bots, strict=False):
        form.fields["chosen"].label = bot.title
        if bot.is_operated:
            form.fields["chosen"].help_text = _("A person of the team answers in its place.")
        form.fields["target"].label = _("Conversations with %(bot)s") % {"bot": bot.title}
    return formset


def chosen_targets(formset: "forms.BaseFormSet[TargetForm]") -> dict[Bot, int]:
    return {row["bot"]: row["target"] for row in formset.cleaned_data if row.get("chosen")}
