from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from typing_extensions import override

from accounts.models import User
from evaluation.questions import Subject
from questions.forms import QuestionSetField
from questions.resolving import question_set
from studies.ask_forms import subjects_of
from studies.asks import About, Asked
from studies.forms import ASKING, FIELDS, StudyForm, StudyPage
from studies.models import Study


class JudgingForm(StudyForm):
    """Everything about a study whose workers judge, but what they judge.

    Attributes:
        about: what the questions may be about.
    """

    about: ClassVar[set[About]] = {About.RESPONSE, About.DIALOGUE, About.CONTEXT}
    question_set = forms.Field()  # QuestionSetField, of whoever is at the page

    class Meta(StudyForm.Meta):
        fields = (*FIELDS, "material", *ASKING)

    def ask(self, user: User) -> None:
        """Offer the questions that this person may ask of readers."""
        chosen = self.instance.question_set
        self.initial["question_set"] = chosen
        self.fields["question_set"] = QuestionSetField(user, subjects_of(self.about), beside=chosen)
        self.fields["question_set"].disabled = (
            bool(self.instance.pk) and self.instance.state != Study.State.DRAFT
        )


class JudgingPage(StudyPage):
    """The study; what is judged in it is chosen in its queue."""

    template = "tasks/judging/form.html"
    study_form = JudgingForm

    @override
    def __init__(self, user: User, study: Study, data: Any = None) -> None:
        super().__init__(user, study, data)
        self.form.ask(user)  # type: ignore[attr-defined]  # a JudgingForm

    @override
    def asks(self) -> Sequence[Asked]:
        return [asked_of_readers(self.form.cleaned_data["question_set"])]


def asked_of_readers(key: str) -> Asked:
    """What a judging study asks with these questions."""
    subjects = question_set(key).subjects
    if subjects == {Subject.CONTEXT}:
        return Asked(key, About.CONTEXT)
    return Asked(key, About.DIALOGUE if subjects == {Subject.DIALOGUE} else About.RESPONSE)
