"""The page on which workers try to qualify: plain forms, since nothing of it is a judgment."""

from typing import Any

from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from turnwise.accounts.limits import too_many, too_often
from turnwise.crowd.views import current_participation, page_of, worker_page
from turnwise.crowd.work import work_of
from turnwise.quality import qualifying
from turnwise.quality.models import Attempt, Qualification
from turnwise.studies.models import Study


@require_http_methods(["GET", "HEAD", "POST"])
@worker_page
def qualify(request: HttpRequest, study: Study) -> HttpResponse:
    """The questions; after a try what was wrong in it if that is told; with enough right, on to the work."""
    participation = current_participation(request, study)
    wanted = qualifying.wanted_by(study)
    if wanted is None or hasattr(participation, "assignment"):
        return redirect(page_of(participation), code=study.code)
    if request.method == "POST" and too_often(request, "qualification", rate="300/m"):
        return too_many(request)
    given = _given(request.POST, wanted)
    unanswered = request.method == "POST" and len(given) < wanted.of
    marked = qualifying.attempt(participation, given) if request.method == "POST" and not unanswered else None
    own = qualifying.standing(participation.worker, wanted)
    if own.passed:
        return _passed(request, study, marked)
    if own.failed:
        if marked is None:  # they used their tries in another study while this one was open
            qualifying.attempt(participation, given)
        return redirect("crowd:thanks", code=study.code)
    context = {
        "study": study,
        "qualification": wanted,
        "standing": own,
        "marked": marked,
        "unanswered": unanswered,
        "questions": _shown(wanted, given, marked),
    }
    status = 422 if request.method == "POST" else 200
    return render(request, "quality/qualify.html", context, status=status)


def _passed(request: HttpRequest, study: Study, marked: Attempt | None) -> HttpResponse:
    if request.method != "POST":
        return redirect("crowd:instructions", code=study.code)
    begin = reverse(work_of(study).begin, args=[study.code])
    return render(request, "quality/qualified.html", {"study": study, "begin": begin, "marked": marked})


def _given(sent: QueryDict, wanted: Qualification) -> dict[int, list[int]]:
    """By number of the question, the numbers of the choices that were sent, as far as there are such."""
    found = {}
    for number, question in enumerate(wanted.questions):
        known = {str(n): n for n in range(len(question["choices"]))}
        if chosen := [known[each] for each in sent.getlist(f"q{number}") if each in known]:
            found[number] = chosen
    return found


def _shown(
    wanted: Qualification, given: dict[int, list[int]], marked: Attempt | None
) -> list[dict[str, Any]]:
    wrong = qualifying.wrong_in(wanted.questions, given) if marked and wanted.feedback else set()
    return [
        {
            "name": f"q{number}",
            "text": question["text"],
            "several": len(question["right"]) > 1,
            "choices": [
                (n, choice, n in given.get(number, ())) for n, choice in enumerate(question["choices"])
            ],
            "is_wrong": number in wrong,
            "is_right": bool(marked and wanted.feedback) and number not in wrong,
            "why": question["why"] if marked and wanted.feedback else "",
        }
        for number, question in enumerate(wanted.questions)
    ]
