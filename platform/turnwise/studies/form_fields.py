"""Form fields to choose among many studies, and the forms in which a study's asks are chosen."""

from collections.abc import Collection, Set
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Q, QuerySet, prefetch_related_objects
from django.forms.utils import flatatt
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy as _
from typing_extensions import override

from evaluation.questions import Subject
from turnwise.accounts.models import User
from turnwise.questions.forms import QuestionSetField
from turnwise.studies.ask_rules import SUBJECTS, refuse_unfit
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import LONGEST_TAG, Study
from turnwise.studies.tasks import StudyTask, task_of

MOST_OFFERED = 100


def filter_studies(studies: QuerySet[Study], sought: str) -> QuerySet[Study]:
    """Filter studies by a part of the title or by a tag."""
    if not sought:
        return studies
    return studies.filter(Q(title__icontains=sought) | Q(tags__contains=[sought.lower()[:LONGEST_TAG]]))


def list_newest(
    field: "forms.ModelMultipleChoiceField[Study]", choice_fields: Collection[int], *, sought: str = ""
) -> int:
    """Offer the newest studies that match the search, and the chosen ones; any study may be submitted.

    Returns:
        Number of matching studies that are not listed.
    """
    assert field.queryset is not None
    found = filter_studies(field.queryset, sought)
    newest = list(found.order_by("-created_at", "-pk")[: MOST_OFFERED + 1])
    shown = newest[:MOST_OFFERED]
    missing = set(choice_fields) - {study.pk for study in shown}
    shown += field.queryset.filter(pk__in=missing) if missing else []
    prefetch_related_objects(shown, "asks")  # which labels name
    field.widget.choices = [(study.pk, field.label_from_instance(study)) for study in shown]
    return max(0, found.count() - MOST_OFFERED) if len(newest) > MOST_OFFERED else 0


class StudySelect(forms.Select):
    """Select of many studies, rendered without a template for each option."""

    @override
    def render(self, name: str, value: Any, attrs: Any = None, renderer: Any = None) -> SafeString:
        choice_fields = "" if value is None else str(value)
        rows = ((key, " selected" if str(key) == choice_fields else "", title) for key, title in self.choices)
        options = format_html_join("\n", '<option value="{}"{}>{}</option>', rows)
        return format_html("<select{}>{}</select>", flatatt(self.build_attrs({"name": name}, attrs)), options)


def list_all(field: "forms.ModelChoiceField[Study]", studies: QuerySet[Study]) -> None:
    """Offer all of these studies in a select field, by title."""
    field.queryset = studies
    titles = list(studies.values_list("pk", "title"))
    field.widget.choices = [("", field.empty_label), *titles]


EMPTY_ROWS = 1
"""Number of empty rows below those in use."""

# Options of the list "when"; a whole conversation is judged at one moment only.
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
    About.PERSON: {
        Moment.BEFORE_WORK: _("Before they begin"),
        Moment.AFTER_WORK: _("When their work is done"),
    },
}
TALK_ABOUTS = frozenset({About.PARTNER_TURN, About.OWN_TURN, About.DIALOGUE})
PERSON_ABOUTS = frozenset({About.PERSON})


class AskForm(forms.Form):
    """One ask: its question set, and when it is asked, which determines its subject."""

    question_set = forms.Field()  # QuestionSetField, for the user of the page
    when = forms.ChoiceField(label=_("Asked"), required=False)
    required = forms.BooleanField(
        label=_("Must be answered"), required=False, initial=True, widget=forms.CheckboxInput
    )

    def __init__(
        self, *args: Any, user: User, about: frozenset[About], is_fixed: bool = False, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.fields["when"].choices = [  # type: ignore[attr-defined]  # a choice
            (f"{each}:{moment}", label)
            for each, moments in _WHEN.items()
            if each in about
            for moment, label in moments.items()
        ]
        self.fields["question_set"] = QuestionSetField(
            user,
            subjects_of(about),
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

    @classmethod
    def initial_of(cls, ask: AskSpec) -> dict[str, Any]:
        """Initial values of a row with this ask."""
        return {
            "question_set": ask.question_set,
            "when": f"{ask.about}:{ask.moment}",
            "required": ask.required,
        }

    @property
    def choice_fields(self) -> list[forms.BoundField]:
        """The two select fields; a row that asks something needs both."""
        return [self["question_set"], self["when"]]

    @property
    def ask_spec(self) -> AskSpec | None:
        """The ask of a valid form; None if the row is empty."""
        if not self.cleaned_data.get("question_set"):
            return None
        about, moment = self.cleaned_data["when"].split(":")
        return AskSpec(
            self.cleaned_data["question_set"], About(about), Moment(moment), self.cleaned_data["required"]
        )


class AskForms:
    """Forms for the asks of a study, one row each, the most important first.

    Attributes:
        about: possible subjects of the asks.
        prefix: of the field names.
        row: form of one row.
    """

    about = TALK_ABOUTS
    prefix = "asks"
    row: type[AskForm] = AskForm

    def __init__(self, user: User, study: Study, data: Any) -> None:
        self._task: StudyTask = task_of(study)
        asked = self._stored_asks(study)
        is_fixed = bool(study.pk) and study.state != Study.State.DRAFT
        rows = len(asked) + (0 if is_fixed else EMPTY_ROWS)
        if data is not None:
            rows = max(rows, min(_count(data.get(f"{self.prefix}-rows")), 40))
        self.rows = [
            self.row(
                data,
                prefix=f"{self.prefix}-{number}",
                initial=self.row.initial_of(asked[number]) if number < len(asked) else {"required": True},
                user=user,
                about=self.about,
                is_fixed=is_fixed,
            )
            for number in range(rows)
        ]
        self.errors: list[str] = []

    def _stored_asks(self, study: Study) -> list[AskSpec]:
        return [ask.declared for ask in study.work_asks] or list(self._task.asks)

    def is_valid(self) -> bool:
        if any([not row.is_valid() for row in self.rows]):  # noqa: C419  # every row says what is wrong
            return False
        try:
            self._refuse()
        except ValidationError as error:
            self.errors = error.messages
        return not self.errors

    def _refuse(self) -> None:
        refuse_unfit(self._task, self.ask_specs)

    @property
    def has_errors(self) -> bool:
        return bool(self.errors) or any(row.errors for row in self.rows)

    @property
    def ask_specs(self) -> list[AskSpec]:
        """The asks of valid forms."""
        return [row.ask_spec for row in self.rows if row.ask_spec]


class QuestionnaireForms(AskForms):
    """Forms for asks about the people themselves; without rows if the task has no workers."""

    about = PERSON_ABOUTS
    prefix = "people"

    @override
    def __init__(self, user: User, study: Study, data: Any) -> None:
        super().__init__(user, study, data)
        if not self._task.has_workers:
            self.rows = []

    @override
    def _stored_asks(self, study: Study) -> list[AskSpec]:
        return [ask.declared for ask in study.questionnaires]

    @override
    def _refuse(self) -> None:
        refuse_unfit(self._task, [*self._task.asks, *self.ask_specs])


def subjects_of(abouts: Set[About]) -> frozenset[Subject]:
    """Subjects of which a question set must support one, to be asked about any of `abouts`."""
    return frozenset().union(*(SUBJECTS[about] for about in abouts))


def _count(sent: str | None) -> int:
    return int(sent) if sent and sent.isascii() and sent.isdigit() and len(sent) < 4 else 0
