"""Collect all data stored about a participant of a study, in readable form for the data page and file."""

from base64 import b64encode
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from django.db.models import QuerySet
from django.utils.translation import gettext as _

from turnwise.crowd.models import Participation, PayEntry, Practice
from turnwise.crowd.panels.study_panels import invitation_of
from turnwise.dialogues.models import Dialogue, MessagePicture, Seat, Turn, Typing, sides_of
from turnwise.judging.models import Training
from turnwise.labels.models import Label, Pair
from turnwise.quality.flagging import describe_flag
from turnwise.quality.models import Attempt, Decision
from turnwise.questions.question_sets import question_set
from turnwise.responses.models import Response
from turnwise.studies.conditions.factors import texts_in


def stored_data_of(participation: Participation) -> dict[str, Any]:
    """All stored data as JSON, except the bot's name, which may be blinded."""
    seat = _seat(participation)
    withdrawal = getattr(participation, "withdrawal", None)
    invited = invitation_of(participation)
    return {
        "study": {"title": participation.study.title, "contact": participation.study.contact_address},
        "you": {
            "pseudonym": participation.pseudonym,
            "panel": participation.worker.panel,
            "panel_id": participation.worker.panel_id,
            "submission": participation.submission,
            "network_address": _("coded") if participation.address else "",
            "resume_code": participation.resume_code,
            "completion_code": participation.disclosed_code,
            **({"further_instructions": texts} if (texts := _further_texts(participation)) else {}),
            **({"invited_as": invited.name, "email": invited.email} if invited else {}),
        },
        "consent": {
            "version": participation.consent.number,
            "at": _time(participation.consented_at),
            "text": participation.consent.text,
        },
        "work": _work(participation),
        "withdrawn_at": _time(withdrawal.at if withdrawal else None),
        "conversation": _conversation(seat) if seat else None,
        "side_by_side": [_conversation(each) for each in _seats_side_by_side(participation)],
        "other_times": [_other_time(each) for each in _others(participation)],
        "answers": [_answer(each) for each in _labels(participation)],
        "written": [
            _written(each) for each in Response.objects.filter(author=participation).select_related("context")
        ],
        **_passed(participation),
        "noted_about_you": [
            *filter(
                None, (participation.signs, participation.proposed_reason, participation.excluded_reason)
            ),
            *_noted(participation),
        ],
        "told_over_panel": _panel_messages(participation),
        "pay": _pay(participation),
    }


def _further_texts(participation: Participation) -> list[str]:
    """What the participant's condition had them read beside the instructions; its name could give it away."""
    return texts_in(participation.study.factors, participation.condition)


def count_stored(participation: Participation) -> dict[str, int]:
    """Number of stored messages, answers, written responses and pay entries."""
    turns = Turn.objects.filter(dialogue__seats__assignment__participation=participation)
    side_by_side = Turn.objects.filter(dialogue__in=sides_of(participation))
    return {
        "messages": turns.count() + side_by_side.count(),
        "answers": _labels(participation).count(),
        "written": Response.objects.filter(author=participation).count(),
        "pay": PayEntry.objects.filter(participation=participation.pk).count(),
    }


def _seat(participation: Participation) -> Seat | None:
    return Seat.objects.filter(assignment__participation=participation).select_related("dialogue").first()


def _seats_side_by_side(participation: Participation) -> QuerySet[Seat]:
    """Seats of the participant in the conversations with two chatbots at once."""
    mine = Seat.objects.filter(dialogue__in=sides_of(participation), worker=participation.worker_id)
    return mine.select_related("dialogue").order_by("dialogue")


def _others(participation: Participation) -> QuerySet[Participation]:
    every = Participation.objects.filter(
        worker=participation.worker_id, study=participation.study_id
    ).exclude(pk=participation.pk)
    return every.select_related("assignment", "consent", "entered_by").order_by("number")


def _other_time(participation: Participation) -> dict[str, Any]:
    """Data of another participation of the same worker; its answers are listed with all others."""
    seat = _seat(participation)
    return {
        "number": participation.number,
        "submission": participation.submission,
        "resume_code": participation.resume_code,
        "completion_code": participation.disclosed_code,
        "consent": {
            "version": participation.consent.number,
            "at": _time(participation.consented_at),
            "text": participation.consent.text,
        },
        "work": _work(participation),
        "conversation": _conversation(seat) if seat else None,
        "noted_about_you": _noted(participation),
        "told_over_panel": _panel_messages(participation),
        "pay": _pay(participation),
    }


def _panel_messages(participation: Participation) -> list[dict[str, str]]:
    return [
        {"what": act.get_kind_display(), "text": act.text, "at": _time(act.done_at)}
        for act in participation.panel_acts.all()
    ]


def _pay(participation: Participation) -> list[dict[str, Any]]:
    return [_paid(each) for each in PayEntry.objects.filter(participation=participation.pk)]


def _work(participation: Participation) -> dict[str, str]:
    work = getattr(participation, "assignment", None)
    return {
        "began_at": _time(work.assigned_at if work else None),
        "ended_at": _time(work.ended_at if work else None),
        "outcome": work.get_outcome_display() if work and work.outcome else "",
    }


