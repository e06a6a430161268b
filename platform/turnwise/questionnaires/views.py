"""Pages on which participants answer questions about themselves, and their preview for the study's team."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import override
from django.views.decorators.http import require_http_methods

from turnwise.crowd.entry.submitted_answers import receive_answers
from turnwise.crowd.entry.worker_views import current_participation, page_of, worker_page
from turnwise.crowd.languages import ENGLISH, catalog_of
from turnwise.crowd.models import Participation
from turnwise.crowd.preview import framed, staged, study_with_workers
from turnwise.crowd.worker_task import PreviewOptions, work_of
from turnwise.questionnaires import services
from turnwise.studies.asks import Moment
from turnwise.studies.models import Ask, Study

MOMENTS = {"before": Moment.BEFORE_WORK, "after": Moment.AFTER_WORK}
"""Moments by their name in addresses."""


@require_http_methods(["GET", "HEAD", "POST"])
@worker_page
def before(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the questions before the work; POST saves the answers and leads to the work."""
    participation = current_participation(request, study)
    if hasattr(participation, "assignment"):
        return redirect(page_of(participation), code=study.code)
    # Work also begins with a POST request.
    begun = partial(redirect, work_of(study).begin, code=study.code, preserve_request=True)
    return _questionnaire_page(request, participation, Moment.BEFORE_WORK, then=begun)


@require_http_methods(["GET", "HEAD", "POST"])
@worker_page
def after(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the questions after the work; POST saves the answers and leads to the last page."""
    participation = current_participation(request, study)
    thanks = partial(redirect, "crowd:thanks", code=study.code)
    return _questionnaire_page(request, participation, Moment.AFTER_WORK, then=thanks)


def _questionnaire_page(
    request: HttpRequest, participation: Participation, moment: Moment, *, then: Callable[[], HttpResponse]
) -> HttpResponse:
    if request.method == "POST":
        return receive_answers(
            request,
            "questionnaire",
            unreadable=_("The answers could not be read."),
            take=partial(services.save_answers, participation, moment),
            page=partial(_page, request, participation, moment),
            then=then,
        )
    if not services.due_questionnaires(participation, moment):
        return redirect(page_of(participation), code=participation.study.code)
    return _page(request, participation, moment)


def _page(
    request: HttpRequest, participation: Participation, moment: Moment, error: str = ""
) -> HttpResponse:
    asks = services.due_questionnaires(participation, moment)
    resume_code = participation.resume_code if moment == Moment.BEFORE_WORK else ""
    more = {"resume_code": resume_code, "error": error}
    context = _page_context(participation.study, moment, asks) | more
    return render(request, "questionnaires/asked.html", context, status=422 if error else 200)


def _page_context(study: Study, moment: Moment, asks: list[Ask]) -> dict[str, Any]:
    return {
        "study": study,
        "settings": services.page_settings(study, asks),
        "is_after": moment == Moment.AFTER_WORK,
        "is_required": any(ask.required for ask in asks),
    }


@framed
def preview(request: HttpRequest, pk: int, moment: str) -> HttpResponse:
    """Show the questions as a worker gets them; answers are not stored."""
    study = study_with_workers(request, pk)
    asks = services.questionnaires_at(study, MOMENTS[moment])
    if not asks:
        raise Http404("The study asks people nothing about themselves at that moment.")
    wishes = PreviewOptions.of(request.GET, study)
    with override(catalog_of(wishes.language) or ENGLISH):
        context = _page_context(study, MOMENTS[moment], asks) | {"staged": staged(study, moment, wishes)}
        return render(request, "questionnaires/asked.html", context)
