from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _
from typing_extensions import override

from evaluation.questions import Kind
from turnwise.accounts.models import User
from turnwise.quality.models import Check, Limits, Qualification
from turnwise.quality.qualifying import wanted_by
from turnwise.quality.queries import qualifications_of
from turnwise.quality.writing import Written, read, written
from turnwise.questions.resolving import question_set
from turnwise.studies.models import Study

LONGEST_TEXT = 100_000

EXAMPLE = """Which reply makes sense after “How are you?”
* Fine, thanks. And you?
- The train leaves at nine.
> Only the first answers the question."""


class QualificationForm(forms.ModelForm[Qualification]):
    """A qualification, its questions written as text."""

    text = forms.CharField(
        label=_("Questions"),
        max_length=LONGEST_TEXT,
        widget=forms.Textarea(attrs={"rows": 12, "spellcheck": "true", "placeholder": EXAMPLE}),
        help_text=_(
            "First the question, then each choice on a line of its own: right ones begin with *, wrong ones "
            "with -. After > comes the reason. An empty line ends a question."
        ),
    )

    class Meta:
        model = Qualification
        fields = ("title", "pass_mark", "tries", "feedback")

    field_order = ("title", "text", "pass_mark", "tries", "feedback")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk:
            self.initial["text"] = written(self.instance.questions)

    def clean_text(self) -> list[Written]:
        return read(self.cleaned_data["text"])

    @override
    def clean(self) -> dict[str, Any]:
        sent = super().clean() or {}
        self.instance.questions = sent.get("text", [])
        return sent


class RequirementForm(forms.Form):
    """Which qualification a study wants."""

    qualification = forms.ModelChoiceField(
        queryset=Qualification.objects.none(),
        required=False,
        label=_("Qualification"),
        empty_label=_("none"),
        help_text=_(
            "Anyone who has passed it in another study does not have to pass it again. Workers who use all "
            "attempts without passing are screened out."
        ),
    )

    def __init__(self, *args: Any, user: User, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        now = wanted_by(study)
        shown = qualifications_of(user)
        if now:
            shown = shown | Qualification.objects.filter(pk=now.pk)
        self.fields["qualification"].queryset = shown  # type: ignore[attr-defined]  # a choice of models
        self.initial["qualification"] = now


class CheckForm(forms.Form):
    """Which question of a study itself says what to answer, and what."""

    asked = forms.ChoiceField(label=_("Question, and the answer it asks for"))

    def __init__(self, *args: Any, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.study = study
        self.known = {
            f"{ask.question_set} {question.key} {number}": (ask.question_set, question, choice)
            for ask in study.asked
            for question in question_set(ask.question_set).questions
            if question.kind in (Kind.ONE, Kind.SCALE)
            for number, choice in enumerate(question.choices)
        }
        choices = [
            (key, f"{question.wording} {choice.label}")
            for key, (_set, question, choice) in self.known.items()
        ]
        self.fields["asked"].choices = choices  # type: ignore[attr-defined]  # a choice

    def save(self) -> None:
        """Take the question for a check from now on; the form is valid."""
        name, question, choice = self.known[self.cleaned_data["asked"]]
        Check.objects.update_or_create(
            study=self.study, question_set=name, question=question.key, defaults={"right": choice.value}
        )


class LimitsForm(forms.ModelForm[Limits]):
    """When a figure becomes a flag."""

    class Meta:
        model = Limits
        fields = (
            "unread_share", "pace", "run_chance", "peers_gap", "repeats_least", "gold_least",
            "attention_misses",
        )  # fmt: skip
