from typing import Any

from django import forms
from django.db.models import Q
from typing_extensions import override

from turnwise.accounts.models import User
from turnwise.bots.choosing import BotField
from turnwise.bots.models import OPERATED, Bot
from turnwise.bots.queries import visible_bots
from turnwise.studies.forms import StudyForm, StudyPage
from turnwise.studies.models import Speaker, Study
from turnwise.tasks.self_play.models import SelfPlayPlan


class SelfPlayForm(StudyForm):
    """What such a study has of what all have: nobody consents, reads instructions or is paid."""

    class Meta(StudyForm.Meta):
        fields = ("title", "languages")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["consent_text"]


class SelfPlayPlanForm(forms.ModelForm[SelfPlayPlan]):
    """Which bots talk, how they begin, and how much."""

    class Meta:
        model = SelfPlayPlan
        fields = ("first", "second", "opener", "opening_text", "conversations", "utterances", "seed")

    def __init__(self, user: User, study: Study, data: Any = None) -> None:
        super().__init__(data, instance=getattr(study, "self_play", None), prefix="self_play")
        for name in ("first", "second"):
            chosen = getattr(self.instance, f"{name}_id")
            usable = Bot.objects.filter(
                Q(pk__in=visible_bots(user).filter(active=True).values("pk")) | Q(pk=chosen)
            ).exclude(adapter=OPERATED)
            listed = [chosen, self.data.get(self.add_prefix(name))]
            self.fields[name] = BotField(usable, user, chosen=listed, label=self.fields[name].label)
        for each in self.fields.values():
            each.disabled = study.state != Study.State.DRAFT


def protocol_of(plan: SelfPlayPlan) -> dict[str, Any]:
    """What the study of a plan has for its protocol: an opening that is the first turn, and so many turns."""
    return {
        "opening_speaker": Speaker.HUMAN,  # of a bot the text could not be empty
        "opening_text": plan.opening_text if plan.opener == SelfPlayPlan.Opener.TEXT else "",
        "min_turns": plan.utterances,
        "max_turns": plan.utterances + plan.utterances % 2,
    }


class SelfPlayPage(StudyPage):
    """The study, and which bots talk in it."""

    template = "tasks/self_play/form.html"
    study_form = SelfPlayForm

    @override
    def __init__(self, user: User, study: Study, data: Any = None) -> None:
        super().__init__(user, study, data)
        self.plan_form = SelfPlayPlanForm(user, study, data)

    @override
    def is_valid(self) -> bool:
        return all([super().is_valid(), self.plan_form.is_valid()])

    @override
    def study(self) -> Study:
        study = super().study()
        if study.state == Study.State.DRAFT:
            for name, value in protocol_of(self.plan()).items():
                setattr(study, name, value)
        return study

    @override
    def consent_text(self) -> str:
        return ""

    @override
    def plan(self) -> SelfPlayPlan:
        return self.plan_form.save(commit=False)

    @override
    def shown(self) -> dict[str, Any]:
        return super().shown() | {"plan_form": self.plan_form}
