"""The forms in which a study's asks are chosen."""

from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from evaluation.questions import Subject
from questions.forms import QuestionSetField
from studies.asks import About, Asked, Moment
from studies.models import Study
from studies.services import SUBJECTS, refuse_unfit
from studies.tasks import StudyTask, task_of

SPARE = 1
"""Empty rows beneath those in use; saving brings another."""

# What stands in the list "when"; a whole conversation is judged in one moment only.
_WHEN = {
    About.PARTNER_TURN: {
        Moment.EACH_TURN: _("Under each reply, before the next message"),
        Moment.BEFORE_FINISH: _("Under each reply, any time before the end"),
        Moment.WAITING: _("While the next reply is awaited"),
    },
    About.OWN_TURN: {
        Moment.WAITING: _("Of each own message, while the reply is awaited"),
        Moment.BEFORE_FINISH: _("Of each own message, any time before the end"),
    },
    About.DIALOGUE: {Moment.AT_END: _("Of the whole conversation, at its end")},
}


_MOMENTS = [(f"{about}:{moment}", said) for about, each in _WHEN.items() for moment, said in each.items()]


class AskForm(forms.Form):
    """One ask of those who talk: which questions, and when, which says about what."""

    question_set = forms.Field()  # QuestionSetField, of whoever is at the page
    when = forms.ChoiceField(label=_("Asked"), choices=_MOMENTS, required=False)
    required = forms.BooleanField(
        label=_("Must be answered"), required=False, initial=True, widget=forms.CheckboxInput
    )

    def __init__(self, *args: Any, user: User, is_fixed: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["question_set"] = QuestionSetField(
            user,
            subjects_of({About.PARTNER_TURN, About.OWN_TURN, About.DIALOGUE}),
            beside=self.initial.get("question_set", ""),
            nothing=_("Nothing"),
            help_text="",
        )
        for field in self.fields.values():
            field.disabled = is_fixed

    def clean(self) -> None:
        super().clean()
        if self.cleaned_data.get("question_set") and not self.cleaned_data.get("when"):
            self.add_error("when", _("Choose when these questions are asked."))

    @property
    def chosen(self) -> list[forms.BoundField]:
        """The two lists, for the page: neither is optional in a row that asks something."""
        return [self["question_set"], self["when"]]

    @property
    def asked(self) -> Asked | None:
        """Of a valid form; None if nothing is asked."""
        if not self.cleaned_data.get("question_set"):
            return None
        about, moment = self.cleaned_data["when"].split(":")
        return Asked(
            self.cleaned_data["question_set"], About(about), Moment(moment), self.cleaned_data["required"]
        )


class AskForms:
    """All asks of a study whose workers talk, a row each, the most important first."""

    def __init__(self, user: User, study: Study, data: Any) -> None:
        self._task: StudyTask = task_of(study)
        asked = [ask.declared for ask in study.asked] or list(self._task.asks)
        is_fixed = bool(study.pk) and study.state != Study.State.DRAFT
        rows = len(asked) + (0 if is_fixed else SPARE)
        if data is not None:
            rows = max(rows, min(_count(data.get("asks-rows")), 40))
        self.rows = [
            AskForm(
                data,
                prefix=f"asks-{number}",
                initial=_initial(asked[number]) if number < len(asked) else {"required": True},
                user=user,
                is_fixed=is_fixed,
            )
            for number in range(rows)
        ]
        self.errors: list[str] = []

    def is_valid(self) -> bool:
        if any([not row.is_valid() for row in self.rows]):  # noqa: C419  # every row says what is wrong
            return False
        try:
            refuse_unfit(self._task, self.asked)
        except ValidationError as error:
            self.errors = error.messages
        return not self.errors

    @property
    def asked(self) -> list[Asked]:
        """Of valid forms."""
        return [row.asked for row in self.rows if row.asked]


def subjects_of(abouts: set[About]) -> frozenset[Subject]:
    """What question sets must be able to be about, one of these, to be asked so."""
    return frozenset().union(*(SUBJECTS[about] for about in abouts))


def _initial(ask: Asked) -> dict[str, Any]:
    return {
        "question_set": ask.question_set,
        "when": f"{ask.about}:{ask.moment}",
        "required": ask.required,
    }


def _count(sent: str | None) -> int:
    return int(sent) if sent and sent.isascii() and sent.isdigit() and len(sent) < 4 else 0
