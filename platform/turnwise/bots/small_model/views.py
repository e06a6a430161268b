from typing import Any

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from chatbots.errors import ChatbotError, last_line
from turnwise.bots import tasks
from turnwise.bots.small_model import services
from turnwise.live.jobs import NOT_STARTED, is_sent

UNDER_WAY = (services.WAITING, services.FETCHING, services.UNPACKING)


def small_model_context() -> dict[str, Any]:
    """Context of the bots page about the small model; empty once its bot is no longer new."""
    state, bot = services.current(services.LOCKED), services.bot_of()
    if bot:
        is_new = state.get("stage") == services.DONE and services.is_shipped(bot)
        return {"stage": services.DONE, "bot": bot} if is_new else {}
    if state.get("stage") == services.DONE:  # it was renamed or removed since
        state = {}
    return {
        "stage": "offered",
        "megabytes": round(services.SMOLLM2.file.size / 1e6),
        "is_under_way": state.get("stage") in UNDER_WAY,
        **state,
    }


@login_required
@require_POST
def add_small_model(request: HttpRequest) -> HttpResponse:
    """Start the job, unless it is under way or the bot is there."""
    context = small_model_context()
    if context.get("stage") == services.DONE or not context or context["is_under_way"]:
        return redirect("bots:bots")
    try:
        services.refuse_if_impossible()
    except ChatbotError as error:
        messages.error(request, last_line(error))
        return redirect("bots:bots")
    services.report(services.WAITING)
    if not is_sent(tasks.add_small_model.delay):
        services.forget_progress()
        messages.error(request, NOT_STARTED)
    return redirect("bots:bots")
