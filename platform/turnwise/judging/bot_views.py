"""What a bot said, and how the raters of judging studies voted on it."""

from typing import Any

from django.contrib.auth.decorators import login_required
from django.core.paginator import Paginator
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from turnwise.bots.models import Bot
from turnwise.bots.queries import visible_bots
from turnwise.judging.asks import questions_about
from turnwise.judging.bot_queries import VOTES, judged_of, with_votes
from turnwise.judging.models import Item
from turnwise.labels.votes import votes_on
from turnwise.studies.queries import readable_real_studies_of

PER_PAGE = 50


@require_GET
@login_required
def judged(request: HttpRequest, name: str) -> HttpResponse:
    """The bot's responses and turns in the judging studies that this person may see."""
    bot = get_object_or_404(Bot, name=name)
    studies = readable_real_studies_of(request.user)
    items = judged_of(bot, studies)
    if not items.exists():  # whose votes are there to read may know that there is such a bot
        bot = get_object_or_404(visible_bots(request.user), name=name)
    of_bot = studies.filter(pk__in=items.values("study")).order_by("title", "pk")
    study = next((each for each in of_bot if str(each.pk) == request.GET.get("study")), None)
    votes = request.GET.get("votes", "")
    chosen = with_votes(items.filter(study=study) if study else items, votes)
    page = Paginator(chosen, PER_PAGE).get_page(request.GET.get("page"))
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
