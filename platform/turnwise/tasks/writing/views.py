"""The pages of a worker who writes responses; the texts go through the socket in `consumers`."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from evaluation.texts.lengths import MAX_MESSAGE_CHARS
from turnwise.crowd import refusals
from turnwise.crowd.entry.practice_views import practice_first
from turnwise.crowd.entry.worker_views import current_participation, page_of, worker_page
from turnwise.studies.models import Study
from turnwise.tasks.writing import services as writing
from turnwise.tasks.writing.task import Writing


@require_POST
@worker_page
def start(request: HttpRequest, study: Study) -> HttpResponse:
    if study.task != Writing.key:
        raise refusals.unknown_study()
    participation = current_participation(request, study)
    if first := practice_first(participation):
        return first
    writing.begin(participation.pk)
    return redirect(Writing.go_on, code=study.code)


@require_safe
@worker_page
def write(request: HttpRequest, study: Study) -> HttpResponse:
    """Show one context after the other, with a text box."""
    participation = current_participation(request, study)
    if page_of(participation) != Writing.go_on:
        return redirect(page_of(participation), code=study.code)
    settings = {
        "socket": f"/ws/writing/{study.code}/",
        "name": f"writing.{participation.pk}",
        "max_chars": MAX_MESSAGE_CHARS,
    }
    context = {"study": study, "resume_code": participation.resume_code, "settings": settings}
    return render(request, "tasks/writing/write.html", context)
