"""Forms of experts and of adjudication."""

from collections.abc import Iterable, Mapping
from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from evaluation.questions import Answer, Kind, Question
from evaluation.report.adjudication import DEFAULT_STEPS
from turnwise.experts.models import LONGEST_REASON
from turnwise.judging.queue.shares import LARGEST_SHARE
from turnwise.studies.models import Study

RATER, ADJUDICATOR = "rater", "adjudicator"


class InviteForm(forms.Form):
    """Form to invite one expert."""

    name = forms.CharField(max_length=254, label=_("Name"))
    email = forms.EmailField(
        required=False,
        label=_("E-mail address"),
        help_text=_("For the letter that you send yourself, with the link in it."),
    )
    role = forms.ChoiceField(
        label=_("Role"),
        choices=((RATER, _("Judges items")), (ADJUDICATOR, _("Adjudicator: decides where raters differ"))),
    )
    share = forms.IntegerField(
        required=False,
        min_value=1,
        max_value=LARGEST_SHARE,
        label=_("Number of items"),
        help_text=_("Of an expert who judges. Empty: all items."),
    )


class ShareForm(forms.Form):
    """Form for the number of items of one expert; empty means all."""

    share = forms.IntegerField(
        required=False, min_value=1, max_value=LARGEST_SHARE, label=_("Number of items")
    )


class StepsForm(forms.Form):
    """Form that declares adjudication, before the study opens."""

    adjudicates = forms.BooleanField(required=False, label=_("An adjudicator decides where raters differ"))
    steps = forms.IntegerField(
        min_value=1,
        max_value=100,
        required=False,
        label=_("Steps of a scale by which raters differ"),
        help_text=_(
            "Between the lowest and the highest answer. 2: a difference of one step counts as agreement. Any "
            "other question differs if the answers are not the same."
        ),
    )

    def __init__(self, *args: Any, steps: int | None, is_fixed: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.initial.update({"adjudicates": steps is not None, "steps": steps or DEFAULT_STEPS})
        for field in self.fields.values():
            field.disabled = is_fixed

    @property
    def chosen(self) -> int | None:
        """Number of steps of a valid form; None: no adjudication."""
        given = self.cleaned_data
        return (given["steps"] or DEFAULT_STEPS) if given["adjudicates"] else None


class DecisionForm(forms.Form):
    """Form for the answers to the open questions of an item, with the reason."""

    reason = forms.CharField(
        max_length=LONGEST_REASON,
        label=_("Reason"),
        error_messages={"required": _("Please say why in a few words.")},
        widget=forms.Textarea(attrs={"rows": 3}),
    )
    after = forms.IntegerField(min_value=0, max_value=32_000, widget=forms.HiddenInput)

    def __init__(
        self, *args: Any, questions: Iterable[Question], known: Mapping[str, Answer | None], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.fields["reason"].required = "undo" not in self.data
        self.questions = list(questions)
        for question in self.questions:
            self._add(question, known.get(question.key))

    def _add(self, question: Question, known: Answer | None) -> None:
        name = field_of(question)
        choices = [(str(n), choice.label) for n, choice in enumerate(question.choices)]
        if question.kind is Kind.SEVERAL:
            several = forms.MultipleChoiceField(
                label=question.wording, choices=choices, required=False, widget=forms.CheckboxSelectMultiple
            )
            self.fields[name] = several
            given = known if isinstance(known, list) else []
            self.initial[name] = [str(question.index_of(each)) for each in given]
        else:
            one = forms.ChoiceField(
                label=question.wording, choices=choices, required=False, widget=forms.RadioSelect
            )
            self.fields[name] = one
            self.initial[name] = "" if known is None else str(question.index_of(known))

    @property
    def question_fields(self) -> list[forms.BoundField]:
        return [self[field_of(question)] for question in self.questions]

    def answers(self) -> dict[str, object]:
        """Answers of a valid form by key of the question; None for no answer."""
        found: dict[str, object] = {}
        for question in self.questions:
            given = self.cleaned_data[field_of(question)]
            if isinstance(given, list):
                found[question.key] = [question.choices[int(number)].value for number in given]
            else:
                found[question.key] = question.choices[int(given)].value if given else None
        return found


def field_of(question: Question) -> str:
    """Name of the form field of a question."""
    return f"answer-{question.key}"


class GoldForm(forms.Form):
    """Form that chooses the draft in which decided items become gold items."""

    study = forms.ModelChoiceField(queryset=Study.objects.none(), label=_("Study"))

    def __init__(self, drafts: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["study"].queryset = drafts  # type: ignore[attr-defined]  # a choice of models
