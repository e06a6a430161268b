from functools import partial

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.live.jobs import NOT_STARTED, is_sent
from turnwise.rehearsals import run
from turnwise.rehearsals import tasks as jobs
from turnwise.rehearsals.models import Attempt
from turnwise.rehearsals.rehearsed_task import MOST_WORKERS, RehearsedTask
from turnwise.rehearsals.services import delete_rehearsal, enough_workers
from turnwise.reports.report_kinds import TaskWithReport
from turnwise.studies.models import Study
from turnwise.studies.queries import active_bots_of, studies_of
from turnwise.studies.tasks import task_of
from turnwise.trash.views import offer_undo


@require_GET
@login_required
def rehearsal(request: HttpRequest, pk: int) -> HttpResponse:
    """The rehearsal page of a study: a start button, the progress, and the result."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    task = task_of(study)
    if study.rehearsal_of_id or not isinstance(task, RehearsedTask):
        return redirect(study)
    attempt = Attempt.objects.filter(study=study).first()
    attempt = run.refresh_attempt(attempt) if attempt else None
    copy = Study.objects.filter(rehearsal_of=study).select_related("outcome").first()
    context = {
        "study": study,
        "attempt": attempt,
        "stamp": _stamp(attempt),
        "rehearsal": copy,
        "outcome": getattr(copy, "outcome", None),
        "has_report": isinstance(task, TaskWithReport),
        "missing": task.why_not_open(study),
        "workers": (workers := enough_workers(study)),
        "enough": task.enough % {"n": workers},
        "most": MOST_WORKERS,
        "bots_answer": active_bots_of(study).exists(),
    }
    return render(request, "rehearsals/rehearsal.html", context)


def _stamp(attempt: Attempt | None) -> str:
    return f"{attempt.state}-{attempt.told_at.timestamp()}" if attempt else "none"


@require_GET
@login_required
def stamp(request: HttpRequest, pk: int) -> JsonResponse:
    """A value that changes with the rehearsal's progress; the page polls it every few seconds."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    attempt = Attempt.objects.filter(study=study).first()
    return JsonResponse({"stamp": _stamp(run.refresh_attempt(attempt) if attempt else None)})


@require_POST
@login_required
def start(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    assert request.user.is_authenticated
    sent = request.POST.get("workers", "").strip()
    try:
        if not (sent.isascii() and sent.isdecimal() and len(sent) < 6):
            raise ValidationError(
                _("“%(sent)s” is not a number of simulated workers, such as 30.") % {"sent": sent[:20]}
            )
        run.create_attempt(study, int(sent), by=request.user)
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    else:
        if not is_sent(partial(jobs.rehearse.delay, study.pk, int(sent))):
            run.fail_attempt(study, str(NOT_STARTED))
    return redirect("rehearsals:rehearsal", pk=pk)


@require_POST
@login_required
def delete(request: AuthenticatedHttpRequest, pk: int) -> HttpResponse:
    rehearsals = studies_of(request.user).filter(rehearsal_of__isnull=False)
    rehearsal = get_object_or_404(rehearsals.select_related("rehearsal_of"), pk=pk)
    assert rehearsal.rehearsal_of
    study = rehearsal.rehearsal_of
    with transaction.atomic():
        deletion = delete_rehearsal(rehearsal).store(rehearsal.title, by=request.user, study=study)
    offer_undo(request, _("The rehearsal is deleted, with its simulated workers and all they did."), deletion)
    return redirect(study)