def _passed(participation: Participation) -> dict[str, list[dict[str, Any]]]:
    """Training, practice and qualification tests that the worker passed or tried."""
    return {
        "training": [
            {"tries": each.tries, "passed_at": _time(each.passed_at)}
            for each in Training.objects.filter(worker=participation.worker_id, study=participation.study_id)
        ],
        "practice": [
            {"questions": each.question_set, "passed_at": _time(each.passed_at)}
            for each in Practice.objects.filter(worker=participation.worker_id)
        ],
        "qualification": [
            {
                "title": each.qualification.title,
                "answers": each.given,
                "right": each.right,
                "passed": each.passed,
                "at": _time(each.at),
            }
            for each in Attempt.objects.filter(participation=participation).select_related("qualification")
        ],
    }


def _paid(entry: PayEntry) -> dict[str, str]:
    return {
        "what": entry.get_reason_display(),
        "amount": str(entry.amount),
        "currency": entry.currency,
        "note": entry.note,
        "at": _time(entry.at),
    }


def _noted(participation: Participation) -> list[str]:
    """Quality flags and decisions about the participation, as sentences."""
    flags = [describe_flag(flag.kind, flag.figures) for flag in participation.flags.all()]
    decided = Decision.objects.filter(study=participation.study_id, participation=participation.pk)
    return [*flags, *(f"{each.get_action_display()}: {each.reason}".removesuffix(": ") for each in decided)]


def _time(at: datetime | None) -> str:
    return at.astimezone(UTC).isoformat(timespec="seconds") if at else ""


def _conversation(seat: Seat) -> dict[str, Any]:
    dialogue: Dialogue = seat.dialogue
    partner = Seat.objects.filter(dialogue=dialogue).exclude(pk=seat.pk).first()
    other = "chatbot" if partner and partner.bot_id else "partner"
    sent = _pictures_sent(seat)
    return {
        "id": str(dialogue.public_id),
        "began_at": _time(dialogue.started_at),
        "ended_at": _time(dialogue.ended_at),
        "turns": [
            {
                "by": "you" if turn.position % 2 == seat.number else other,
                "text": turn.text,
                "at": _time(turn.created_at),
                **_typing(turn, seat),
                **_other_replies(turn),
                **({"picture": sent[turn.position]} if turn.position in sent else {}),
            }
            for turn in dialogue.turn_set.select_related("typing")
            .prefetch_related("versions")
            .order_by("position")
        ],
    }


def _pictures_sent(seat: Seat) -> dict[int, dict[str, str]]:
    """The participant's pictures by position, each with its file in base64."""
    sent = MessagePicture.objects.filter(turn__dialogue=seat.dialogue_id, picture__seat=seat)
    return {
        each.turn.position: {
            "media_type": each.picture.media_type,
            "base64": b64encode(each.picture.content).decode(),
            "description": each.picture.description,
        }
        for each in sent.select_related("turn", "picture")
        if each.picture
    }


def _other_replies(turn: Turn) -> dict[str, list[str]]:
    """Replies to the same message that the participant saw and did not keep."""
    others = [version.text for version in turn.versions.all() if not version.is_kept]
    return {"other_replies": others} if others else {}


def _typing(turn: Turn, seat: Seat) -> dict[str, int]:
    """Typing data of the participant's own messages, if the study records them."""
    typed: Typing | None = getattr(turn, "typing", None)
    if typed is None or turn.position % 2 != seat.number:
        return {}
    return {"pasted_characters": typed.pasted, "typing_milliseconds": typed.typing_ms}


def _labels(participation: Participation) -> QuerySet[Label]:
    given = Label.objects.filter(rater=participation.worker_id, study=participation.study_id).order_by("pk")
    sides = ("first_response", "second_response", "first_dialogue", "second_dialogue")
    return given.select_related("turn", "response", "context", *(f"pair__{side}" for side in sides))


def _answer(label: Label) -> dict[str, Any]:
    return {
        "about": _about(label),
        "answers": _answer_texts(label.question_set, label.answers),
        "at": _time(label.changed_at),
        "changed": label.changes,
        "shown_ms": label.shown_ms,
        "answer_ms": label.answer_ms,
    }


def _answer_texts(key: str, answers: Mapping[str, Any]) -> dict[str, str]:
    questions = question_set(key).questions
    return {
        str(each.wording): str(each.caption_of(answers[each.key]))
        for each in questions
        if each.key in answers
    }


def _about(label: Label) -> str:
    """Text or description of what the label is about."""
    judged = label.turn or label.response
    if judged:
        return judged.text
    if label.context:
        return label.context.turns[-1]
    if label.participation_id:
        return _("You, or your experience")
    pair: Pair | None = label.pair
    if pair and pair.first_response and pair.second_response:
        return f"{pair.first_response.text} | {pair.second_response.text}"
    return _("Two conversations") if pair else _("The whole conversation")


def _written(response: Response) -> dict[str, Any]:
    return {
        "context": list(response.context.turns),
        "text": response.text,
        "at": _time(response.created_at),
    }
