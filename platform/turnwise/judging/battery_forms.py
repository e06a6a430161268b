from collections.abc import Sequence
from typing import Any, ClassVar

from django import forms
from django.contrib.postgres.forms import SimpleArrayField
from django.utils.translation import gettext_lazy as _

from evaluation.questions import QuestionSet
from turnwise.judging.models import Battery
from turnwise.studies.models import Study

MOST_POSITIONS = 500


class BatteryForm(forms.ModelForm[Battery]):
    """What every worker of a study gets, and by which rules the report proposes whom to exclude."""

    targets = forms.MultipleChoiceField(
        label=_("Targets: one item of each"), widget=forms.CheckboxSelectMultiple, required=False
    )
    fillers_of = forms.MultipleChoiceField(
        label=_("Fillers come from"), widget=forms.CheckboxSelectMultiple, required=False
    )
    compared_with = forms.ChoiceField(
        label=_("Compared with"), help_text=_("The report compares the others with this one."), required=False
    )
    reasons_at = SimpleArrayField(
        forms.IntegerField(min_value=1, max_value=MOST_POSITIONS),
        label=_("Positions at which a reason is asked for"),
        required=False,
        help_text=_(
            "Separated by commas, such as: 5, 15. There the free-text question is asked, too. With several "
            "sets of questions: positions among the items of each that has one."
        ),
    )
    filler_question = forms.ChoiceField(label=_("Known rating of the fillers"), required=False)

    class Meta:
        model = Battery
        fields = (
            "targets", "fillers_of", "fillers", "repeats", "compared_with", "reasons_at", "workers", "seed",
            "repeat_points", "repeat_questions", "least_spread", "least_seconds", "filler_question",
            "filler_least", "filler_misses",
        )  # fmt: skip
        labels: ClassVar = {
            "fillers": _("Fillers"),
            "repeats": _("Fillers that come twice"),
            "workers": _("Workers"),
            "seed": _("Seed"),
            "repeat_points": _("What comes twice: more points apart than"),
            "repeat_questions": _("On at least this many questions"),
            "least_spread": _("Standard deviation of the sum of ratings below"),
            "least_seconds": _("Median seconds to an answer below"),
            "filler_least": _("Wrong below"),
            "filler_misses": _("Wrong fillers allowed"),
        }
        help_texts: ClassVar = {
            "fillers": _("In every battery, all different."),
            "repeats": _("Their two judgments tell how well workers repeat themselves."),
            "workers": _("Each gets one battery. In a study of several languages: in each language."),
        }

    def __init__(
        self, *args: Any, systems: Sequence[str], sets: Sequence[QuestionSet], **kwargs: Any
    ) -> None:
        super().__init__(*args, **kwargs)
        named = [(name, name) for name in systems]
        rated = {
            each.key: each.wording for questions in sets for each in questions.questions if each.has_mean
        }
        for name, choices in (
            ("targets", named),
            ("fillers_of", named),
            ("compared_with", [("", _("choose a target")), *named]),
            ("filler_question", [("", _("none")), *rated.items()]),
        ):
            self.fields[name].choices = choices  # type: ignore[attr-defined]  # a choice
        if self.instance.plan.study.state != Study.State.DRAFT:
            for name in self.fields.keys() - {"workers"}:
                self.fields[name].disabled = True
