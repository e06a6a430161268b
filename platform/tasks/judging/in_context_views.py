"""The pages of contexts: all of them in an order to read in, and each with what every system said in it."""

from typing import Any
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_GET

from evaluation.questions import QuestionSet, Subject
from evaluation.report.figures import coded_questions
from evaluation.report.in_context import FILES
from judging.asks import asks_about
from judging.queued import QueuedTask
from labels.votes import votes_on
from privacy.redacting import redactor_for
from questions.resolving import question_set
from studies.models import Study
from studies.queries import readable_studies_of
from studies.tasks import task_of
from tasks.judging import in_context
from tasks.judging.in_context import Narrowed, Order, Ranked

PER_PAGE = 50
LONGEST_SOUGHT = 200


@require_GET
@login_required
def contexts(request: HttpRequest, pk: int) -> HttpResponse:
    """The contexts of a judging study, the hardest or the most disputed first."""
    study, questions = _study(request, pk)
    order, narrowed = _order(request.GET, questions), _narrowed(request.GET)
    page = _whole(request.GET.get("page", "")) or 1
    found = in_context.ranked(study, questions, order, narrowed, limit=PER_PAGE, offset=(page - 1) * PER_PAGE)
    if len(found) == 1 and found[0].of == 1 and found[0].key == narrowed.find:
        return redirect("judging_task:context", pk=pk, context=found[0].pk)
    shown = {
        "study": study,
        "contexts": found,
        "pages": Paginator(range(found[0].of if found else 0), PER_PAGE).get_page(page),
        "score": questions.main_score,
        "order": order,
        "by": narrowed,
        "kinds": in_context.kinds(study),
        "query": _query(order, narrowed),
    }
    return render(request, "tasks/judging/contexts.html", shown)


@require_GET
@login_required
def context(request: HttpRequest, pk: int, context: int) -> HttpResponse:
    """What every system said in one context, side by side, with the votes of its raters."""
    study, questions = _study(request, pk)
    order, narrowed = _order(request.GET, questions), _narrowed(request.GET)
    found = in_context.numbered(study, questions, order, narrowed, context)
    if found is None:
        narrowed = Narrowed()
        found = _context(study, questions, order, context)
    said = in_context.responses(study, questions, context)
    columns = [[(score, each.scores[score.key]) for score in questions.scores] for each in said]
    asked = coded_questions(questions)
    votes = [[(of.wording, votes_on(of, each.answers)) for of in asked] for each in said]
    shown = {
        "study": study,
        "context": found,
        "order": order,
        "said": list(zip(said, columns, votes, strict=True)),
        "repeats": any(each.repetition > 1 for each in said),
        "is_cut": len(said) == in_context.MOST_RESPONSES,
        "most": in_context.MOST_RESPONSES,
        "main": questions.main_score,
        "query": _query(order, narrowed),
        "is_narrowed": narrowed != Narrowed(),
    }
    return render(request, "tasks/judging/context.html", shown)


@require_GET
@login_required
def context_file(request: HttpRequest, pk: int, context: int, ending: str) -> HttpResponse:
    """The same as CSV, or as a table for a paper."""
    study, questions = _study(request, pk)
    found = _context(study, questions, Order.HARDEST, context)
    made, kind = FILES[ending]
    said = in_context.responses(study, questions, context)
    text = made(questions, found.key, found.turns, said, redactor_for(study))
    response = HttpResponse(text, content_type=f"{kind}; charset=utf-8")
    name = f"turnwise-{study.code}-context-{found.pk}.{ending}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _study(request: HttpRequest, pk: int) -> tuple[Study, QuestionSet]:
    study = get_object_or_404(readable_studies_of(request.user), pk=pk)
    if not isinstance(task_of(study), QueuedTask):
        raise Http404("In this study no responses to contexts are judged.")
    about = asks_about(study, Subject.RESPONSE) or study.asked
    return study, question_set(about[0].question_set)


def _context(study: Study, questions: QuestionSet, order: Order, context: int) -> Ranked:
    found = in_context.numbered(study, questions, order, Narrowed(), context)
    if found is None:
        raise Http404("No response to this context is judged in this study.")
    return found


def _order(query: QueryDict, questions: QuestionSet) -> Order:
    """The order that an address asks for; what is unknown there counts as not given."""
    if query.get("order") == Order.DISPUTED or questions.main_score is None:
        return Order.DISPUTED
    return Order.HARDEST


def _narrowed(query: QueryDict) -> Narrowed:
    consistency = query.get("consistency", "")
    return Narrowed(
        find=query.get("find", "").strip()[:LONGEST_SOUGHT],
        category=query.get("category", "")[:LONGEST_SOUGHT],
        turns=_whole(query.get("turns", "")),
        consistency=consistency if consistency in ("yes", "no") else "",
    )


def _whole(sent: str) -> int:
    return int(sent) if sent.isascii() and sent.isdecimal() and len(sent) < 7 else 0


def _query(order: Order, narrowed: Narrowed) -> str:
    """What leads to the same contexts in the same order, for the links among the pages."""
    given: dict[str, Any] = {
        "order": order.value if order is not Order.HARDEST else "",
        "find": narrowed.find,
        "category": narrowed.category,
        "turns": narrowed.turns,
        "consistency": narrowed.consistency,
    }
    return urlencode({name: value for name, value in given.items() if value})
