from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from crowd import refusals
from crowd.models import Assignment
from crowd.practice_views import practice_first
from crowd.services import assign
from crowd.views import current_participation, page_of, worker_page
from dialogues import services
from dialogues.asks import SeatAsk
from dialogues.models import Dialogue, Seat
from dialogues.reading import ArticlesUsedUpError
from dialogues.seated import asks_of
from live.text import MAX_TEXT
from questions.shown import all_asked
from studies.models import Study
from tasks.conversation.task import Conversation


@require_POST
@worker_page
def start(request: HttpRequest, study: Study) -> HttpResponse:
    if study.task != Conversation.key:
        raise refusals.unknown_study()
    participation = current_participation(request, study)
    if first := practice_first(participation):
        return first
    _begun(assign(participation.pk))
    return redirect("conversation:chat", code=study.code)


@require_safe
@worker_page
def chat(request: HttpRequest, study: Study) -> HttpResponse:
    participation = current_participation(request, study)
    if page_of(participation) != "conversation:chat":
        return redirect(page_of(participation), code=study.code)
    dialogue = _begun(participation.assignment)
    bot = services.bot_of(participation.assignment)
    seat = dialogue.seats.get(assignment=participation.assignment)
    context = {
        "study": study,
        "dialogue": dialogue,
        "bot_name": "" if study.blind else bot.title,
        "resume_code": participation.resume_code,
        "materials": seat.materials.all(),
        "settings": _page_settings(dialogue, seat),
    }
    return render(request, "tasks/conversation/chat.html", context)


def _begun(assignment: Assignment) -> Dialogue:
    try:
        return services.begin(assignment)
    except ArticlesUsedUpError:
        raise refusals.full(may_become_free=True) from None


def _page_settings(dialogue: Dialogue, seat: Seat) -> dict[str, object]:
    return {
        "socket": f"/ws/dialogues/{dialogue.public_id}/",
        "dialogue": str(dialogue.public_id),
        "asks": [_ask(ask, dialogue.study.only_language) for ask in asks_of(seat.asks)],
        "max_chars": MAX_TEXT,
    }


def _ask(ask: SeatAsk, language: str) -> dict[str, object]:
    return {
        "number": ask.number,
        "about": ask.about.value,
        "moment": ask.moment.value,
        "required": ask.required,
        "questions": all_asked(ask.question_set, language),
    }
