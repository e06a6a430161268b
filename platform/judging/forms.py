from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from evaluation.questions import Subject
from judging.batteries import battery_of
from judging.models import JudgingPlan
from judging.training import why_untrainable
from questions.resolving import question_set
from responses.models import ResponseRun
from responses.queries import real_runs_of
from studies.choosing import StudySelect, list_all
from studies.models import Study
from studies.queries import real_studies_of
from studies.tasks import keys_with_conversations

MOST_CONVERSATIONS = 100_000


class PlanForm(forms.ModelForm[JudgingPlan]):
    """How many judge each item, and how many items each worker."""

    class Meta:
        model = JudgingPlan
        fields = (
            "raters_per_item", "third_rater", "batch_size", "lease_seconds", "shows_reading",
            "training_tries",
        )  # fmt: skip

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["shows_reading"].disabled = self.instance.study.state != Study.State.DRAFT
        self.fields["training_tries"].required = False  # none, if nobody says otherwise
        if battery_of(self.instance.study):  # which decides both
            del self.fields["raters_per_item"], self.fields["batch_size"], self.fields["third_rater"]
        elif any(each.is_sided for each in question_set(self.instance.study.question_set).questions):
            del self.fields["third_rater"]  # sides are shown turned round, so equal answers are not the same

    def clean_training_tries(self) -> int:
        tries: int = self.cleaned_data["training_tries"] or 0
        if problem := why_untrainable(question_set(self.instance.study.question_set), tries):
            raise ValidationError(problem)
        return tries


class ResponsesForm(forms.Form):
    """Responses of a run that are to be judged."""

    run = forms.ModelChoiceField(queryset=ResponseRun.objects.none(), label=_("Responses of"))

    def __init__(self, *args: Any, user: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["run"].queryset = real_runs_of(user)  # type: ignore[attr-defined]  # the field is a choice of models


class ConversationsForm(forms.Form):
    """Conversations of another study that are to be judged, turn by turn or as wholes."""

    source = forms.ModelChoiceField(
        queryset=Study.objects.none(), label=_("Conversations of"), widget=StudySelect
    )
    subject = forms.ChoiceField(label=_("What is judged"))
    language = forms.ChoiceField(
        label=_("Language"), help_text=_("Of these conversations. Workers who read it get them.")
    )
    conversations = forms.IntegerField(
        label=_("Number of conversations"),
        required=False,
        min_value=1,
        max_value=MOST_CONVERSATIONS,
        help_text=_("How many, drawn at random. Empty: all that are finished."),
    )

    def __init__(self, *args: Any, user: User, study: Study, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        sources = self.fields["source"]
        assert isinstance(sources, forms.ModelChoiceField)
        list_all(sources, real_studies_of(user).filter(task__in=keys_with_conversations()))
        self.fields["subject"].choices = subjects_of(study)  # type: ignore[attr-defined]  # a choice
        self.fields["language"].choices = [(code, code) for code in study.languages]  # type: ignore[attr-defined]

    def clean_subject(self) -> Subject:
        try:
            return Subject(self.cleaned_data["subject"])
        except ValueError as error:
            raise ValidationError(gettext("Choose what is judged: turns, or whole conversations.")) from error


def subjects_of(study: Study) -> list[tuple[str, str]]:
    """What of a conversation the study's questions can be about."""
    titles = {Subject.TURN: "The chatbot's turns, or both people's", Subject.DIALOGUE: "Whole conversations"}
    fitting = question_set(study.question_set).subjects
    return [(subject.value, title) for subject, title in titles.items() if subject in fitting]
