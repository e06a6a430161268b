"""Form of the planner, with variances from an earlier study, from a publication, or typed."""

from typing import Any

from django import forms
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _t
from django.utils.translation import gettext_lazy as _

from evaluation.questions import bounds
from evaluation.statistics.inference import samples
from evaluation.statistics.interval import Undefined
from evaluation.statistics.planning import Allocation, Components, Design
from evaluation.statistics.study_plans import StudyPlan, Wanted, study_plan
from evaluation.statistics.variance_components import components
from turnwise.accounts.models import User
from turnwise.comparisons.scores import LabelSelection, TooMuchError, conversations
from turnwise.questions.question_sets import question_set
from turnwise.reports.report_kinds import ReportedTask
from turnwise.studies.asks import About
from turnwise.studies.models import Study
from turnwise.studies.queries import readable_real_studies_of
from turnwise.studies.tasks import keys_of

MOST_LISTED = 50


class StudyField(forms.ModelChoiceField):  # type: ignore[type-arg]
    """Earlier study, labelled with its title and date."""

    def label_from_instance(self, obj: Study) -> str:
        return f"{obj.title} ({obj.created_at:%Y-%m-%d})"


class PlannerForm(forms.Form):
    """Smallest difference that matters, what each worker does, and how scores vary."""

    kind = forms.ChoiceField(
        label=_("Kind of study"),
        choices=[
            ("conversations", _("Conversations with bots")),
            ("judging", _("Judging of responses or conversations")),
            ("pairs", _("Pairs side by side")),
        ],
    )
    difference = forms.FloatField(
        label=_("Smallest difference that matters"),
        initial=5,
        help_text=_("In points: 5 of a share in percent, or 0.3 of a scale. Of pairs: above 50 %."),
    )
    power = forms.FloatField(
        label=_("Power in percent"), initial=80, help_text=_("How often a study of this size detects it.")
    )
    systems = forms.IntegerField(label=_("Number of bots or systems"), initial=2, max_value=50)
    per_worker = forms.IntegerField(
        label=_("Conversations or judgments of each worker"), initial=1, max_value=10_000
    )
    allocation = forms.ChoiceField(
        label=_("Bots of each worker"),
        choices=[
            (Allocation.RANDOM.value, _("by chance")),
            (Allocation.BALANCED.value, _("each bot equally often")),
            (Allocation.ONE_SYSTEM.value, _("one bot only")),
        ],
    )
    raters = forms.IntegerField(
        label=_("Raters of each item"), initial=1, max_value=1_000, help_text=_("Of judging and pairs.")
    )
    study = StudyField(
        queryset=Study.objects.none(),
        required=False,
        label=_("Variances from an earlier study"),
        empty_label=_("None: use the numbers below"),
        help_text=_("Those of its main score, over all its bots and workers."),
    )
    deviation = forms.FloatField(
        label=_("Standard deviation in points"),
        required=False,
        help_text=_(
            "Between conversations, or between judgments. Meena's publication implies 10; pairs: 50."
        ),
    )
    worker = forms.FloatField(
        label=_("Share of the variance between workers, percent"), initial=0, required=False
    )
    worker_by_system = forms.FloatField(
        label=_("Share of workers' taste for a bot, percent"), initial=0, required=False
    )
    context = forms.FloatField(
        label=_("Share between contexts, percent"), initial=0, required=False, help_text=_("Of judging.")
    )
    correlation = forms.FloatField(
        label=_("Correlation of a machine judge with people"),
        required=False,
        help_text=_("From -1 to 1. Empty: no judge."),
    )
    judged_only = forms.FloatField(
        label=_("Items that only the judge labels, for each of people's"), required=False, initial=0
    )
    minutes = forms.FloatField(label=_("Minutes of a conversation or judgment"), initial=10)
    pay = forms.FloatField(label=_("Pay of an hour"), initial=12)

    def __init__(self, data: Any, *, user: User | AnonymousUser) -> None:
        super().__init__(data)
        opened = readable_real_studies_of(user).exclude(state=Study.State.DRAFT)
        offered = opened.filter(task__in=keys_of(ReportedTask)).order_by("-created_at")
        field = self.fields["study"]
        assert isinstance(field, StudyField)
        field.queryset = offered
        newest = [(each.pk, field.label_from_instance(each)) for each in offered[:MOST_LISTED]]
        field.widget.choices = [("", field.empty_label), *newest]
        self.plan: StudyPlan | None = None
        self.variances: Components | None = None

    def clean(self) -> dict[str, Any]:
        """Compute the `plan` if all fields are valid."""
        values = self.cleaned_data
        if self.errors:
            return values
        try:
            self.variances, most = self._variances()
            self.plan = study_plan(
                Wanted(
                    values["difference"],
                    most,
                    values["power"] / 100,
                    minutes=values["minutes"],
                    pay=values["pay"],
                ),
                self.variances,
                self._design(),
            )
        except ValueError as error:
            raise ValidationError(str(error)) from None
        return values

    def _design(self) -> Design:
        values = self.cleaned_data
        kind = values["kind"]
        return Design(
            per_worker=values["per_worker"],
            per_context=1 if kind == "conversations" else values["raters"],
            systems=values["systems"],
            allocation=Allocation.PREFERENCE if kind == "pairs" else Allocation(values["allocation"]),
            shares_contexts=kind == "judging",
            correlation=values["correlation"] or 0.0,
            judged_only=values["judged_only"] or 0.0,
        )

    def _variances(self) -> tuple[Components, float]:
        """Variances in squared points, and the largest possible difference."""
        values = self.cleaned_data
        if values["study"] and values["kind"] == "pairs":
            raise ValueError(
                _t("Scores of an earlier study do not show how choices vary. Type 50 as deviation.")
            )
        if values["study"]:
            return study_components(values["study"])
        if values["deviation"] is None:
            raise ValueError(
                _t("A plan needs variance. Choose an earlier study, or type the standard deviation.")
            )
        shares = {name: (values[name] or 0.0) / 100 for name in ("worker", "worker_by_system", "context")}
        return Components.from_shares(values["deviation"], **shares), 50.0 if values[
            "kind"
        ] == "pairs" else 100.0


def study_components(study: Study) -> tuple[Components, float]:
    """Variances of the main score of a study's first ask, in squared points, and the scale's length.

    Raises:
        ValueError: the study has no such labels, too many, or no spread; says which.
    """
    asks = study.work_asks
    if not asks:
        raise ValueError(_t("This study asks nothing, so it shows no spread."))
    questions = question_set(asks[0].question_set)
    score = questions.main_score
    if score is None:
        raise ValueError(_t("The first questions of this study have no score. Type the standard deviation."))
    nth = [each.key for each in questions.scores].index(score.key)
    try:
        talks = conversations([study.pk], LabelSelection(questions, whole=asks[0].about == About.DIALOGUE))
    except TooMuchError as error:
        raise ValueError(str(error)) from None
    rows = [
        (str(talk.bot), value, str(talk.dialogue), str(rater))
        for talk in talks
        for rater, value in zip(talk.raters, talk.values[nth], strict=True)
        if value is not None
    ]
    if not rows:
        raise ValueError(_t("This study has no finished conversations with answers, so it shows no spread."))
    bots, values, dialogues, raters = zip(*rows, strict=True)
    low, high = bounds(questions, score)
    found = components(samples(bots, [score.factor * each for each in values], dialogues, raters))
    if isinstance(found, Undefined):
        raise ValueError(found.reason)
    return found, score.factor * (high - low)
