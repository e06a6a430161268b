"""Pages of machine judges: list and start, progress, cancel, continue, judge card, files."""

from functools import partial
from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.core.paginator import Paginator
from django.forms import model_to_dict
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from evaluation.machine_judges.panels import Rule
from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.limits import too_many, too_often
from turnwise.judges import budgets, panels, queries, removal, services, tasks
from turnwise.judges.drift_checks import services as drift_checks
from turnwise.judges.drift_checks.series import series_of
from turnwise.judges.forms import BudgetForm, JudgeForm, PanelForm, budget_in
from turnwise.judges.models import JudgeRun, MachineLabel
from turnwise.judging.queries import judgments_in
from turnwise.judging.views import judging_study
from turnwise.live.jobs import send_or_warn
from turnwise.questions.question_sets import question_set
from turnwise.responses.bot_jobs import AT_WORK, MOST_ATTEMPTS
from turnwise.studies.asks import About
from turnwise.studies.models import Study
from turnwise.studies.sharing.permissions import Permission, may
from turnwise.trash.views import offer_undo

PER_PAGE, LATEST = 25, 50
# A card of many labels takes seconds; a person who reads it loads the page several times.
CARD_SECONDS = 300
_FORMATS = {
    "csv": (queries.csv_lines, "text/csv; charset=utf-8"),
    "jsonl": (queries.json_lines, "application/jsonl"),
}


