"""Pages of a study's plan with its files, and of its stopping rule: declared in a draft, then only shown."""

import math
from itertools import combinations
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_GET, require_POST

from evaluation.report.publishing.preregistration import as_markdown, as_text
from evaluation.report.publishing.registry_forms import as_predicted, osf
from turnwise.questions.question_sets import question_set
from turnwise.studies.models import Preregistration, StoppingRule, Study
from turnwise.studies.plans.preregistration import plan_of
from turnwise.studies.plans.stopping import (
    bots_to_compare,
    declare_rule,
    remove_rule,
    scores_of,
    stopping_rule_of,
    why_rule_unfit,
)
from turnwise.studies.queries import real_studies_of, studies_of
from turnwise.studies.services import PROTOCOL_FIELDS
from turnwise.studies.sharing.permissions import Permission
from turnwise.studies.tasks import keys_with_stopping_rule

_JSON, _MARKDOWN = "application/json", "text/markdown; charset=utf-8"
_FILES = {
    "json": (as_text, _JSON, "plan.json"),
    "md": (as_markdown, _MARKDOWN, "plan.md"),
    "aspredicted": (lambda plan: as_predicted(plan).markdown(), _MARKDOWN, "aspredicted.md"),
    "aspredicted-json": (lambda plan: as_predicted(plan).json(), _JSON, "aspredicted.json"),
    "osf": (lambda plan: osf(plan).markdown(), _MARKDOWN, "osf-preregistration.md"),
    "osf-json": (lambda plan: osf(plan).json(), _JSON, "osf-preregistration.json"),
}


@require_GET
@login_required
def preregistration(request: HttpRequest, pk: int) -> HttpResponse:
    """The plan as it was at the first opening; of a draft, as it would be now."""
    study = get_object_or_404(real_studies_of(request.user, Permission.REVIEW), pk=pk)
    stored = Preregistration.objects.filter(study=study).first()
    is_draft = study.state == study.State.DRAFT
    plan = stored.plan if stored else plan_of(study, PROTOCOL_FIELDS) if is_draft else None
    missing = [each.asked for each in osf(stored.plan).answers if each.to_write] if stored else []
    context = {"study": study, "stored": stored, "plan": plan, "to_write": missing}
    return render(request, "studies/preregistration.html", context)


@require_GET
@login_required
def plan_file(request: HttpRequest, pk: int, kind: str) -> HttpResponse:
    """A file of the frozen plan: JSON, Markdown, or the layout of a public registry's form."""
    study = get_object_or_404(real_studies_of(request.user, Permission.REVIEW), pk=pk)
    stored = Preregistration.objects.filter(study=study).first()
    if stored is None or kind not in _FILES:
        raise Http404("The plan is fixed when the study opens; there is no such file of it.")
    write, media_type, name = _FILES[kind]
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return HttpResponse(write(stored.plan), content_type=media_type, headers=headers)


ALL = "all"
MOST_BOTS_IN_PAIRS = 12
_USUAL_RESERVE = 1.25
_USUAL_FIRST_LOOK = 0.2


class StoppingForm(forms.Form):
    """What is compared, the smallest difference that matters, and the numbers of conversations."""

    compare = forms.ChoiceField(label=gettext_lazy("What is compared"))
    score = forms.ChoiceField(label=gettext_lazy("Score"))
    difference = forms.FloatField(
        label=gettext_lazy("Smallest difference that matters, in points of the score"),
        help_text=gettext_lazy(
            "As the report shows the score: 5 points of a share in percent, 0.3 of a scale of 1 to 5."
        ),
    )
    equivalence = forms.BooleanField(
        label=gettext_lazy("Also stop when no difference that matters is left"),
        required=False,
        help_text=gettext_lazy(
            "The bots then count as equivalent: the whole interval lies within that difference, either way."
        ),
    )
    planned = forms.IntegerField(
        label=gettext_lazy("Planned conversations with each bot"),
        help_text=gettext_lazy("As many as a study of fixed size would need; the planner computes them."),
    )
    largest = forms.IntegerField(
        label=gettext_lazy("Largest number of conversations with each bot"),
        help_text=gettext_lazy(
            "Here the study ends without a decision. About 1.25 times the planned number keeps the chance of "
            "a decision as high as in a study of fixed size."
        ),
    )
    first_look = forms.IntegerField(
        label=gettext_lazy("No decision before this number with each bot"),
        help_text=gettext_lazy("From there on, the rule looks at every new report."),
    )

    def __init__(self, study: Study, data: Any = None, *, initial: dict[str, Any]) -> None:
        super().__init__(data, initial=initial)
        bots = bots_to_compare(study)
        pairs = combinations(bots, 2) if len(bots) <= MOST_BOTS_IN_PAIRS else ()
        self.fields["compare"].choices = [  # type: ignore[attr-defined]  # a choice
            (ALL, _("All bots of the study, each with each other")),
            *(
                (f"{a.pk}:{b.pk}", _("%(one)s and %(other)s") % {"one": a.title, "other": b.title})
                for a, b in pairs
            ),
        ]
        self.fields["score"].choices = [(each.key, each.title) for each in scores_of(study)]  # type: ignore[attr-defined]

    @property
    def rule(self) -> StoppingRule:
        """The unsaved rule of a valid form."""
        values = dict(self.cleaned_data)
        compare = values.pop("compare")
        return StoppingRule(pair=[] if compare == ALL else [int(bot) for bot in compare.split(":")], **values)


