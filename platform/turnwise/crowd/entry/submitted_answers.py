"""Answers that a worker's page collects and sends together in one form field, as JSON.

Practice before the work and the questionnaires both send their answers this way.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse

from evaluation.questions import Answer, AnswersError, QuestionSet
from turnwise.accounts.limits import too_many, too_often
from turnwise.questions.question_sets import why_not_taken

_LONGEST = 100_000


class AnswersRefusedError(Exception):
    """What was sent does not answer what is asked; the message says what is missing."""


def receive_answers(
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
        take: stores answers, or raises AnswersRefusedError.
        page: gives the page with the reason why the answers were not taken.
        then: gives the next page.
    """
    if too_often(request, name, rate="300/m"):
        return too_many(request)
    try:
        take(_answers_in(request, unreadable))
    except AnswersRefusedError as error:
        return page(str(error))
    return then()


def _answers_in(request: HttpRequest, unreadable: str) -> dict[str, Any]:
    sent = request.POST.get("answers", "")
    try:
        answers = json.loads(sent) if len(sent) <= _LONGEST else None
    except (ValueError, RecursionError):
        answers = None
    if not isinstance(answers, dict):
        raise AnswersRefusedError(unreadable)
    return answers


def check_answers(questions: QuestionSet, given: object, *, missing: str) -> dict[str, Answer]:
    """The answers to a question set, as they are stored.

    Raises:
        AnswersRefusedError: there are none, which `missing` says, or they cannot be.
    """
    if not isinstance(given, Mapping):
        raise AnswersRefusedError(missing)
    try:
        return questions.check(given)
    except AnswersError as error:
        raise AnswersRefusedError(why_not_taken(error)) from None
