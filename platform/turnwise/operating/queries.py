"""Data of the operator's page: the open conversations of a bot, and one of them with all turns."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Subquery

from turnwise.accounts.models import User
from turnwise.bots import operators
from turnwise.bots.models import Bot
from turnwise.dialogues import pictures
from turnwise.dialogues.models import OperatorReply, Seat, Turn
from turnwise.dialogues.operator_replies import live_seats
from turnwise.dialogues.pictures import staff_picture_of
from turnwise.dialogues.seat_context import PictureInfo
from turnwise.live.frames import Frame

MOST_SHOWN = 100
SNIPPET = 120


def conversations(bot: Bot, operator: User, *, now: datetime) -> list[Frame]:
    """Open conversations; those that wait for a reply first, in the order of their waiting time."""
    last = Turn.objects.filter(dialogue=OuterRef("dialogue")).order_by("-position")
    written = OperatorReply.objects.filter(
        dialogue=OuterRef("dialogue"), position=OuterRef("dialogue__turns")
    )
    there = set(operators.present_operators(now=now).filter(bot=bot).values_list("operator", flat=True))
    seats = (
        live_seats(bot)
        .select_related("dialogue__study", "operator")
        .annotate(
            said=Subquery(last.values("text")[:1]),
            said_at=Subquery(last.values("created_at")[:1]),
            is_written=Exists(written),
        )
        .order_by("dialogue__started_at", "pk")[:MOST_SHOWN]
    )
    found = [_conversation(seat, operator, there) for seat in seats]
    return sorted(found, key=lambda each: (not each["waits"], each["since"]))


def _conversation(seat: Any, operator: User, there: set[int]) -> Frame:
    dialogue = seat.dialogue
    is_due = dialogue.turns > 0 and dialogue.turns % 2 == seat.number
    return {
        "id": str(dialogue.public_id),
        "name": dialogue.pk,
        "study": dialogue.study.title,
        "turns": dialogue.turns,
        "waits": is_due and not seat.is_written,
        "held": is_due and seat.is_written,
        "since": (seat.said_at or dialogue.started_at).isoformat(),
        "said": (seat.said or "")[:SNIPPET],
        "mine": seat.operator_id == operator.pk,
        "free": seat.operator_id not in there,
        "operator": str(seat.operator) if seat.operator else "",
    }


def conversation(bot: Bot, public_id: UUID) -> Frame | None:
    """One conversation with all turns; None if it is over."""
    seat: Seat | None = (
        live_seats(bot).filter(dialogue__public_id=public_id).select_related("dialogue__study").first()
    )
    if seat is None:
        return None
    dialogue = seat.dialogue
    sent = pictures.pictures_of(dialogue.pk) if dialogue.study.takes_pictures else {}
    turns = [
        {
            "position": turn.position,
            "mine": turn.position % 2 == seat.number,
            "text": turn.text,
            **_picture(sent.get(turn.position), public_id),
        }
        for turn in Turn.objects.filter(dialogue=dialogue, position__lt=dialogue.turns).order_by("position")
    ]
    held = OperatorReply.objects.filter(dialogue=dialogue, position=dialogue.turns).first()
    return {
        "id": str(dialogue.public_id),
        "turns": turns,
        "held": {"position": held.position, "text": held.text} if held else None,
        "counted": dialogue.counted_turns,
        "max_turns": dialogue.max_turns,
        "reads": [
            {"title": str(each), "text": "\n".join([each.text, *each.points]).strip()}
            for each in seat.materials.all()
        ],
    }


def _picture(picture: PictureInfo | None, public_id: UUID) -> Frame:
    return {"picture": staff_picture_of(picture, public_id)} if picture else {}
