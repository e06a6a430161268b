from functools import partial

from django.contrib.auth.decorators import login_required
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST

from turnwise.accounts.limits import TooManyAtOnceError, limit_concurrency, too_many
from turnwise.charts import pdf
from turnwise.charts.layout import PALETTES, standalone
from turnwise.crowd.queries import progress
from turnwise.live.caching import cache_key, cached
from turnwise.live.jobs import send_or_warn
from turnwise.reports import page, queries, services
from turnwise.reports import tasks as jobs
from turnwise.reports.models import Chart
from turnwise.reports.report_kinds import TaskWithReport
from turnwise.studies.queries import (
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
    return render(request, task.report, page.context_of(study, task, request.user))


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
