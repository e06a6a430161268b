"""The page of a conversation, whoever sits opposite."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from turnwise.crowd.languages import language_of_questions
from turnwise.crowd.models import Participation
from turnwise.dialogues.models import Dialogue
from turnwise.dialogues.progress import SeatAsk
from turnwise.dialogues.reading_material import hidden_sections
from turnwise.dialogues.seat_context import asks_of
from turnwise.live.frames import MAX_TEXT
from turnwise.questions.question_sets import all_asked
from turnwise.studies.models import Study


@dataclass(frozen=True, slots=True)
class Opposite:
    """Who sits opposite, as the page calls them.

    Attributes:
        name: before what they say.
        subject: the same at the beginning of a sentence.
        is_person: whether it is one.
        is_disclosed: whether the page shows what only a person does: that they type, or have no connection.
        says: what is said of them above the conversation.
    """

    name: str
    subject: str
    is_person: bool = False
    is_disclosed: bool = True
    says: str = ""


def chat_page(
    request: HttpRequest, participation: Participation, dialogue: Dialogue, opposite: Opposite
) -> HttpResponse:
    """The conversation as this participant has it."""
    seat = dialogue.seats.get(assignment=participation.assignment)
    language, shown = language_of_questions(participation.study), list(seat.materials.all())
    keys = {text.key for text in shown}
    context = {
        "study": participation.study,
        "dialogue": dialogue,
        "opposite": opposite,
        "resume_code": participation.resume_code,
        "materials": shown,
        "has_reading": bool(shown),
        "settings": page_settings(
            dialogue.study,
            asks_of(seat.asks),
            opposite,
            socket=f"/ws/dialogues/{dialogue.public_id}/",
            name=str(dialogue.public_id),
            language=language,
            shown=keys,
        ),
    }
    return render(request, "tasks/conversation/chat.html", context)


def page_settings(
    study: Study,
    asks: Iterable[SeatAsk],
    opposite: Opposite,
    *,
    socket: str,
    name: str,
    language: str,
    shown: Collection[str],
) -> dict[str, object]:
    """What the page's script is told (static/js/chat).

    Args:
        study: whose conversation it is.
        asks: of the person.
        opposite: who sits there.
        socket: where it connects to.
        name: under which the browser keeps what is not saved yet.
        language: that the questions are asked in.
        shown: keys of the texts that the person has.
    """
    return {
        "socket": socket,
        "dialogue": name,
        "person": opposite.is_person,
        "disclosed": opposite.is_disclosed,
        "asks": [_ask(ask, language, shown) for ask in asks],
        "max_chars": MAX_TEXT,
        "notes_typing": study.notes_typing,
    }


def _ask(ask: SeatAsk, language: str, keys: Collection[str]) -> dict[str, object]:
    return {
        "number": ask.number,
        "about": ask.about.value,
        "moment": ask.moment.value,
        "required": ask.required,
        "questions": all_asked(ask.question_set, language, hidden_sections(ask.question_set, keys)),
    }
