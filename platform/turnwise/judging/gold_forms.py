from collections.abc import Sequence
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _now
from django.utils.translation import gettext_lazy as _

from evaluation.questions import Answer, Question
from turnwise.judging.gold import MOST_BYTES, Gold
from turnwise.judging.models import JudgingPlan

_INSTRUCTED_TEXT = _("It says itself what to answer, such as “Please answer Yes here”: an attention check.")


class NumberForm(forms.ModelForm[JudgingPlan]):
    """How many gold items every worker gets."""

    class Meta:
        model = JudgingPlan
        fields = ("gold_items",)


class FileForm(forms.Form):
    """Gold from a CSV file."""

    file = forms.FileField(
        label=_("CSV file"),
        help_text=_("With the columns item, question and right, a row for each right answer. A column "
                    "“instructed” with yes makes an attention check."),
    )  # fmt: skip

    def clean_file(self) -> str:
        file = self.cleaned_data["file"]
        if file.size > MOST_BYTES:
            raise ValidationError(_now("The file is larger than 1\u00a0MB. Split it."))
        try:
            return str(file.read().decode("utf-8-sig").replace("\x00", ""))
        except UnicodeDecodeError:
            raise ValidationError(
                _now("The file is not in UTF-8. Save it in UTF-8, and try again.")
            ) from None


class RightForm(forms.Form):
    """What one item is to be answered with."""

    is_instructed = forms.BooleanField(required=False, label=_INSTRUCTED_TEXT)

    def __init__(
        self, *args: Any, questions: Sequence[Question], known: Gold | None = None, **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        self.questions = questions
        self.initial["is_instructed"] = bool(known and known.is_instructed)
        for question in questions:
            name = f"right-{question.key}"
            self.fields[name] = forms.MultipleChoiceField(
                label=question.wording,
                choices=[(str(n), choice.label) for n, choice in enumerate(question.choices)],
                required=False,
                widget=forms.CheckboxSelectMultiple,
            )
            right = known.right.get(question.key, ()) if known else ()
            self.initial[name] = [str(question.index_of(answer)) for answer in right]

    @property
    def rights(self) -> list[forms.BoundField]:
        return [self[f"right-{question.key}"] for question in self.questions]

    def gold(self) -> Gold:
        """What was sent; the form is valid."""
        right: dict[str, list[Answer]] = {}
        for question in self.questions:
            numbers = self.cleaned_data[f"right-{question.key}"]
            if numbers:
                right[question.key] = [question.choices[int(number)].value for number in numbers]
        return Gold(right, self.cleaned_data["is_instructed"])
