from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from turnwise.reports import descriptions
from turnwise.reports.queries import stopping_figures_of
from turnwise.reports.report_kinds import ReportedTask, TaskWithReport
from turnwise.studies.models import LONGEST_TAG, Study
from turnwise.studies.opening_checks import first_obstacle
from turnwise.studies.plans.stopping import stopping_rule_of
from turnwise.studies.queries import (
    counts_of,
    may_change,
    owned_studies_of,
    progress_sentence,
    readable_real_studies_of,
    readable_studies_of,
    search_studies,
    tags_of,
)
from turnwise.studies.tasks import task_of
from turnwise.workspace import home as first_page
from turnwise.workspace.study_steps import steps_of

PER_PAGE = 50


@require_GET
@login_required
def home(request: HttpRequest) -> HttpResponse:
    return render(request, "workspace/home.html", first_page.home_context(request.user))


@require_GET
@login_required
def studies(request: HttpRequest) -> HttpResponse:
    sought, archived = request.GET.get("find", "").strip()[:120], request.GET.get("show") == "archived"
    tag = request.GET.get("tag", "")[:LONGEST_TAG]
    found = (
        readable_real_studies_of(request.user)
        .filter(archived_at__isnull=not archived)
        .select_related("owner")
    )
    found = search_studies(found, sought)
    tags = tags_of(found)
    if tag:
        found = found.filter(tags__contains=[tag])
    page = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    numbers = counts_of(list(page))
    rows = [
        {
            "study": study,
            "finished": done,
            "target": wanted,
            "progress": progress_sentence(study, done, wanted),
            "is_reported": isinstance(task_of(study), TaskWithReport),
        }
        for study in page
        for done, wanted in [numbers.get(study.pk, (0, 0))]
    ]
    context = {
        "studies": rows,
        "page": page,
        "sought": sought,
        "archived": archived,
        "tags": tags,
        "tag": tag,
    }
    return render(request, "workspace/studies.html", context)


@require_GET
@login_required
def overview(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(
        readable_studies_of(request.user).select_related("rehearsal", "stopping_rule"), pk=pk
    )
    task = task_of(study)
    if not may_change(request.user, study):
        shown = {"study": study, "judged": task if isinstance(task, ReportedTask) else None}
        return render(request, "workspace/shared.html", shown)
    context = {
        "study": study,
        "may_share": study.owner_id == request.user.pk
        or owned_studies_of(request.user).filter(pk=pk).exists(),
        "entry_url": request.build_absolute_uri(study.get_entry_url()),
        "consent": study.consent_versions.last(),
        "obstacle": None if study.state in (Study.State.OPEN, Study.State.PAUSED) else first_obstacle(study),
        "said_of_themselves": []
        if isinstance(task, TaskWithReport)
        else descriptions.questionnaire_figures(study),
        "rule": stopping_rule_of(study),
        "stopping": stopping_figures_of(study) if _is_watched(study) else None,
        "takes_rule": task.takes_stopping_rule and not study.rehearsal_of_id,
        "steps": [] if study.rehearsal_of_id else steps_of(study),
        **task.overview_context(study),
    }
    return render(request, task.overview, context)


def _is_watched(study: Study) -> bool:
    """True if the study has opened with a stopping rule."""
    rule = stopping_rule_of(study)
    return rule is not None and rule.is_frozen
