"""The pages on which people answer questions about themselves, and the same for who makes the study."""

from collections.abc import Callable
from functools import partial
from typing import Any

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import override
from django.views.decorators.http import require_http_methods

from turnwise.crowd.entry.submitted_answers import take_answers
from turnwise.crowd.entry.worker_views import current_participation, page_of, worker_page
from turnwise.crowd.languages import ENGLISH, catalog_of
from turnwise.crowd.models import Participation
from turnwise.crowd.preview.preview_views import framed, staged, study_with_workers
from turnwise.crowd.worker_task import Wishes, work_of
from turnwise.questionnaires import services
from turnwise.studies.asks import Moment
from turnwise.studies.models import Ask, Study

MOMENTS = {"before": Moment.BEFORE_WORK, "after": Moment.AFTER_WORK}
"""As addresses name them."""


@require_http_methods(["GET", "HEAD", "POST"])
@worker_page
def before(request: HttpRequest, study: Study) -> HttpResponse:
    """Questions before the work; by POST their answers, and on to the work."""
    participation = current_participation(request, study)
    if hasattr(participation, "assignment"):
        return redirect(page_of(participation), code=study.code)
    # The work is begun by POST, too.
    begun = partial(redirect, work_of(study).begin, code=study.code, preserve_request=True)
    return _asked(request, participation, Moment.BEFORE_WORK, then=begun)


@require_http_methods(["GET", "HEAD", "POST"])
@worker_page
def after(request: HttpRequest, study: Study) -> HttpResponse:
    """Questions when the work is done; by POST their answers, and on to the last page."""
    participation = current_participation(request, study)
    thanks = partial(redirect, "crowd:thanks", code=study.code)
    return _asked(request, participation, Moment.AFTER_WORK, then=thanks)


def _asked(
    request: HttpRequest, participation: Participation, moment: Moment, *, then: Callable[[], HttpResponse]
) -> HttpResponse:
    if request.method == "POST":
        return take_answers(
            request,
            "questionnaire",
            unreadable=_("The answers could not be read."),
            take=partial(services.take, participation, moment),
            page=partial(_page, request, participation, moment),
            then=then,
        )
    if not services.due(participation, moment):
        return redirect(page_of(participation), code=participation.study.code)
    return _page(request, participation, moment)


def _page(
    request: HttpRequest, participation: Participation, moment: Moment, error: str = ""
) -> HttpResponse:
    asks = services.due(participation, moment)
    resume_code = participation.resume_code if moment == Moment.BEFORE_WORK else ""
    more = {"resume_code": resume_code, "error": error}
    shown = _shown(participation.study, moment, asks) | more
    return render(request, "questionnaires/asked.html", shown, status=422 if error else 200)


def _shown(study: Study, moment: Moment, asks: list[Ask]) -> dict[str, Any]:
    return {
        "study": study,
        "settings": services.shown(study, asks),
        "is_after": moment == Moment.AFTER_WORK,
        "is_required": any(ask.required for ask in asks),
    }


@framed
def preview(request: HttpRequest, pk: int, moment: str) -> HttpResponse:
    """The questions as a worker gets them; nothing that is answered is stored."""
    study = study_with_workers(request, pk)
    asks = services.asked_at(study, MOMENTS[moment])
    if not asks:
        raise Http404("The study asks people nothing about themselves at that moment.")
    wishes = Wishes.of(request.GET, study)
    with override(catalog_of(wishes.language) or ENGLISH):
        shown = _shown(study, MOMENTS[moment], asks) | {"staged": staged(study, moment, wishes)}
        return render(request, "questionnaires/asked.html", shown)
