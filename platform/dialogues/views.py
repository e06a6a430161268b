from dataclasses import asdict

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_POST, require_safe

from crowd import refusals
from crowd.services import assign
from crowd.views import current_participation, place_of, worker_page
from dialogues import services
from dialogues.models import MAX_TEXT, Dialogue
from evaluation.questions import Question, question_set
from studies.models import Study, Task


@require_POST
@worker_page
def start(request: HttpRequest, study: Study) -> HttpResponse:
    if study.task != Task.CONVERSATION:
        raise refusals.unknown_study()
    participation = current_participation(request, study)
    services.begin(assign(participation.pk))
    return redirect("dialogues:chat", code=study.code)


@require_safe
@worker_page
def chat(request: HttpRequest, study: Study) -> HttpResponse:
    participation = current_participation(request, study)
    if place_of(participation) != "dialogues:chat":
        return redirect(place_of(participation), code=study.code)
    dialogue = services.begin(participation.assignment)
    bot = services.bot_of(participation.assignment)
    context = {
        "study": study,
        "dialogue": dialogue,
        "bot_name": "" if study.blind else bot.title,
        "resume_code": participation.resume_code,
        "settings": _page_settings(dialogue),
    }
    return render(request, "dialogues/chat.html", context)


def _page_settings(dialogue: Dialogue) -> dict[str, object]:
    return {
        "socket": f"/ws/dialogues/{dialogue.public_id}/",
        "dialogue": str(dialogue.public_id),
        "questions": [asked(question) for question in question_set(dialogue.question_set).questions],
        "max_chars": MAX_TEXT,
    }


def asked(question: Question) -> dict[str, object]:
    condition = question.asked_if
    return {
        "key": question.key,
        "wording": question.wording,
        "help": question.help,
        "choices": [asdict(choice) for choice in question.choices],
        "asked_if": {"question": condition.question, "value": condition.equals} if condition else None,
    }
