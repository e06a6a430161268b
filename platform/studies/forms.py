import re
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from accounts.models import User
from bots.models import Bot
from contexts.queries import versions_of
from evaluation.questions import QUESTION_SETS, Subject
from studies.models import Study, StudyBot, Task, WritingPlan
from studies.services import PROTOCOL_FIELDS

PAY_PER_WORKER = {"pay_amount": "Pay per worker, for the whole batch"}


def _about_turns() -> list[tuple[str, str]]:
    """The question sets that can be asked under a reply of a conversation."""
    return [(s.key, s.title) for s in QUESTION_SETS.values() if Subject.TURN in s.subjects]


class StudyForm(forms.ModelForm[Study]):
    """Everything about a study but its bots."""

    languages = forms.CharField(
        initial="en", max_length=100, help_text="Language codes, separated by commas. For example: en, zh"
    )
    consent_text = forms.CharField(widget=forms.Textarea, max_length=20_000)

    class Meta:
        model = Study
        fields = (
            "title", "languages", "opening_speaker", "opening_text", "min_turns", "max_turns", "question_set",
            "labelling_moment", "blind", "instructions", "pay_amount", "pay_currency", "expected_minutes",
        )  # fmt: skip
        labels = {"pay_amount": "Pay per conversation"}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "question_set" in self.fields and self.instance.task == Task.CONVERSATION:
            self.fields["question_set"].choices = _about_turns()  # type: ignore[attr-defined]  # a choice
        if not self.instance.pk:
            self.initial.pop("languages", None)
        else:
            latest = self.instance.consent_versions.last()
            self.initial["consent_text"] = latest.text if latest else ""
            self.initial["languages"] = ", ".join(self.instance.languages)
            for name in self.fields.keys() & PROTOCOL_FIELDS:
                self.fields[name].disabled = self.instance.state != Study.State.DRAFT

    def clean_languages(self) -> list[str]:
        codes = [code.strip() for code in self.cleaned_data["languages"].split(",") if code.strip()]
        if not codes or not all(code.replace("-", "").isalnum() and len(code) <= 10 for code in codes):
            raise ValidationError(
                f"“{self.cleaned_data['languages']}” is not a list of language codes such as: en, zh"
            )
        return codes

    def clean_pay_currency(self) -> str:
        code: str = self.cleaned_data["pay_currency"].upper()
        if not re.fullmatch(r"[A-Z]{3}", code):
            raise ValidationError(f"“{code}” is not the code of a currency, such as USD or EUR.")
        return code


class WritingStudyForm(StudyForm):
    """Everything about a study whose workers write, but what they write."""

    class Meta:
        model = Study
        fields = ("title", "languages", "instructions", "pay_amount", "pay_currency", "expected_minutes")
        labels = PAY_PER_WORKER

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.instance.task = Task.WRITING


class WritingPlanForm(forms.ModelForm[WritingPlan]):
    """Which contexts workers respond to, and how many each."""

    class Meta:
        model = WritingPlan
        fields = ("context_version", "responses_per_context", "batch_size")
        help_texts = {"batch_size": "Then the worker is done."}

    def __init__(self, user: User, study: Study | None, data: Any = None) -> None:
        super().__init__(data, instance=getattr(study, "writing", None), prefix="writing")
        field = self.fields["context_version"]
        assert isinstance(field, forms.ModelChoiceField)
        field.queryset = versions_of(user)
        field.empty_label = None
        for field in self.fields.values():
            field.disabled = bool(study and study.state != Study.State.DRAFT)


class JudgingStudyForm(StudyForm):
    """Everything about a study whose workers judge, but what they judge."""

    class Meta:
        model = Study
        fields = (
            "title", "languages", "question_set", "instructions", "pay_amount", "pay_currency",
            "expected_minutes",
        )  # fmt: skip
        labels = PAY_PER_WORKER


class TargetForm(forms.Form):
    """One bot of the platform: in the study or not, and how many conversations are wanted."""

    bot = forms.ModelChoiceField(queryset=Bot.objects.all(), widget=forms.HiddenInput)
    chosen = forms.BooleanField(required=False)
    target = forms.IntegerField(min_value=1, max_value=100_000, initial=100)


def target_formset(study: Study | None, data: Any = None) -> "forms.BaseFormSet[TargetForm]":
    """A form for each bot that can be chosen: the active ones and those already in the study."""
    targets = dict(StudyBot.objects.filter(study=study).values_list("bot_id", "target")) if study else {}
    bots = [bot for bot in Bot.objects.all() if (bot.active or bot.pk in targets) and not bot.is_outside]
    formset = forms.formset_factory(TargetForm, extra=0)(
        data,
        prefix="bots",
        initial=[
            {"bot": bot.pk, "chosen": bool(targets.get(bot.pk)), "target": targets.get(bot.pk) or 100}
            for bot in bots
        ],
    )
    for form, bot in zip(formset.forms, bots, strict=False):
        form.fields["chosen"].label = bot.title
        form.fields["target"].label = f"Conversations with {bot.title}"
    return formset


def chosen_targets(formset: "forms.BaseFormSet[TargetForm]") -> dict[Bot, int]:
    return {row["bot"]: row["target"] for row in formset.cleaned_data if row.get("chosen")}
