"""What is decided about a worker on the page *Quality*, and all of it as a file."""

from collections.abc import Generator

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from evaluation.spreadsheets import csv_text
from turnwise.live.streaming import attachment
from turnwise.quality import deciding
from turnwise.quality.models import Decision
from turnwise.quality.study_views import study_with_workers
from turnwise.studies.models import Study

COLUMNS = ("worker", "decision", "reason", "by", "at", "undone_at", "undone_by")


@require_POST
@login_required
def decide(request: HttpRequest, pk: int, participation: int) -> HttpResponse:
    study = study_with_workers(request, pk)
    own = get_object_or_404(study.participations.select_related("worker"), pk=participation)
    assert request.user.is_authenticated
    try:
        made = deciding.decide(
            own,
            request.POST.get("action", ""),
            reason=request.POST.get("reason", ""),
            by=request.user,
            category=request.POST.get("category", ""),
        )
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(
            request,
            _("%(worker)s: %(decision)s.") % {"worker": made.worker, "decision": made.get_action_display()},
        )
    return redirect("quality:study", pk=pk)


@require_POST
@login_required
def undo(request: HttpRequest, pk: int, decision: int) -> HttpResponse:
    study = study_with_workers(request, pk)
    made = get_object_or_404(study.decisions, pk=decision)
    assert request.user.is_authenticated
    try:
        deciding.undo(made, by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        messages.success(request, _("Undone. Both lines stay in the list of decisions."))
    return redirect("quality:study", pk=pk)


@require_GET
@login_required
def decisions_csv(request: HttpRequest, pk: int) -> StreamingHttpResponse:
    study = study_with_workers(request, pk)
    name = f"turnwise-{study.code}-decisions.csv"
    return attachment(request, _lines(study), "text/csv; charset=utf-8", name)


def _lines(study: Study) -> Generator[str]:
    yield csv_text([COLUMNS])
    made = study.decisions.exclude(action=Decision.Action.UNDO).select_related("undone_by").order_by("pk")
    for each in made.iterator():
        undone: Decision | None = getattr(each, "undone_by", None)
        at = undone.at.isoformat(timespec="seconds") if undone else ""
        row = (each.worker, each.action, each.reason, each.by, each.at.isoformat(timespec="seconds"))
        yield csv_text([(*row, at, undone.by if undone else "")])
