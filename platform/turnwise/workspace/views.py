from collections import defaultdict
from collections.abc import Collection, Mapping

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from turnwise.crowd.worker_task import WorkerTask
from turnwise.groups.models import Group
from turnwise.groups.queries import joined_groups_of
from turnwise.judging.queue.queued_task import QueuedTask
from turnwise.reports import descriptions
from turnwise.reports.queries import stopping_figures_of
from turnwise.reports.report_kinds import ReportedTask, TaskWithReport
from turnwise.studies.models import LONGEST_TAG, Share, Study
from turnwise.studies.opening_checks import first_obstacle
from turnwise.studies.plans.stopping import stopping_rule_of
from turnwise.studies.queries import (
    counts_of,
    progress_sentence,
    readable_real_studies_of,
    readable_studies_of,
    search_studies,
    tags_of,
)
from turnwise.studies.sharing.permissions import Permission, permissions_of
from turnwise.studies.tasks import task_of
from turnwise.workspace import home as first_page
from turnwise.workspace.study_steps import steps_of

PER_PAGE = 50


@require_GET
@login_required
def home(request: HttpRequest) -> HttpResponse:
    context = first_page.home_context(request.user, sums_all=request.GET.get("costs") == "all")
    return render(request, "workspace/home.html", context)


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
    groups = list(joined_groups_of(request.user))
    group = next((each for each in groups if str(each.pk) == request.GET.get("group")), None)
    if group:
        found = found.filter(pk__in=group.shared_studies.values("study"))
    found = search_studies(found, sought)
    tags = tags_of(found)
    if tag:
        found = found.filter(tags__contains=[tag])
    page = Paginator(found, PER_PAGE).get_page(request.GET.get("page"))
    numbers, names = counts_of(list(page)), _group_names(list(page), groups)
    rows = [
        {
            "study": study,
            "finished": done,
            "target": wanted,
            "progress": progress_sentence(study, done, wanted),
            "is_reported": isinstance(task_of(study), TaskWithReport),
            "groups": names[study.pk],
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
        "groups": groups,
        "group": group,
    }
    return render(request, "workspace/studies.html", context)


def _group_names(studies: Collection[Study], groups: Collection[Group]) -> Mapping[int, list[str]]:
    """By study, the names of those of these groups with which it is shared."""
    found: defaultdict[int, list[str]] = defaultdict(list)
    shares = Share.objects.filter(study__in=studies, group__in=groups) if groups else ()
    for share in shares:
        found[share.study_id].append(next(each.name for each in groups if each.pk == share.group_id))
    return found


@require_GET
@login_required
def overview(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(
        readable_studies_of(request.user).select_related("rehearsal", "stopping_rule"), pk=pk
    )
    task = task_of(study)
    granted = permissions_of(request.user, study)
    if Permission.CHANGE not in granted:
        shown = {
            "study": study,
            "judged": task if isinstance(task, ReportedTask) else None,
            "may_review": Permission.REVIEW in granted,
            "has_workers": isinstance(task, WorkerTask),
            "has_queue": isinstance(task, QueuedTask),
            "adjudicates": isinstance(task, QueuedTask) and task.has_adjudication,
            "has_bundle": Permission.BUNDLE in granted and isinstance(task, TaskWithReport),
        }
        return render(request, "workspace/shared.html", shown)
    context = {
        "study": study,
        "may_share": Permission.SHARE in granted,
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
