"""Answers that a worker's page collects and sends together in one form field, as JSON.

So do the practice before the work, and the questions that people are asked about themselves.

The page on which workers practise.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_http_methods

from evaluation.questions import Answer, AnswersError, QuestionSet
from turnwise.accounts.limits import too_many, too_often
from turnwise.crowd.entry import gates, practice
from turnwise.crowd.entry.worker_views import current_participation, page_of, worker_page
from turnwise.crowd.models import Participation
from turnwise.crowd.worker_task import work_of
from turnwise.questions.question_sets import why_not_taken
from turnwise.studies.models import Study

_LONGEST = 100_000


class NotTakenError(Exception):
    """What was sent does not answer what is asked; the message says what is missing."""


def take_answers(
    request: HttpRequest,
    name: str,
    *,
    unreadable: str,
    take: Callable[[dict[str, Any]], None],
    page: Callable[[str], HttpResponse],
    then: Callable[[], HttpResponse],
) -> HttpResponse:
    """Store the answers that were sent, and go on; answers that are not taken lead back to the page.

    Args:
        request: with the answers.
        name: of the page, for the limit of attempts.
        unreadable: what is said of answers that are no JSON object.
        take: stores answers, or raises NotTakenError.
        page: gives the page with the reason why the answers were not taken.
        then: gives the next page.
    """
    if too_often(request, name, rate="300/m"):
        return too_many(request)
    try:
        take(_answers_in(request, unreadable))
    except NotTakenError as error:
        return page(str(error))
    return then()


def _answers_in(request: HttpRequest, unreadable: str) -> dict[str, Any]:
    sent = request.POST.get("answers", "")
    try:
        answers = json.loads(sent) if len(sent) <= _LONGEST else None
    except (ValueError, RecursionError):
        answers = None
    if not isinstance(answers, dict):
        raise NotTakenError(unreadable)
    return answers


def checked(questions: QuestionSet, given: object, *, missing: str) -> dict[str, Answer]:
    """The answers to a question set, as they are stored.

    Raises:
        NotTakenError: there are none, which `missing` says, or they cannot be.
    """
    if not isinstance(given, Mapping):
        raise NotTakenError(missing)
    try:
        return questions.check(given)
    except AnswersError as error:
        raise NotTakenError(why_not_taken(error)) from None


HERE = "crowd:practice"


def practice_first(participation: Participation) -> HttpResponse | None:
    """To what the worker has to do before they begin, such as the practice; None: they may begin."""
    if hasattr(participation, "assignment"):
        return None
    first = gates.first(participation) or (HERE if practice.is_due(participation) else "")
    return redirect(first, participation.study.code) if first else None


@require_http_methods(["GET", "HEAD", "POST"])
@worker_page
def practise(request: HttpRequest, study: Study) -> HttpResponse:
    """The examples one after the other; by POST what was answered, and on to the work."""
    participation = current_participation(request, study)
    if hasattr(participation, "assignment") or not practice.number_of_examples(study):
        return redirect(page_of(participation), code=study.code)
    if request.method == "POST":
        return _practised(request, study, participation)
    if first := gates.first(participation):
        return redirect(first, code=study.code)
    return _page(request, study, participation)


def _practised(request: HttpRequest, study: Study, participation: Participation) -> HttpResponse:
    return take_answers(
        request,
        "practice",
        unreadable=_("The answers to the examples could not be read."),
        take=partial(practice.take, participation),
        page=partial(_page, request, study, participation),
        # The work is begun by POST, too.
        then=partial(redirect, work_of(study).begin, code=study.code, preserve_request=True),
    )


def _page(request: HttpRequest, study: Study, participation: Participation, error: str = "") -> HttpResponse:
    context = {
        "study": study,
        "settings": practice.shown(study),
        "resume_code": participation.resume_code,
        "may_skip": not practice.is_due(participation),
        "begin": reverse(work_of(study).begin, args=[study.code]),
        "error": error,
    }
    return render(request, "crowd/practice.html", context, status=422 if error else 200)
