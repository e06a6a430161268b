from functools import partial

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from turnwise.judging import agreement, tasks
from turnwise.labels.explorer import PER_PAGE
from turnwise.live.queue import NOT_STARTED, is_sent
from turnwise.questions.resolving import question_set
from turnwise.studies.models import Ask, Study
from turnwise.studies.queries import studies_of


@require_GET
@login_required
def readers(request: HttpRequest, pk: int) -> HttpResponse:
    """What those who talked answered to an ask beside what readers said of the same in another study."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    ask = _ask(study, request.GET.get("ask"))
    questions = question_set(ask.question_set).questions
    found = agreement.standing(ask, now=timezone.now())
    known = found.agreement if found else None
    count = agreement.number_compared(ask) if known else 0
    page = Paginator(range(count), PER_PAGE).get_page(request.GET.get("page"))
    judged = agreement.disputed(ask, page.start_index() - 1, page.end_index()) if count else []
    context = {
        "study": study,
        "ask": ask,
        "questions": questions,
        "standing": found,
        "agreement": known,
        "page": page,
        "rows": [{"judged": each, "verdicts": each.verdicts(questions)} for each in judged],
    }
    return render(request, "judging/readers.html", context)


@require_POST
@login_required
def compare_readers(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    ask = _ask(study, request.POST.get("ask"))
    is_wanted = agreement.want(ask, now=timezone.now())
    if is_wanted and not is_sent(partial(tasks.work_out_agreement.delay, ask.pk)):
        agreement.give_up(ask.pk, str(NOT_STARTED))
    there = reverse("judging:readers", args=[pk])
    return redirect(f"{there}?ask={ask.number}" if ask != study.asked[0] else there)


def _ask(study: Study, number: str | None) -> Ask:
    """The ask of this number; the first if it has none such.

    Raises:
        Http404: the study asks nothing about what is said.
    """
    if not study.asked:
        raise Http404("Nothing is asked in this study.")
    return next((ask for ask in study.asked if str(ask.number) == number), study.asked[0])
