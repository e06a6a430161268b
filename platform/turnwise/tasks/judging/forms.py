from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext_lazy as _
from typing_extensions import override

from evaluation.questions import Subject
from turnwise.accounts.models import User
from turnwise.questions.resolving import question_set
from turnwise.studies.ask_forms import AskForm, AskForms
from turnwise.studies.asks import About, Asked
from turnwise.studies.forms import ASKING, FIELDS, StudyForm, StudyPage
from turnwise.studies.models import Study


class JudgingForm(StudyForm):
    """Everything about a study whose workers judge, but what they judge and what they are asked."""

    class Meta(StudyForm.Meta):
        fields = (*FIELDS, "material", *ASKING)


class ReadersAskForm(AskForm):
    """One ask of readers: which questions, and about what."""

    # What stands in the list; the first: as the questions themselves say.
    _ABOUT = (
        ("", _("What the questions are about")),
        (About.RESPONSE.value, _("Single replies: responses, or turns of conversations")),
        (About.DIALOGUE.value, _("Whole conversations")),
        (About.CONTEXT.value, _("How conversations begin, without a reply")),
    )

    @override
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        del self.fields["required"]
        is_fixed = self.fields["when"].disabled
        self.fields["when"] = forms.ChoiceField(
            label=_("About"), required=False, choices=self._ABOUT, disabled=is_fixed
        )

    @override
    @classmethod
    def initial_of(cls, ask: Asked) -> dict[str, Any]:
        is_usual = ask == asked_of_readers(ask.question_set)
        return {"question_set": ask.question_set, "when": "" if is_usual else ask.about.value}

    @override
    def clean(self) -> None:
        """Nothing more: what is not said follows from the questions."""

    @property
    @override
    def asked(self) -> Asked | None:
        key, about = self.cleaned_data.get("question_set"), self.cleaned_data.get("when")
        if not key:
            return None
        return Asked(key, About(about)) if about else asked_of_readers(key)


class ReadersAskForms(AskForms):
    """What readers are asked, in order."""

    about = frozenset({About.RESPONSE, About.DIALOGUE, About.CONTEXT})
    row = ReadersAskForm


class JudgingPage(StudyPage):
    """The study; what is judged in it is chosen in its queue."""

    template = "tasks/judging/form.html"
    study_form = JudgingForm
    ask_rows: ClassVar[type[AskForms]] = ReadersAskForms

    @override
    def __init__(self, user: User, study: Study, data: Any = None) -> None:
        super().__init__(user, study, data)
        self.ask_forms = self.ask_rows(user, study, data)

    @override
    def is_valid(self) -> bool:
        return all([super().is_valid(), self.ask_forms.is_valid()])

    @override
    def asks(self) -> Sequence[Asked]:
        return self.ask_forms.asked

    @override
    def shown(self) -> dict[str, Any]:
        return super().shown() | {"ask_forms": self.ask_forms}


def asked_of_readers(key: str) -> Asked:
    """What a judging study asks with these questions, if nobody says about what."""
    subjects = question_set(key).subjects
    if subjects == {Subject.CONTEXT}:
        return Asked(key, About.CONTEXT)
    return Asked(key, About.DIALOGUE if subjects == {Subject.DIALOGUE} else About.RESPONSE)
