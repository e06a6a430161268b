"""Who took part in a study, for paying them: each with completion code and panel's id."""

from collections.abc import Generator

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from crowd.models import Participation
from crowd.queries import participations_of
from evaluation.spreadsheets import csv_text
from live.streaming import attachment
from studies.models import Study
from studies.queries import studies_of

PER_PAGE = 50
ROWS_AT_ONCE = 500
COLUMNS = (
    "worker", "panel", "panel_id", "consented_at", "began_at", "ended_at", "outcome", "completion_code",
    "signs",
)  # fmt: skip


@require_GET
@login_required
def participants(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    sought = request.GET.get("find", "").strip()[:120]
    found = participations_of(study, sought)
    with_signs = found.exclude(signs="")
    is_narrowed = request.GET.get("signs") == "yes"
    page = Paginator(with_signs if is_narrowed else found, PER_PAGE).get_page(request.GET.get("page"))
    shown = {"sought": sought, "with_signs": with_signs.count(), "is_narrowed": is_narrowed, "page": page}
    return render(request, "crowd/participants.html", {"study": study} | shown)


@require_GET
@login_required
def participants_csv(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    return attachment(
        request, _lines(study), "text/csv; charset=utf-8", f"turnwise-{study.code}-participants.csv"
    )


def _lines(study: Study) -> Generator[str]:
    yield csv_text([COLUMNS])
    for each in participations_of(study).iterator(ROWS_AT_ONCE):
        yield csv_text([_row(each)])


def _row(each: Participation) -> tuple[str, ...]:
    place = getattr(each, "assignment", None)
    began_at, ended_at = (place.assigned_at, place.ended_at) if place else (None, None)
    times = [at.isoformat(timespec="seconds") if at else "" for at in (each.consented_at, began_at, ended_at)]
    outcome = place.outcome if place else ""
    code = each.completion_code if outcome else ""
    return each.worker.pseudonym, each.worker.panel, each.worker.panel_id, *times, outcome, code, each.signs
