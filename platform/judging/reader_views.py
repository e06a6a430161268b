from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST
from kombu.exceptions import OperationalError

from judging import agreement, tasks
from labels.explorer import PER_PAGE
from questions.resolving import question_set
from studies.models import Study
from studies.queries import studies_of


@require_GET
@login_required
def readers(request: HttpRequest, pk: int) -> HttpResponse:
    """Labels of the chatters beside those of readers, who judged the same turns in another study."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    questions = question_set(study.question_set).questions
    found = agreement.standing(study, now=timezone.now())
    known = found.agreement if found else None
    count = agreement.turns_compared(study) if known else 0
    page = Paginator(range(count), PER_PAGE).get_page(request.GET.get("page"))
    turns = agreement.disputed(study, page.start_index() - 1, page.end_index()) if count else []
    context = {
        "study": study,
        "questions": questions,
        "standing": found,
        "agreement": known,
        "page": page,
        "rows": [{"turn": turn, "verdicts": turn.verdicts(questions)} for turn in turns],
    }
    return render(request, "judging/readers.html", context)


@require_POST
@login_required
def compare_readers(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    if agreement.ask(study, now=timezone.now()):
        _send(request, study)
    return redirect("judging:readers", pk=pk)


def _send(request: HttpRequest, study: Study) -> None:
    try:
        tasks.work_out_agreement.delay(study.pk)
    except OperationalError:
        messages.error(request, _("The job queue does not answer. The comparison starts when Redis is back."))
