from collections.abc import Callable, Generator

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.handlers.asgi import ASGIRequest
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST
from kombu.exceptions import OperationalError

from crowd.queries import finished_and_wanted, progress
from labels.queries import judged_and_wanted
from reports import exports, pdf, queries, services, tasks
from reports.models import Chart
from reports.palettes import PALETTES, standalone
from reports.references import PAPER_INTERACTIVE, PAPER_STATIC, Reference
from studies.models import Study, Task
from studies.queries import studies_of


@require_GET
@login_required
def studies(request: HttpRequest) -> HttpResponse:
    found = studies_of(request.user)
    numbers = finished_and_wanted(found) | judged_and_wanted(found)
    shown = []
    for study in found.select_related("owner"):
        finished, target = numbers.get(study.pk, (0, 0))
        shown.append({"study": study, "finished": finished, "target": target})
    return render(request, "reports/studies.html", {"studies": shown})


@require_GET
@login_required
def overview(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    context = {
        "study": study,
        "entry_url": request.build_absolute_uri(study.get_entry_url()),
        "bots": progress(study),
        "consent": study.consent_versions.last(),
    }
    return render(request, "reports/overview.html", context)


@require_GET
@login_required
def report(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    newest, shown = queries.newest_report(study), queries.newest_result(study)
    context = {
        "study": study,
        "report": shown,
        "result": shown.result if shown else None,
        "charts": {chart.name.replace("-", "_"): chart for chart in shown.charts.all()} if shown else {},
        "staleness": services.staleness(study, shown, newest),
        "stamp": queries.stamp(study),
        "progress": progress(study),
        "references": references_of(study),
    }
    template = "reports/judging.html" if study.task == Task.JUDGING else "reports/study.html"
    return render(request, template, context)


def references_of(study: Study) -> tuple[Reference, ...]:
    """Published results that the study's own can be seen beside."""
    if study.question_set != "ssa":
        return ()
    return PAPER_STATIC if study.task == Task.JUDGING else PAPER_INTERACTIVE


@require_GET
@login_required
def stamp(request: HttpRequest, pk: int) -> JsonResponse:
    """A word that changes whenever the report's page does; the page asks for it every few seconds."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    return JsonResponse({"stamp": queries.stamp(study)})


@require_GET
@login_required
def chart(request: HttpRequest, pk: int, name: str, kind: str) -> HttpResponse:
    """A chart of the newest report as a file, in the colours of ?scheme=light or dark."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    scheme = request.GET.get("scheme", "light")
    if scheme not in PALETTES:
        raise Http404(f"No scheme is called {scheme}; there are {', '.join(PALETTES)}.")
    charts = Chart.objects.select_related("report")
    found = get_object_or_404(charts, report=queries.newest_result(study), name=name)
    if kind == "svg":
        response = HttpResponse(standalone(found.svg, PALETTES[scheme]), content_type="image/svg+xml")
    else:
        assert found.report.result is not None
        response = HttpResponse(pdf.drawn(name, found.report.result, scheme), content_type="application/pdf")
    response["Content-Disposition"] = f'attachment; filename="turnwise-{study.code}-{name}-{scheme}.{kind}"'
    return response


@require_POST
@login_required
def refresh(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    try:
        tasks.request_report(study)
    except OperationalError:
        messages.error(
            request, "The job queue does not answer, so the report is queued and starts when Redis is back."
        )
    return redirect("reports:study", pk=pk)


@require_GET
@login_required
def export_csv(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    return _export(request, pk, exports.csv_lines, "text/csv; charset=utf-8", "csv")


@require_GET
@login_required
def export_jsonl(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    return _export(request, pk, exports.jsonl_lines, "application/jsonl", "jsonl")


def _export(
    request: HttpRequest, pk: int, lines: Callable[[Study], Generator[str]], content_type: str, ending: str
) -> StreamingHttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    chunks = lines(study)
    body = exports.InThreads(chunks) if isinstance(request, ASGIRequest) else chunks
    response = StreamingHttpResponse(body, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="turnwise-{study.code}-turns.{ending}"'
    return response
