"""Receive answers that a worker's page sends together in one form field, as JSON.

Practice and questionnaires both send their answers this way.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse

from evaluation.questions import Answer, AnswersError, QuestionSet
from turnwise.accounts.limits import too_many, too_often
from turnwise.questions.question_sets import describe_answers_error

_LONGEST = 100_000


class AnswersRefusedError(Exception):
    """Submitted answers are missing or invalid; the message says which."""


def receive_answers(
    request: HttpRequest,
    name: str,
    *,
    unreadable: str,
    take: Callable[[dict[str, Any]], None],
    page: Callable[[str], HttpResponse],
    then: Callable[[], HttpResponse],
) -> HttpResponse:
    """Store submitted answers and lead to the next page; refused answers show the page again.

    Args:
        request: request with the answers.
        name: key of the rate limit.
        unreadable: message if the answers are not a JSON object.
        take: stores the answers, or raises AnswersRefusedError.
        page: renders the page with the reason of a refusal.
        then: makes the response that leads to the next page.
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


def check_answers(questions: QuestionSet, submitted: object, *, missing: str) -> dict[str, Answer]:
    """Check answers to a question set, and return them in stored form.

    Raises:
        AnswersRefusedError: there are no answers (with the message `missing`), or they are invalid.
    """
    if not isinstance(submitted, Mapping):
        raise AnswersRefusedError(missing)
    try:
        return questions.check(submitted)
    except AnswersError as error:
        raise AnswersRefusedError(describe_answers_error(error)) from None
