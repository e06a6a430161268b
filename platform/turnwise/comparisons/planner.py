"""Form of the planner, with variances from an earlier study, from a publication, or typed."""

from typing import Any

from django import forms
from django.contrib.auth.models import AnonymousUser
from django.core.exceptions import ValidationError
from django.utils.translation import gettext as _t
from django.utils.translation import gettext_lazy as _

from evaluation.planning.power import Allocation, Components, Design
from evaluation.planning.study_plans import Goal, StudyPlan, components, study_plan
from evaluation.questions import bounds
from evaluation.statistics.inference import samples
from evaluation.statistics.interval import Undefined
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


ADVANCED = ("worker_by_system", "context", "correlation", "judged_only")
"""Fields that most plans leave empty; the page folds them."""

PAIRS_DEVIATION, PAIRS_MOST = 50.0, 50.0
"""Of choices between two, in points: the largest standard deviation, and the largest distance from 50 %."""


def _share(label: Any, help_text: Any = "") -> forms.FloatField:
    return forms.FloatField(
        label=label, initial=0, min_value=0, max_value=100, required=False, help_text=help_text
    )


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
        label=_("Smallest difference that matters, in points"),
        initial=5,
        help_text=_(
            "The smallest difference between two bots that would change your decision: 5 on a scale of 0 to "
            "100, or 0.3 on a scale of 1 to 5. For pairs, points above one half."
        ),
    )
    power = forms.FloatField(
        label=_("Power in percent"),
        initial=80,
        min_value=1,
        max_value=99.9,
        help_text=_("Of 100 such studies, how many should detect the difference. 80 is usual."),
    )
    systems = forms.IntegerField(label=_("Number of bots or systems"), initial=2, min_value=2, max_value=50)
    per_worker = forms.IntegerField(
        label=_("Conversations or judgments of each worker"), initial=1, min_value=1, max_value=10_000
    )
    allocation = forms.ChoiceField(
        label=_("Bots that each worker gets"),
        choices=[
            (Allocation.RANDOM.value, _("A random bot each time")),
            (Allocation.BALANCED.value, _("Each bot equally often")),
            (Allocation.ONE_SYSTEM.value, _("Always the same bot")),
        ],
        help_text=_("It matters only if workers have several. Not used for pairs."),
    )
    raters = forms.IntegerField(
        label=_("Raters of each item"),
        initial=1,
        min_value=1,
        max_value=1_000,
        help_text=_("Only for judging and pairs."),
    )
    study = StudyField(
        queryset=Study.objects.none(),
        required=False,
        label=_("Plan from an earlier study"),
        empty_label=_("None: use the numbers below"),
        help_text=_("How scores vary is taken from its main score, over all its bots and workers."),
    )
    deviation = forms.FloatField(
        label=_("Standard deviation in points"),
        required=False,
        help_text=_(
            "How far the score of a conversation, or a judgment, typically lies from the bot's mean. Take it "
            "from a pilot or a publication: Meena's implies 10 points. Pairs need none."
        ),
    )
    low = forms.FloatField(label=_("Lowest possible score"), initial=0)
    high = forms.FloatField(
        label=_("Highest possible score"),
        initial=100,
        help_text=_("0 and 100 for a share in percent, 1 and 5 for a five-point scale."),
    )
    worker = _share(
        _("Percent of the variance between workers"),
        _("Some workers give higher scores than others. It matters only if workers have several."),
    )
    worker_by_system = _share(
        _("Percent of the variance due to workers' preference for a bot"),
        _("Some workers like one bot more than another."),
    )
    context = _share(
        _("Percent of the variance between contexts"),
        _("Some contexts are harder for all systems. Only for judging."),
    )
    correlation = forms.FloatField(
        label=_("Correlation of a machine judge with people"),
        required=False,
        min_value=-1,
        max_value=1,
        help_text=_("From -1 to 1. Empty: no judge."),
    )
    judged_only = forms.FloatField(
        label=_("Items that only the judge labels, for each item that people label"),
        required=False,
        initial=0,
        min_value=0,
        max_value=1_000_000,
    )
    minutes = forms.FloatField(
        label=_("Minutes for a conversation or judgment"), initial=10, min_value=0, max_value=10_000
    )
    pay = forms.FloatField(label=_("Pay for an hour"), initial=12, min_value=0, max_value=1_000_000)
    currency = forms.RegexField(
        "^[A-Za-z]{3}$",
        label=_("Currency"),
        initial="USD",
        max_length=3,
        error_messages={"invalid": _("Type the three letters of a currency, such as USD or EUR.")},
    )

    def __init__(self, data: Any, *, user: User | AnonymousUser, chosen: str = "") -> None:
        """Form with values, or empty.

        Args:
            data: values; None for a form that nobody has sent.
            user: the person who plans.
            chosen: id of the study from which an empty form starts.
        """
        super().__init__(data)
        opened = readable_real_studies_of(user).exclude(state=Study.State.DRAFT)
        offered = opened.filter(task__in=keys_of(ReportedTask)).order_by("-created_at")
        field = self.fields["study"]
        assert isinstance(field, StudyField)
        field.queryset = offered
        listed = list(offered[:MOST_LISTED])
        chosen = str(data.get("study", "")) if data is not None else chosen
        study = (
            offered.filter(pk=int(chosen)).first()
            if chosen.isascii() and chosen.isdecimal() and len(chosen) < 16
            else None
        )
        if study and study not in listed:
            listed.append(study)
        field.widget.choices = [
            ("", field.empty_label),
            *((each.pk, field.label_from_instance(each)) for each in listed),
        ]
        if study and data is None:
            self.initial = _start_from(study)
        self.plan: StudyPlan | None = None
        self.variances: Components | None = None

    @property
    def advanced(self) -> list[forms.BoundField]:
        """Fields of the fold."""
        return [self[name] for name in ADVANCED]

    @property
    def uses_advanced(self) -> bool:
        """True if a field of the fold has a value or an error."""
        values = (self[name].value() for name in ADVANCED)
        return any(self[name].errors for name in ADVANCED) or any(
            each not in (None, "", 0, "0") for each in values
        )

    def clean_difference(self) -> float:
        difference: float = self.cleaned_data["difference"]
        if difference <= 0:
            raise ValidationError(
                _t("The difference must be above 0: no study shows that two bots are exactly equal.")
            )
        return difference

    def clean_currency(self) -> str:
        currency: str = self.cleaned_data["currency"]
        return currency.upper()

    def clean(self) -> dict[str, Any]:
        """Compute the `plan` if all fields are valid."""
        values = self.cleaned_data
        if self.errors:
            return values
        try:
            self.variances, most = self._variances()
            _check_difference(values["difference"], most)
            self.plan = study_plan(
                Goal(
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
        if bool(values["correlation"]) != bool(values["judged_only"]):
            raise ValueError(
                _t(
                    "A machine judge needs both numbers: its correlation with people, and how many items "
                    "only the judge labels. Without a judge, leave both empty."
                )
            )
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
        is_pairs = values["kind"] == "pairs"
        if values["study"] and is_pairs:
            raise ValueError(
                _t("Scores of an earlier study do not show how choices vary. Choose no study for pairs.")
            )
        if values["study"]:
            return study_components(values["study"])
        deviation = PAIRS_DEVIATION if is_pairs and values["deviation"] is None else values["deviation"]
        if deviation is None:
            raise ValueError(
                _t("A plan needs variance. Choose an earlier study, or type the standard deviation.")
            )
        low, high = (0.0, 100.0) if is_pairs else (values["low"], values["high"])
        _check_deviation(deviation, low, high)
        shares = {name: (values[name] or 0.0) / 100 for name in ("worker", "worker_by_system", "context")}
        if (together := sum(shares.values())) > 1 + 1e-9:
            raise ValueError(
                _t("The percentages of the variance add up to %(sum)g; together they can be at most 100.")
                % {"sum": 100 * together}
            )
        return Components.from_shares(deviation, **shares), PAIRS_MOST if is_pairs else high - low


def _check_deviation(deviation: float, low: float, high: float) -> None:
    """Refuse a scale without length, and a deviation that no scores on it can have."""
    if low >= high:
        raise ValueError(_t("The highest possible score must be above the lowest."))
    if not 0 < deviation <= (high - low) / 2:
        raise ValueError(
            _t(
                "The standard deviation must be above 0 and at most %(most)g: scores from %(low)g to "
                "%(high)g cannot vary more."
            )
            % {"most": (high - low) / 2, "low": low, "high": high}
        )


def _check_difference(difference: float, most: float) -> None:
    if difference > most:
        raise ValueError(
            _t("A difference of %(difference)g points is impossible: it can be at most %(most)g.")
            % {"difference": difference, "most": most}
        )


def _start_from(study: Study) -> dict[str, Any]:
    """First values of a plan from this study: its bots, its pay for an hour and its currency."""
    bots = study.study_bots.filter(target__gt=0).count()
    pay = float(study.pay_amount) * 60 / study.expected_minutes
    start: dict[str, Any] = {"study": study.pk, "currency": study.pay_currency, "pay": round(pay, 2)}
    # A worker of a queue has a whole batch in this time, so only conversations have it each.
    if bots > 1:
        start |= {"systems": bots, "minutes": study.expected_minutes}
    return start


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