@login_required
def stopping(request: HttpRequest, pk: int) -> HttpResponse:
    """Declare the stopping rule of a draft; show the rule of an opened study."""
    study = get_object_or_404(_studies(request), pk=pk)
    rule = stopping_rule_of(study)
    form = StoppingForm(
        study, request.POST if request.method == "POST" else None, initial=_initial(request, study, rule)
    )
    if request.method == "POST" and form.is_valid():
        try:
            declare_rule(study, form.rule)
        except ValidationError as error:
            _show(form, error)
        else:
            messages.success(request, _("The stopping rule is saved. It is fixed once the study opens."))
            return redirect("studies:stopping", pk=pk)
    context = {
        "study": study,
        "rule": rule,
        "form": form,
        "unfit": "" if rule is None or rule.is_frozen else why_rule_unfit(study),
        "is_draft": study.state == Study.State.DRAFT,
        "compared": _compared(study, rule),
        "score": next((each.title for each in scores_of(study) if rule and each.key == rule.score), ""),
    }
    return render(request, "studies/stopping.html", context, status=422 if form.errors else 200)


def _show(form: StoppingForm, error: ValidationError) -> None:
    """Show an error at its field, or above the form."""
    if not hasattr(error, "error_dict"):
        form.add_error(None, error)
        return
    for name, errors in error.error_dict.items():
        form.add_error(name if name in form.fields else "compare" if name == "pair" else None, errors)


def _studies(request: HttpRequest) -> Any:
    return studies_of(request.user).filter(task__in=keys_with_stopping_rule(), rehearsal_of=None)


def _initial(request: HttpRequest, study: Study, rule: StoppingRule | None) -> dict[str, Any]:
    """Numbers of the planner in the address, else those of the rule, else usual ones."""
    asked = request.GET.get("planned", "")
    planned = int(asked) if asked.isascii() and asked.isdecimal() and len(asked) < 7 else 0
    names = ("score", "difference", "equivalence", "planned", "largest", "first_look")
    known: dict[str, Any] = {}
    if rule:
        known = {name: getattr(rule, name) for name in names}
        known["compare"] = ":".join(map(str, rule.pair)) or ALL
        if not planned:
            return known
    targets = list(study.study_bots.filter(bot__active=True, target__gt=0).values_list("target", flat=True))
    planned = planned or math.ceil(min(targets, default=100) / _USUAL_RESERVE)
    main = question_set(study.question_set).main_score if study.work_asks else None
    usual = {"compare": ALL, "score": main.key if main else "", "equivalence": True}
    return (
        usual
        | known
        | {
            "difference": request.GET.get("difference", "")[:20]
            or known.get("difference")
            or study.margin
            or "",
            "planned": planned,
            "largest": math.floor(_USUAL_RESERVE * planned),
            "first_look": max(10, math.ceil(_USUAL_FIRST_LOOK * planned)),
        }
    )


def _compared(study: Study, rule: StoppingRule | None) -> list[str]:
    """Titles of the bots of a rule."""
    if rule is None:
        return []
    chosen = rule.compared or rule.pair
    rows = study.study_bots.select_related("bot")
    return sorted(row.bot.title for row in rows if row.bot_id in chosen or (not chosen and row.target))


@login_required
@require_POST
def remove(request: HttpRequest, pk: int) -> HttpResponse:
    """Remove the stopping rule of a draft."""
    study = get_object_or_404(_studies(request), pk=pk)
    try:
        remove_rule(study)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, _("The study has no stopping rule now."))
    return redirect("studies:stopping", pk=pk)
