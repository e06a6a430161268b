from functools import partial

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from turnwise.accounts.limits import TooManyAtOnceError, limit_concurrency, too_many
from turnwise.audits.identity_leaks import blindness
from turnwise.audits.queries import audits_of_bots
from turnwise.bots import drift_check
from turnwise.bots.models import Bot
from turnwise.charts import pdf
from turnwise.charts.layout import PALETTES, standalone
from turnwise.crowd.queries import progress
from turnwise.crowd.redaction import unreviewed
from turnwise.dialogues.queries import outside_dialogue_counts
from turnwise.live.caching import cache_key, cached
from turnwise.live.jobs import send_or_warn
from turnwise.reports import queries, services
from turnwise.reports import tasks as jobs
from turnwise.reports.descriptions import method
from turnwise.reports.drilldown import charts_of, published_of
from turnwise.reports.models import Chart, Report
from turnwise.reports.report_kinds import ReportedTask, TaskWithReport
from turnwise.studies.queries import (
    incomplete_progress,
    may_change,
    progress_of,
    readable_studies_of,
    studies_of,
)
from turnwise.studies.tasks import keys_of, task_of


@require_GET
@login_required
def report(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(readable_studies_of(request.user).select_related("outcome"), pk=pk)
    task = task_of(study)
    if not isinstance(task, TaskWithReport):
        return redirect(study)
    newest, at, changes = queries.newest_report(study), progress(study), may_change(request.user, study)
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
        "filling": incomplete_progress(study, *progress_of(study)),
        "drift": drift_check.alarms(Bot.objects.filter(study_bots__study=study)),
        "from_elsewhere": outside_dialogue_counts(study),
        "published": published_of(study, study.question_set),
        "outcome": getattr(study, "outcome", None),
        "may_change": changes,
        "unreviewed": unreviewed(study) if changes else "",
        "can_rehearse": task.has_rehearsals,
        "audits": audits_of_bots(study, request.user),
        "blindness": blindness(study),
        "departures": shown.departures if shown else None,
        "analysed": task.analysed if isinstance(task, ReportedTask) else "",
        "method": method(study, shown.result) if judged and shown and shown.result else None,
    }
    return render(request, task.report, context)


@require_GET
@login_required
def stamp(request: HttpRequest, pk: int) -> JsonResponse:
    """Version string of the report's page, which asks for it every few seconds."""
    study = get_object_or_404(readable_studies_of(request.user), pk=pk)
    return JsonResponse({"stamp": queries.stamp(study, queries.newest_report(study), progress(study))})


@require_GET
@login_required
def chart(request: HttpRequest, pk: int, name: str, kind: str) -> HttpResponse:
    """File with a chart of the newest report, in the colours of ?scheme=light or dark."""
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
    """Draw a chart as PDF in a subprocess, one at a time for each user; cached."""

    def draw() -> bytes:
        assert found.report.result is not None
        with limit_concurrency(1, "pdf", request.user.pk or 0):
            return pdf.render_pdf(found.name, found.report.result, scheme)

    drawn: bytes = cached(cache_key("pdf", found.pk, scheme), draw)
    return drawn


@require_POST
@login_required
def refresh(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user).filter(task__in=keys_of(TaskWithReport)), pk=pk)
    queued = services.queue_report(study)
    send_or_warn(request, partial(jobs.build_report.delay, queued.pk))
    return redirect("reports:study", pk=pk)
