"""The page of a conversation with a bot or a person, and the stored state that its tabs show."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse

from turnwise.crowd.languages import language_of_questions
from turnwise.crowd.models import Participation
from turnwise.dialogues import queries, reply_versions, services
from turnwise.dialogues.models import Dialogue
from turnwise.dialogues.picture_files import MAX_UPLOAD_BYTES
from turnwise.dialogues.progress import Progress, SeatAsk
from turnwise.dialogues.reading_material import hidden_sections
from turnwise.dialogues.seat_context import SavedTurn, SeatContext, asks_of
from turnwise.labels import queries as labels
from turnwise.live.frames import Frame
from turnwise.questions.question_sets import questions_json
from turnwise.studies.conditions.factors import texts_in
from turnwise.studies.models import ReplyDisplay, Study
from turnwise.studies.scenarios.tables import situation_of


@dataclass(frozen=True, slots=True)
class PartnerDescription:
    """Description of the partner on the page.

    Attributes:
        name: name before the partner's turns.
        subject: the name at the beginning of a sentence.
        is_person: the partner is a person.
        is_disclosed: the page may show signs of a person: typing, or a lost connection.
        says: text about the partner above the conversation.
    """

    name: str
    subject: str
    is_person: bool = False
    is_disclosed: bool = True
    says: str = ""


def chat_page(
    request: HttpRequest, participation: Participation, dialogue: Dialogue, partner: PartnerDescription
) -> HttpResponse:
    """Render the conversation for this participant."""
    seat = dialogue.seats.get(assignment=participation.assignment)
    language, materials = language_of_questions(participation.study), list(seat.materials.all())
    keys = {text.key for text in materials}
    context = {
        "study": participation.study,
        "dialogue": dialogue,
        "partner": partner,
        "situation": situation_of(dialogue.study, dialogue.scenario),
        "further_texts": texts_in(dialogue.study.factors, participation.condition),
        "resume_code": participation.resume_code,
        "materials": materials,
        "has_reading": bool(materials),
        "settings": picture_settings(
            dialogue.study, reverse("dialogues:upload", args=[participation.study.code])
        )
        | page_settings(
            dialogue.study,
            asks_of(seat.asks),
            partner,
            socket=f"/ws/dialogues/{dialogue.public_id}/",
            name=str(dialogue.public_id),
            language=language,
            material_keys=keys,
        ),
    }
    return render(request, "tasks/conversation/chat.html", context)


def picture_settings(study: Study, upload: str) -> dict[str, object]:
    """Settings of the page's script about pictures, uploaded to this address; empty if people send none."""
    if not study.takes_pictures:
        return {}
    return {"pictures": {"upload": upload, "max_bytes": MAX_UPLOAD_BYTES}}


def page_settings(
    study: Study,
    asks: Iterable[SeatAsk],
    partner: PartnerDescription,
    *,
    socket: str,
    name: str,
    language: str,
    material_keys: Collection[str],
) -> dict[str, object]:
    """Settings of the page's script (static/js/chat).

    Args:
        study: study of the conversation.
        asks: asks of this person.
        partner: description of the partner.
        socket: address of the socket.
        name: key under which the browser stores unsaved input.
        language: language of the questions.
        material_keys: keys of the person's reading material.
    """
    return {
        "socket": socket,
        "dialogue": name,
        "person": partner.is_person,
        "disclosed": partner.is_disclosed,
        "asks": [_ask(ask, language, material_keys) for ask in asks],
        "max_chars": study.message_limit,
        "notes_typing": study.notes_typing,
        "may_stop": study.may_stop_replies and study.reply_display != ReplyDisplay.WHEN_DONE,
        "max_versions": 1 if partner.is_person else study.max_reply_versions,
    }


def _ask(ask: SeatAsk, language: str, keys: Collection[str]) -> dict[str, object]:
    return {
        "number": ask.number,
        "about": ask.about.value,
        "moment": ask.moment.value,
        "required": ask.required,
        "questions": questions_json(ask.question_set, language, hidden_sections(ask.question_set, keys)),
    }


def stored_state(
    seat: SeatContext,
) -> tuple[list[SavedTurn], Progress, int, list[dict[str, Any]], bool, Frame | None]:
    """Data of a tab: `queries.snapshot`, this person's annotations, whether their part is over, and versions.

    A second person may still have annotations to give. The versions are those of the last turn.
    """
    turns, progress, faults = queries.snapshot(seat)
    is_over = progress.ended or (seat.bot_id is None and services.has_finished(seat))
    versions = reply_versions.versions_frame(seat, progress.turns - 1)
    return turns, progress, faults, labels.chatter_labels(seat), is_over, versions
