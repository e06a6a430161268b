"""Page of the planner: how large a study must be for the smallest difference that matters."""

from dataclasses import asdict

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET

from evaluation.files.writing import percent
from evaluation.planning.study_plans import StudyPlan
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.comparisons import chart_sheets
from turnwise.comparisons.chart_data import plan_data
from turnwise.comparisons.drawing import Sheet
from turnwise.comparisons.planner import PlannerForm
from turnwise.comparisons.views import bounded, bounded_pictures
from turnwise.studies.models import Study
from turnwise.studies.queries import real_studies_of
from turnwise.studies.tasks import keys_with_stopping_rule


@require_GET
@bounded
def planner(request: AuthenticatedHttpRequest) -> HttpResponse:
    """Plan of a study; the query string has the form's values."""
    asked = "difference" in request.GET
    chosen = request.GET.get("study", "")
    form = PlannerForm(request.GET if asked else None, user=request.user, chosen=chosen)
    plan, draft = form.plan if asked and form.is_valid() else None, _draft(request)
    chart = None
    if plan:
        sheet = _sheet(form, plan)
        chart = chart_sheets.charts([sheet], _address, request.GET.urlencode(), {})[sheet.name]
    context = {
        "form": form,
        "plan": plan,
        "chart": chart,
        "units": _units(form) if plan else "",
        "labels": _("Conversations in all")
        if form["kind"].value() == "conversations"
        else _("Judgments in all"),
        "workers": _("Workers") if form["kind"].value() == "conversations" else _("Raters"),
        "currency": form.cleaned_data["currency"] if plan else "",
        "difference": form.cleaned_data["difference"] if plan else None,
        "power": percent(round(plan.needed.power, 3)) if plan else "",
        "draft": draft,
        "rule_address": _rule_address(draft, form, plan) if draft and plan else "",
    }
    return render(request, "comparisons/plan.html", context, status=422 if asked and not plan else 200)


def _draft(request: AuthenticatedHttpRequest) -> Study | None:
    """The draft whose stopping rule led here, if the person works on it."""
    asked = request.GET.get("rule_of", "")
    if not (asked.isascii() and asked.isdecimal() and len(asked) < 16):
        return None
    drafts = real_studies_of(request.user).filter(state=Study.State.DRAFT, task__in=keys_with_stopping_rule())
    return drafts.filter(pk=int(asked)).first()


def _rule_address(draft: Study, form: PlannerForm, plan: StudyPlan) -> str:
    """Address of the draft's stopping rule with the plan's numbers; empty if they are not conversations."""
    if form.cleaned_data["kind"] != "conversations":
        return ""
    numbers = {"planned": plan.needed.units, "difference": f"{form.cleaned_data['difference']:g}"}
    return reverse("studies:stopping", args=[draft.pk], query=numbers)


@require_GET
@bounded_pictures
def plan_chart(request: HttpRequest, ending: str) -> HttpResponse:
    """File with the curve of a plan."""
    form = PlannerForm(request.GET, user=request.user)
    if not form.is_valid() or not form.plan:
        raise Http404("These numbers make no plan; the planner says why.")
    return chart_sheets.chart_file(request, [_sheet(form, form.plan)], "plan", ending)


def _address(name: str, ending: str) -> str:
    """Address of a file of the only chart."""
    del name
    return reverse("comparisons:plan_chart", args=[ending])


def _sheet(form: PlannerForm, plan: StudyPlan) -> Sheet:
    power = percent(form.cleaned_data["power"] / 100)
    return Sheet("plan", "plan", plan_data([asdict(each) for each in plan.curve], _units(form), power))


def _units(form: PlannerForm) -> str:
    return {
        "conversations": _("conversations with each bot"),
        "judging": _("items of each system"),
        "pairs": _("pairs of each two systems"),
    }[form.cleaned_data["kind"]]
