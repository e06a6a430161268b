"""The pages on which workers write responses."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from accounts.limits import too_many, too_often
from crowd import refusals
from crowd.models import Participation
from crowd.views import current_participation, page_of, worker_page
from responses.models import MAX_RESPONSE, Response, WritingPlace
from studies.models import Study
from tasks.writing import services as writing
from tasks.writing.task import Writing

HERE = "writing:write"


@require_POST
@worker_page
def start(request: HttpRequest, study: Study) -> HttpResponse:
    if study.task != Writing.key:
        raise refusals.unknown_study()
    participation = current_participation(request, study)
    writing.begin(participation.pk)
    return redirect(HERE, code=study.code)


@require_http_methods(["GET", "HEAD", "POST"])
@worker_page
def write(request: HttpRequest, study: Study) -> HttpResponse:
    """One context and a box; by POST what was written there."""
    participation = current_participation(request, study)
    if page_of(participation) != HERE:
        return redirect(page_of(participation), code=study.code)
    if request.method == "POST":
        return _submitted(request, study, participation)
    return _next(request, study, participation)


def _submitted(request: HttpRequest, study: Study, participation: Participation) -> HttpResponse:
    if too_often(request, "write", rate="300/m"):
        return too_many(request)
    key, text = request.POST.get("context", ""), request.POST.get("text", "").replace("\r\n", "\n")
    outcome = writing.submit(participation.assignment, key, text)
    if outcome.is_stored:
        return redirect(HERE, code=study.code)
    return _next(request, study, participation, say=outcome.say, key=key, text=text)


def _next(
    request: HttpRequest,
    study: Study,
    participation: Participation,
    *,
    say: str = "",
    key: str = "",
    text: str = "",
) -> HttpResponse:
    place = writing.hold_place(participation.assignment)
    if place is None:
        return redirect("crowd:thanks", code=study.code)
    is_same = place.context.key == key
    context = _shown(study, participation, place) | {"say": say, "text": text if is_same else ""}
    return render(request, "tasks/writing/write.html", context, status=422 if say else 200)


def _shown(study: Study, participation: Participation, place: WritingPlace) -> dict[str, object]:
    turns = place.context.turns
    # The worker answers the last turn: it is the other's, the one before it the worker's own.
    spoken = [(text, (len(turns) - index) % 2 == 0) for index, text in enumerate(turns)]
    return {
        "study": study,
        "place": place,
        "turns": spoken,
        "written": Response.objects.filter(author=participation).count(),
        "share": study.writing.batch_size,
        "max_chars": MAX_RESPONSE,
        "resume_code": participation.resume_code,
    }