@require_GET
@login_required
def judges(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """The study's machine judges, the template that they get, and the form that starts one."""
    study = judging_study(request, pk, Permission.REVIEW)
    asks = queries.judgeable_asks(study)
    may_start = asks and may(request.user, Permission.CHANGE, study)
    return _judges_page(request, study, JudgeForm(request.user, asks) if may_start else None)


def _judges_page(
    request: AuthenticatedHttpRequest,
    study: Study,
    form: JudgeForm | None,
    panel: PanelForm | None = None,
    status: int = 200,
) -> HttpResponse:
    members = queries.possible_members(study)
    runs = list(queries.runs_of(study)[:LATEST])
    progress = queries.progress_by_run(runs)
    context = {
        "study": study,
        "form": form,
        "panel": (panel or PanelForm(members)) if len(members) >= panels.FEWEST else None,
        "runs": [{"run": run, "progress": progress[run.pk]} for run in runs],
        "drifted": drift_checks.alarms(queries.runs_of(study)),
        "previews": [(ask, queries.prompt_preview(ask)) for ask in queries.judgeable_asks(study)],
    }
    return render(request, "judges/judges.html", context, status=status)


@require_POST
@login_required
def start(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    study = judging_study(request, pk)
    if too_often(request, "judge", rate="60/h", key="user"):
        return too_many(request)
    asks = queries.judgeable_asks(study)
    if not asks:
        messages.error(request, _("A machine cannot judge the items of this study."))
        return redirect("judges:judges", pk=pk)
    form = JudgeForm(request.user, asks, request.POST)
    if not form.is_valid():
        return _judges_page(request, study, form, status=422)
    chosen = form.cleaned_data
    try:
        run = services.start(
            form.selected_ask(),
            chosen["bot"],
            draws=chosen["draws"],
            by=request.user,
            budget=budget_in(chosen),
        )
    except ValidationError as error:
        form.add_error(None, error)
        return _judges_page(request, study, form, status=422)
    send_or_warn(request, partial(tasks.send, run.pk))
    return redirect(run)


@require_POST
@login_required
def form_panel(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    """Form a panel of complete runs."""
    study = judging_study(request, pk)
    if too_often(request, "judge", rate="60/h", key="user"):
        return too_many(request)
    form = PanelForm(queries.possible_members(study), request.POST)
    if form.is_valid():
        chosen = form.cleaned_data
        try:
            return redirect(
                panels.form_panel(
                    form.chosen_members(),
                    title=chosen["title"],
                    rule=Rule(chosen["rule"]),
                    by=request.user,
                    now=timezone.now(),
                )
            )
        except ValidationError as error:
            form.add_error(None, error)
    asks = queries.judgeable_asks(study)
    start_form = JudgeForm(request.user, asks) if asks else None
    return _judges_page(request, study, start_form, form, status=422)


@require_GET
@login_required
def run(request: HttpRequest, pk: int, run_id: int) -> HttpResponse:
    """Progress of a run, its judge card once it has ended, and its labels."""
    found = _run(request, pk, run_id, Permission.REVIEW)
    return _run_page(request, found, BudgetForm(initial=model_to_dict(found)))


def _run_page(request: HttpRequest, found: JudgeRun, budget: BudgetForm, status: int = 200) -> HttpResponse:
    now_at, questions = queries.progress(found), question_set(found.judge.question_set)
    is_at_work = found.state in AT_WORK
    outcome = request.GET.get("outcome", "")
    page = Paginator(queries.labels_of(found, outcome), PER_PAGE).get_page(request.GET.get("page"))
    context: dict[str, Any] = {
        "study": found.study,
        "run": found,
        "progress": now_at,
        "is_at_work": is_at_work,
        "members": queries.runs_of(found.study).filter(panels=found).order_by("pk"),
        "is_of_pairs": found.ask.about == About.PAIR,
        "may_continue": found.judge.bot_id
        and may(request.user, Permission.CHANGE, found.study)
        and not is_at_work
        and services.missing_after_retry(found) > 0,
        "stamp": queries.stamp(found, now_at),
        "card": None if is_at_work else _card(found, now_at),
        "drift": None if is_at_work or found.judge.bot_id is None else series_of(found),
        "cost": budgets.cost_of_run(found),
        "budget": budget,
        "most_attempts": MOST_ATTEMPTS,
        "outcomes": MachineLabel.Outcome.choices,
        "outcome": outcome if outcome in MachineLabel.Outcome.values else "",
        "page": page,
        "rows": [queries.label_row(questions, label) for label in page],
    }
    return render(request, "judges/run.html", context, status=status)


def _run(request: HttpRequest, study: int, pk: int, permission: Permission = Permission.CHANGE) -> JudgeRun:
    return get_object_or_404(queries.runs_of(judging_study(request, study, permission)), pk=pk)


def _card(run: JudgeRun, now_at: queries.Progress) -> Any:
    """The judge card, computed anew once labels of either party have come."""
    from turnwise.judges.judge_card import card_of  # brings scipy, which no other page needs

    covers = f"{queries.stamp(run, now_at)}-{judgments_in(run.study)}-{run.study.results_version}"
    return cache.get_or_set(f"judges.card.{run.pk}.{covers}", partial(card_of, run), CARD_SECONDS)


@require_GET
@login_required
def stamp(request: HttpRequest, pk: int, run_id: int) -> JsonResponse:
    """A text that changes whenever the run's page does; the page polls it."""
    found = _run(request, pk, run_id, Permission.REVIEW)
    return JsonResponse({"stamp": queries.stamp(found, queries.progress(found))})


@require_POST
@login_required
def cancel(request: HttpRequest, pk: int, run_id: int) -> HttpResponse:
    found = _run(request, pk, run_id)
    if services.cancel(found, now=timezone.now()):
        messages.success(request, _("The run is cancelled. Its labels so far are kept."))
    return redirect(found)


@require_POST
@login_required
def go_on(request: HttpRequest, pk: int, run_id: int) -> HttpResponse:
    found = _run(request, pk, run_id)
    try:
        services.go_on(found.pk)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        send_or_warn(request, partial(tasks.send, found.pk))
    return redirect(found)


@require_POST
@login_required
def set_budget(request: HttpRequest, pk: int, run_id: int) -> HttpResponse:
    """Change the budget of a run; a run that the old one stopped goes on."""
    found = _run(request, pk, run_id)
    form = BudgetForm(request.POST)
    try:
        if not form.is_valid():
            return _run_page(request, found, form, status=422)
        services.set_budget(found.pk, form.budget())
    except ValidationError as error:
        form.add_error(None, error)
        return _run_page(request, found, form, status=422)
    messages.success(request, _("The budget is saved."))
    return go_on(request, pk, run_id) if found.state == JudgeRun.State.PAUSED else redirect(found)


@require_POST
@login_required
def watch(request: HttpRequest, pk: int, run_id: int) -> HttpResponse:
    """Begin or end the daily check of a run."""
    found = _run(request, pk, run_id)
    is_on = request.POST.get("wish") == "begin"
    try:
        drift_checks.set_watched(found.pk, watched=is_on)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        sentence = _("The daily check is switched on.") if is_on else _("The daily check is switched off.")
        messages.success(request, sentence)
    return redirect(f"{found.get_absolute_url()}#drift")


@require_POST
@login_required
def remove(request: AuthenticatedHttpRequest, pk: int, run_id: int) -> HttpResponse:
    """Remove a run with its labels."""
    found = _run(request, pk, run_id)
    try:
        deletion = removal.remove(found.pk, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
        return redirect(found)
    if deletion:
        offer_undo(request, _("Removed: %(what)s.") % {"what": deletion.what}, deletion)
    return redirect("judges:judges", pk=pk)


@require_GET
@login_required
def export(request: HttpRequest, pk: int, run_id: int, ending: str) -> HttpResponse:
    found = _run(request, pk, run_id, Permission.REVIEW)
    lines, content_type = _FORMATS[ending]
    disposition = {"Content-Disposition": f'attachment; filename="turnwise-judge-{found.pk}.{ending}"'}
    return HttpResponse("".join(lines(found)), content_type=content_type, headers=disposition)
