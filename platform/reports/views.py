import logging
from collections.abc import Callable, Generator
from contextlib import closing
from typing import TypeVar

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.handlers.asgi import ASGIRequest
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    JsonResponse,
    StreamingHttpResponse,
)
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET, require_POST
from kombu.exceptions import OperationalError

from accounts.limits import too_many, too_often
from bots import drift
from bots.models import Bot
from crowd.queries import finished_and_wanted, progress
from dialogues.queries import from_elsewhere
from labels.queries import judged_and_wanted
from reports import apart, exports, pdf, queries, services, tasks
from reports.models import Chart, Rehearsal
from reports.palettes import PALETTES, standalone
from reports.references import PAPER_INTERACTIVE, PAPER_STATIC, Reference
from reports.rehearsal.services import delete_rehearsal as delete_with_all
from responses.queries import written_and_wanted
from studies.models import Study, Task
from studies.queries import real_studies_of, studies_of

log = logging.getLogger(__name__)
T = TypeVar("T", str, bytes)


@require_GET
@login_required
def studies(request: HttpRequest) -> HttpResponse:
    found = real_studies_of(request.user)
    numbers = finished_and_wanted(found) | written_and_wanted(found) | judged_and_wanted(found)
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
        "from_elsewhere": from_elsewhere(study),
        "written": written_and_wanted(studies_of(request.user).filter(pk=pk)).get(pk, (0, 0))[0],
    }
    return render(request, "reports/overview.html", context)


@require_GET
@login_required
def report(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    if study.task == Task.WRITING:  # nothing is judged there
        return redirect(study)
    newest, shown = queries.newest_report(study), queries.newest_result(study)
    context = {
        "study": study,
        "report": shown,
        "result": shown.result if shown else None,
        "charts": {chart.name.replace("-", "_"): chart for chart in shown.charts.all()} if shown else {},
        "staleness": services.staleness(study, shown, newest),
        "stamp": queries.stamp(study),
        "progress": progress(study),
        "drift": drift.alarms(Bot.objects.filter(study_bots__study=study)),
        "from_elsewhere": from_elsewhere(study),
        "references": references_of(study),
        "outcome": Rehearsal.objects.filter(study=study).first() if study.rehearsal_of_id else None,
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
    return attachment(request, lines(study), content_type, f"turnwise-{study.code}-turns.{ending}")


@require_GET
@login_required
def bundle(request: HttpRequest, pk: int) -> HttpResponseBase:
    """The study as one archive, sent while a process of its own makes it."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    if too_often(request, "bundle", rate="6/m", key="user"):
        return too_many(request)
    chunks = apart.bundle(study.pk)
    try:
        first = next(chunks)
    except apart.BusyError:
        messages.error(request, "Other bundles are being made at the moment. Try again in a minute.")
        return redirect("reports:study", pk=pk)
    except RuntimeError:
        log.exception("No bundle of study %s.", study.pk)
        messages.error(
            request,
            "The bundle could not be made. If the report says why it failed, mend that first; "
            "else ask an admin for the server's log.",
        )
        return redirect("reports:study", pk=pk)
    return attachment(request, _after(first, chunks), "application/zip", f"turnwise-{study.code}.zip")


@require_POST
@login_required
def delete_rehearsal(request: HttpRequest, pk: int) -> HttpResponse:
    rehearsals = studies_of(request.user).filter(rehearsal_of__isnull=False)
    rehearsal = get_object_or_404(rehearsals.select_related("rehearsal_of"), pk=pk)
    assert rehearsal.rehearsal_of
    delete_with_all(rehearsal)
    messages.success(request, "The rehearsal is deleted, with its simulated workers and all they did.")
    return redirect(rehearsal.rehearsal_of)


def _after(first: bytes, rest: Generator[bytes]) -> Generator[bytes]:
    with closing(rest):
        yield first
        yield from rest


def attachment(
    request: HttpRequest, chunks: Generator[T], content_type: str, name: str
) -> StreamingHttpResponse:
    body = exports.InThreads(chunks) if isinstance(request, ASGIRequest) else chunks
    response = StreamingHttpResponse(body, content_type=content_type)
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
