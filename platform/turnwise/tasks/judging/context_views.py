"""Pages of contexts: a ranked list, and one context with the responses of all systems."""

from collections.abc import Sequence
from typing import Any, NamedTuple
from urllib.parse import urlencode

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.http import require_GET

from evaluation.questions import Score, Subject
from evaluation.report.figures import coded_questions
from evaluation.report.studies.contexts import FILES, JudgedResponse
from turnwise.judging.asks import asks_about
from turnwise.judging.queue.queued_task import QueuedTask
from turnwise.labels.queries import Vote, votes_on
from turnwise.privacy.personal_data import redactor_for
from turnwise.questions.question_sets import question_set
from turnwise.studies.models import Ask, Study
from turnwise.studies.queries import readable_studies_of
from turnwise.studies.tasks import task_of
from turnwise.tasks.judging import context_results
from turnwise.tasks.judging.context_results import Narrowed, Order, Ranked

PER_PAGE = 50
LONGEST_SOUGHT = 200


@require_GET
@login_required
def contexts(request: HttpRequest, pk: int) -> HttpResponse:
    """List the contexts of a judging study, the hardest or the most disputed first."""
    study = _study(request, pk)
    asks = _asks(study)
    ask = _ask(request.GET, asks)
    order, narrowed = _order(request.GET, ask), _narrowed(request.GET)
    page = _whole(request.GET.get("page", "")) or 1
    found = context_results.ranked(ask, order, narrowed, limit=PER_PAGE, offset=(page - 1) * PER_PAGE)
    query = _query(ask, asks, order, narrowed)
    if len(found) == 1 and found[0].of == 1 and found[0].key == narrowed.find:
        address = reverse("judging_task:context", args=[pk, found[0].pk])
        return redirect(f"{address}?ask={ask.number}" if ask != asks[0] else address)
    page_context = {
        "study": study,
        "asks": asks,
        "ask": ask,
        "contexts": found,
        "pages": Paginator(range(found[0].of if found else 0), PER_PAGE).get_page(page),
        "score": question_set(ask.question_set).main_score,
        "order": order,
        "by": narrowed,
        "kinds": context_results.kinds(ask),
        "query": query,
    }
    return render(request, "tasks/judging/contexts.html", page_context)


@require_GET
@login_required
def context(request: HttpRequest, pk: int, context: int) -> HttpResponse:
    """Show the responses of every system to one context, side by side, with votes by ask."""
    study = _study(request, pk)
    asks = _asks(study)
    ask = _ask(request.GET, asks)
    order, narrowed = _order(request.GET, ask), _narrowed(request.GET)
    found = context_results.numbered(ask, order, narrowed, context)
    if found is None:
        narrowed = Narrowed()
        found = _context(ask, order, context)
    responses = _results_by_response(asks, context)
    page_context = {
        "study": study,
        "asks": asks,
        "ask": ask,
        "context": found,
        "order": order,
        "responses": responses,
        "repeats": any(each.response.repetition > 1 for results in responses for each in results),
        "is_cut": len(responses) >= context_results.MOST_RESPONSES,
        "most": context_results.MOST_RESPONSES,
        "query": _query(ask, asks, order, narrowed),
        "is_narrowed": narrowed != Narrowed(),
    }
    return render(request, "tasks/judging/context.html", page_context)


class _AskResults(NamedTuple):
    """Results of one response by one ask: its scores, and the votes on each question."""

    ask: Ask
    response: JudgedResponse
    scores: list[tuple[Score, bool, float | None]]
    votes: list[tuple[str, list[Vote]]]


def _results_by_response(asks: Sequence[Ask], context: int) -> list[list[_AskResults]]:
    """Results of each response to a context, one for each ask."""
    found: dict[int, list[_AskResults]] = {}
    for ask in asks:
        questions = question_set(ask.question_set)
        for response in context_results.responses(ask, context):
            scores = [
                (score, score == questions.main_score, response.scores[score.key])
                for score in questions.scores
            ]
            votes = [(each.wording, votes_on(each, response.answers)) for each in coded_questions(questions)]
            found.setdefault(response.response, []).append(_AskResults(ask, response, scores, votes))
    return list(found.values())


@require_GET
@login_required
def context_file(request: HttpRequest, pk: int, context: int, ending: str) -> HttpResponse:
    """Download the page of a context as CSV or LaTeX."""
    study = _study(request, pk)
    asks = _asks(study)
    found = _context(_ask(request.GET, asks), Order.HARDEST, context)
    write, kind = FILES[ending]
    responses = [(question_set(ask.question_set), context_results.responses(ask, context)) for ask in asks]
    text = write(responses, found.key, found.turns, redactor_for(study))
    response = HttpResponse(text, content_type=f"{kind}; charset=utf-8")
    name = f"turnwise-{study.code}-context-{found.pk}.{ending}"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response


def _study(request: HttpRequest, pk: int) -> Study:
    study = get_object_or_404(readable_studies_of(request.user), pk=pk)
    if not isinstance(task_of(study), QueuedTask):
        raise Http404("In this study no responses to contexts are judged.")
    return study


def _asks(study: Study) -> list[Ask]:
    """Asks about responses; all asks if the study has none about responses."""
    return asks_about(study, Subject.RESPONSE) or study.work_asks


def _ask(query: QueryDict, asks: Sequence[Ask]) -> Ask:
    """The ask that the address names, else the first."""
    return next((each for each in asks if str(each.number) == query.get("ask")), asks[0])


def _context(ask: Ask, order: Order, context: int) -> Ranked:
    found = context_results.numbered(ask, order, Narrowed(), context)
    if found is None:
        raise Http404("No response to this context is judged in this study.")
    return found


def _order(query: QueryDict, ask: Ask) -> Order:
    """The order that the address names, else the default."""
    if query.get("order") == Order.DISPUTED or question_set(ask.question_set).main_score is None:
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


def _query(ask: Ask, asks: Sequence[Ask], order: Order, narrowed: Narrowed) -> str:
    """Query string that leads to the same contexts in the same order, for links between the pages."""
    values: dict[str, Any] = {
        "ask": str(ask.number) if ask != asks[0] else "",
        "order": order.value if order is not Order.HARDEST else "",
        "find": narrowed.find,
        "category": narrowed.category,
        "turns": narrowed.turns,
        "consistency": narrowed.consistency,
    }
    return urlencode({name: value for name, value in values.items() if value})
