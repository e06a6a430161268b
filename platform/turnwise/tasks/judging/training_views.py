"""The page of training questions. It has plain forms, since training answers are no judgments."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from evaluation.questions import Example, QuestionSet
from turnwise.crowd.entry.worker_views import current_participation, worker_page
from turnwise.crowd.languages import language_of_questions
from turnwise.crowd.worker_task import work_of
from turnwise.judging.queue import training
from turnwise.judging.queue.training import MarkedExample
from turnwise.live.repeating import once
from turnwise.studies.models import Study


@require_http_methods(["GET", "POST"])
@worker_page
def practise(request: HttpRequest, study: Study) -> HttpResponse:
    """Show the training questions, mark an attempt, and go on to the work once all answers are right."""
    participation = current_participation(request, study)
    language = language_of_questions(study)
    examples = training.examples_of(study, language)
    if not training.is_due(participation):
        return _passed(request, study)
    marked: Sequence[MarkedExample] = ()
    if request.method == "POST":
        given = _submitted_answers(request.POST, examples)
        marked = once(request, lambda: training.mark_attempt(participation, given))
        if not any(each.wrong for each in marked):
            return _passed(request, study)
        training.is_due(participation)  # refuses workers without attempts left
    context = {
        "study": study,
        "examples": example_rows(examples, marked),
        "is_marked": bool(marked),
        "left": training.attempts_left_text(participation),
    }
    return render(request, "tasks/judging/training.html", context, status=422 if marked else 200)


def example_rows(
    examples: Sequence[tuple[QuestionSet, Example]], marked: Sequence[MarkedExample]
) -> list[dict[str, Any]]:
    """Rows of the examples for the page, marked if there was an attempt."""
    return [
        _example_row(n, example, questions, marked[n] if marked else None)
        for n, (questions, example) in enumerate(examples)
    ]


def _passed(request: HttpRequest, study: Study) -> HttpResponse:
    begin = reverse(work_of(study).begin, args=[study.code])
    if request.method == "GET":
        return redirect("crowd:instructions", code=study.code)
    return render(request, "tasks/judging/trained.html", {"study": study, "begin": begin})


def _submitted_answers(
    sent: Mapping[str, str], examples: Sequence[tuple[QuestionSet, Example]]
) -> list[dict[str, object]]:
    """Answers to each example; the form sends the number of the choice."""
    return [
        {
            question.key: question.choices[int(number)].value
            for question in questions.questions
            if (number := sent.get(f"{n}-{question.key}", "")).isdecimal()
            and len(number) < 4
            and int(number) < len(question.choices)
        }
        for n, (questions, _example) in enumerate(examples)
    ]


def _example_row(
    n: int, example: Example, questions: QuestionSet, marked: MarkedExample | None
) -> dict[str, Any]:
    return {
        "example": example,
        "is_right": marked is not None and not marked.wrong,
        "is_wrong": marked is not None and bool(marked.wrong),
        "questions": [
            {
                "name": f"{n}-{question.key}",
                "wording": question.wording,
                "is_wrong": marked is not None and question.key in marked.wrong,
                "choices": [
                    (
                        number,
                        choice.label,
                        marked is not None and marked.given.get(question.key) == choice.value,
                    )
                    for number, choice in enumerate(question.choices)
                ],
            }
            for question in questions.questions
        ],
    }
