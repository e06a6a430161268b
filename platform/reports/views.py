import logging
from collections import defaultdict
from collections.abc import Sequence
from functools import partial
from typing import Any, TypeVar

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Q
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    JsonResponse,
)
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST
from kombu.exceptions import OperationalError

from accounts.limits import TooManyAtOnceError, one_at_once_of, too_many
from audits.blindness import blindness
from audits.queries import audits_of_bots
from bots import drift
from bots.models import Bot
from crowd.queries import progress
from dialogues.queries import from_elsewhere
from evaluation.printed import figure
from evaluation.protocols import published_beside
from live.remembered import key_of, remembered
from questions.resolving import question_set
from reports import home as first_page
from reports import pdf, people, queries, services
from reports import tasks as jobs
from reports.charts.names import kind_and_ask
from reports.charts.palettes import PALETTES, standalone
from reports.interactive.behind import behind
from reports.interactive.plots import plot
from reports.journey import journey
from reports.method import method
from reports.models import Chart, Report
from reports.reported import ReportedTask, TaskWithReport
from studies.models import LONGEST_TAG, Study
from studies.opening import obstacle
from studies.progress import counts_of, in_words
from studies.queries import (
    may_change,
    owned_studies_of,
    readable_real_studies_of,
    readable_studies_of,
    studies_of,
    tags_of,
)
from studies.tasks import keys_of, task_of

log = logging.getLogger(__name__)
T = TypeVar("T", str, bytes)
PER_PAGE = 50


@require_GET
@login_required
def home(request: HttpRequest) -> HttpResponse:
    return render(request, "reports/home.html", first_page.shown(request.user))


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
    if sought:
        found = found.filter(Q(title__icontains=sought) | Q(code=sought) | Q(owner__username=sought))
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
            "so_far": in_words(study, done, wanted),
            "is_reported": isinstance(task_of(study), TaskWithReport),
        }
        for study in page
        for done, wanted in [numbers.get(study.pk, (0, 0))]
    ]
    shown = {"studies": rows, "page": page, "sought": sought, "archived": archived, "tags": tags, "tag": tag}
    return render(request, "reports/studies.html", shown)


