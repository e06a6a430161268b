"""Pages of readers' votes on one bot, and of the agreement of chatters and readers."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_GET, require_POST

from turnwise.bots.models import Bot
from turnwise.bots.queries import visible_bots
from turnwise.dialogues.models import Turn
from turnwise.judging import tasks
from turnwise.judging.asks import questions_about
from turnwise.judging.models import Item
from turnwise.judging.readers import reader_comparison
from turnwise.labels.explorer import PER_PAGE
from turnwise.labels.queries import votes_on
from turnwise.questions.question_sets import question_set
from turnwise.studies.models import Ask, Study
from turnwise.studies.queries import readable_real_studies_of, studies_of

VOTES = {"given": "judged by anybody", "split": "judged differently", "none": "not judged yet"}
"""Filters of the list by their value in the address."""


def items_of_bot(bot: Bot, studies: QuerySet[Study]) -> "QuerySet[Item]":
    """The bot's responses and turns in the queues of these studies, newest first, annotated with `before`."""
    previous_turn = Turn.objects.filter(
        dialogue=OuterRef("turn__dialogue"), position=OuterRef("turn__position") - 1
    )
    return (
        Item.objects.filter(study__in=studies, right_answers__isnull=True)
        .filter(Q(response__bot_version__bot=bot) | Q(turn__bot_version__bot=bot))
        .annotate(before=Subquery(previous_turn.values("text")[:1]))
        .select_related("study", "ask", "response__context", "turn")
        .prefetch_related("slots__label")
        .order_by("-pk")
    )


def filter_by_votes(items: "QuerySet[Item]", kind: str) -> "QuerySet[Item]":
    """Items that raters have judged, judged differently, or not judged; all items for another `kind`."""
    if kind not in VOTES:
        return items
    counted = items.annotate(
        votes=Count("slots__label"), answers=Count("slots__label__answers", distinct=True)
    )
    conditions = {"given": Q(votes__gt=0), "split": Q(answers__gt=1), "none": Q(votes=0)}
    return counted.filter(conditions[kind])


TURNS_PER_PAGE = 50


@require_GET
@login_required
def bot_judgments(request: HttpRequest, name: str) -> HttpResponse:
    """List the bot's responses and turns in the judging studies that this person may see."""
    bot = get_object_or_404(Bot, name=name)
    studies = readable_real_studies_of(request.user)
    items = items_of_bot(bot, studies)
    if not items.exists():  # people who may read its votes may know of the bot
        bot = get_object_or_404(visible_bots(request.user), name=name)
    of_bot = studies.filter(pk__in=items.values("study")).order_by("title", "pk")
    study = next((each for each in of_bot if str(each.pk) == request.GET.get("study")), None)
    votes = request.GET.get("votes", "")
    filtered = filter_by_votes(items.filter(study=study) if study else items, votes)
    page = Paginator(filtered, TURNS_PER_PAGE).get_page(request.GET.get("page"))
    context = {
        "bot": bot,
        "studies": of_bot,
        "study": study,
        "votes": votes,
        "kinds": VOTES,
        "page": page,
        "rows": [_row(item) for item in page],
    }
    return render(request, "judging/bot.html", context)


def _row(item: Item) -> dict[str, Any]:
    labels = [slot.label for slot in item.slots.all() if slot.label]
    answers = [label.answers for label in labels]
    response = item.response
    questions = questions_about(item).questions
    return {
        "item": item,
        "before": response.context.turns if response else _turn_before(item),
        "text": response.text if response else item.turn.text if item.turn else "",
        "raters": len(labels),
        "votes": [(question.wording, votes_on(question, answers)) for question in questions],
    }


def _turn_before(item: Item) -> list[str]:
    before: str | None = getattr(item, "before")  # noqa: B009  # annotated by judged_of
    return [before] if before else []


@require_GET
@login_required
def readers(request: HttpRequest, pk: int) -> HttpResponse:
    """Show the answers of chatters to an ask beside those of readers in other studies."""
    study = get_object_or_404(studies_of(request.user), pk=pk)
    ask = _ask(study, request.GET.get("ask"))
    questions = question_set(ask.question_set).questions
    status = reader_comparison.comparison_status(ask, now=timezone.now())
    known = status.agreement if status else None
    count = reader_comparison.count_compared(ask) if known else 0
    page = Paginator(range(count), PER_PAGE).get_page(request.GET.get("page"))
    judged = reader_comparison.most_disputed(ask, page.start_index() - 1, page.end_index()) if count else []
    context = {
        "study": study,
        "ask": ask,
        "questions": questions,
        "status": status,
        "agreement": known,
        "page": page,
        "rows": [{"judged": each, "verdicts": each.verdicts(questions)} for each in judged],
    }
    return render(request, "judging/readers.html", context)


@require_POST
@login_required
def compare_readers(request: HttpRequest, pk: int) -> HttpResponse:
    study = get_object_or_404(studies_of(request.user), pk=pk)
    ask = _ask(study, request.POST.get("ask"))
    tasks.start_comparison(ask, now=timezone.now())
    address = reverse("judging:readers", args=[pk])
    return redirect(f"{address}?ask={ask.number}" if ask != study.work_asks[0] else address)


def _ask(study: Study, number: str | None) -> Ask:
    """The ask with this number, else the first.

    Raises:
        Http404: the study has no asks.
    """
    if not study.work_asks:
        raise Http404("Nothing is asked in this study.")
    return next((ask for ask in study.work_asks if str(ask.number) == number), study.work_asks[0])
