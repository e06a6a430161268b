"""Page on which workers practise."""

from functools import partial

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from turnwise.crowd.entry import gates, practice
from turnwise.crowd.entry.submitted_answers import receive_answers
from turnwise.crowd.entry.worker_views import current_participation, page_of, worker_page
from turnwise.crowd.models import Participation
from turnwise.crowd.worker_task import work_of
from turnwise.studies.models import Study

HERE = "crowd:practice"


def practice_first(participation: Participation) -> HttpResponse | None:
    """Redirect to the step that is due before the work, such as the practice; None if none is due."""
    if hasattr(participation, "assignment"):
        return None
    first = gates.first(participation) or (HERE if practice.is_due(participation) else "")
    return redirect(first, participation.study.code) if first else None


@require_http_methods(["GET", "HEAD", "POST"])
@worker_page
def practise(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the examples one by one; a POST stores the answers and leads to the work."""
    participation = current_participation(request, study)
    if hasattr(participation, "assignment") or not practice.number_of_examples(study):
        return redirect(page_of(participation), code=study.code)
    if request.method == "POST":
        return _practised(request, study, participation)
    if first := gates.first(participation):
        return redirect(first, code=study.code)
    return _page(request, study, participation)


def _practised(request: HttpRequest, study: Study, participation: Participation) -> HttpResponse:
    return receive_answers(
        request,
        "practice",
        unreadable=_("The answers to the examples could not be read."),
        take=partial(practice.record_practice, participation),
        page=partial(_page, request, study, participation),
        # Starting the work is a POST, too.
        then=partial(redirect, work_of(study).begin, code=study.code, preserve_request=True),
    )


def _page(request: HttpRequest, study: Study, participation: Participation, error: str = "") -> HttpResponse:
    context = {
        "study": study,
        "settings": practice.page_settings(study),
        "resume_code": participation.resume_code,
        "may_skip": not practice.is_due(participation),
        "begin": reverse(work_of(study).begin, args=[study.code]),
        "error": error,
    }
    return render(request, "crowd/practice.html", context, status=422 if error else 200)