@require_GET
@login_required
def overview(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(readable_studies_of(request.user).select_related("rehearsal"), pk=pk)
    task = task_of(study)
    if not may_change(request.user, study):
        shown = {"study": study, "judged": task if isinstance(task, ReportedTask) else None}
        return render(request, "reports/shared.html", shown)
    context = {
        "study": study,
        "may_share": study.owner_id == request.user.pk
        or owned_studies_of(request.user).filter(pk=pk).exists(),
        "entry_url": request.build_absolute_uri(study.get_entry_url()),
        "consent": study.consent_versions.last(),
        "obstacle": None if study.state in (Study.State.OPEN, Study.State.PAUSED) else obstacle(study),
        "said_of_themselves": [] if isinstance(task, TaskWithReport) else people.said_of_themselves(study),
        "steps": [] if study.rehearsal_of_id else journey(study),
        **task.shown(study),
    }
    return render(request, task.overview, context)


@require_GET
@login_required
def report(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(readable_studies_of(request.user).select_related("outcome"), pk=pk)
    task = task_of(study)
    if not isinstance(task, TaskWithReport):
        return redirect(study)
    newest, at = queries.newest_report(study), progress(study)
    shown = newest if newest and newest.state == Report.State.READY else queries.newest_result(study)
    judged = isinstance(task, ReportedTask)
    charts = charts_of(study, shown)
    beside = (shown.result or {}).get("beside", ()) if shown else ()
    context = {
        "study": study,
        "report": shown,
        "result": shown.result if shown else None,
        "charts": charts[0],
        "beside": [
            (each, charts[ask], published_of(study, each["question_set"]))
            for ask, each in enumerate(beside, 1)
        ],
        "staleness": services.staleness(study, shown, newest),
        "stamp": queries.stamp(study, newest, at),
        "progress": at,
        "drift": drift.alarms(Bot.objects.filter(study_bots__study=study)),
        "from_elsewhere": from_elsewhere(study),
        "published": published_of(study, study.question_set),
        "outcome": getattr(study, "outcome", None),
        "may_change": may_change(request.user, study),
        "can_rehearse": task.has_rehearsals,
        "audits": audits_of_bots(study, request.user),
        "blindness": blindness(study),
        "analysed": task.analysed if isinstance(task, ReportedTask) else "",
        "method": method(study, shown.result) if judged and shown and shown.result else None,
    }
    return render(request, task.report, context)


def charts_of(study: Study, report: Report | None) -> dict[int, dict[str, Chart]]:
    """The stored drawings by the number of their ask, and there by kind as templates name it.

    Each has its numbers as `plot`, if the page draws its kind.
    """
    found: dict[int, dict[str, Chart]] = defaultdict(dict)
    if report is None or not report.result:
        return found
    results, where = [report.result, *report.result.get("beside", ())], behind(study)
    for chart in report.charts.all():
        kind, ask = kind_and_ask(chart.name)
        chart.plot = plot(kind, results[ask], partial(where, ask=ask))  # type: ignore[attr-defined]
        found[ask][kind.replace("-", "_")] = chart
    return found


def published_of(study: Study, key: str) -> dict[str, Any] | None:
    """Published results that those of the study with the questions of this key can be seen beside.

    Titles of the scores and rows of them, and how far the publication's raters agreed about each question.
    """
    protocol = published_beside(study.protocol, key)
    if protocol is None:
        return None
    questions = question_set(key)
    scores = [
        score
        for score in questions.scores
        if any(score.key in system.scores for system in protocol.published)
    ]
    if not scores:
        return None
    columns = [[system.scores.get(score.key) for system in protocol.published] for score in scores]
    cells = zip(*map(_alike, columns), strict=True)
    rows = list(zip((system.system for system in protocol.published), cells, strict=True))
    agreed = protocol.agreement or {}
    agreement = [
        (question.wording, agreed[question.key]) for question in questions.questions if question.key in agreed
    ]
    titles = [score.title for score in scores]
    return {"protocol": protocol, "titles": titles, "rows": rows, "agreement": agreement}


def _alike(column: Sequence[float | None]) -> list[str]:
    """The figures of a column with as many decimals as one of them has, 2 at most."""
    decimals = max(len(f"{value:.2f}".rstrip("0").partition(".")[2]) for value in column if value is not None)
    return ["" if value is None else figure(value, decimals) for value in column]


@require_GET
@login_required
def stamp(request: HttpRequest, pk: int) -> JsonResponse:
    """A word that changes whenever the report's page does; the page asks for it every few seconds."""
    study = get_object_or_404(readable_studies_of(request.user), pk=pk)
    return JsonResponse({"stamp": queries.stamp(study, queries.newest_report(study), progress(study))})


@require_GET
@login_required
def chart(request: HttpRequest, pk: int, name: str, kind: str) -> HttpResponse:
    """A chart of the newest report as a file, in the colours of ?scheme=light or dark."""
    study = get_object_or_404(readable_studies_of(request.user), pk=pk)
    scheme = request.GET.get("scheme", "light")
    if scheme not in PALETTES:
        raise Http404(f"No scheme is called {scheme}; there are {', '.join(PALETTES)}.")
    charts = Chart.objects.select_related("report")
    found = get_object_or_404(charts, report=queries.newest_result(study), name=name)
    if kind == "svg":
        response = HttpResponse(standalone(found.svg, PALETTES[scheme]), content_type="image/svg+xml")
    else:
        try:
            drawn = _pdf(request, found, scheme)
        except TooManyAtOnceError:
            return too_many(request)
        response = HttpResponse(drawn, content_type="application/pdf")
    response["Content-Disposition"] = f'attachment; filename="turnwise-{study.code}-{name}-{scheme}.{kind}"'
    return response


def _pdf(request: HttpRequest, found: Chart, scheme: str) -> bytes:
    """The chart as PDF, drawn once by a process of its own, and one at a time for each person."""

    def draw() -> bytes:
        assert found.report.result is not None
        with one_at_once_of(1, "pdf", request.user.pk or 0):
            return pdf.drawn(found.name, found.report.result, scheme)

    drawn: bytes = remembered(key_of("pdf", found.pk, scheme), draw)
    return drawn


@require_POST
@login_required
def refresh(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user).filter(task__in=keys_of(TaskWithReport)), pk=pk)
    try:
        jobs.request_report(study)
    except OperationalError:
        messages.error(
            request,
            _("The job queue does not answer, so the report is queued and starts when Redis is back."),
        )
    return redirect("reports:study", pk=pk)
