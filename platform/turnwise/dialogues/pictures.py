"""Pictures of messages: storing uploads, sending them with a message, reading and removing them.

An upload is stored in the database, with its conversation: what removes the conversation removes its pictures
(docs/decisions/pictures-in-the-database.md). The message that sends it names its hash.
"""

import hashlib
import re
import subprocess
from collections.abc import Collection, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.core import signing
from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from chatbots.base import Context
from chatbots.pictures import Picture as ContextPicture
from evaluation.texts.cleaning import cleaned
from turnwise.bots.models import Bot
from turnwise.bots.queries import sees_pictures
from turnwise.crowd.models import Participation, Withdrawal
from turnwise.dialogues import picture_files
from turnwise.dialogues.models import Dialogue, MessagePicture, Picture, Seat
from turnwise.dialogues.picture_files import EncodedPicture, UnfitPictureError
from turnwise.dialogues.seat_context import PictureInfo
from turnwise.live.frames import RefusedError
from turnwise.live.subprocesses import run_module

HASH = re.compile(r"[0-9a-f]{64}")
MOST_UNSENT = 5
"""Uploads of a seat that wait for their message; a newer one replaces the oldest."""
KEEP_UNSENT_FOR = timedelta(days=1)
MAX_DESCRIPTION_CHARS = 300
_SALT = "dialogues.picture"

REFUSALS = {
    "too_large": _("This file is too large. Choose a smaller picture."),
    "too_many_pixels": _("This picture has too many pixels. Choose a smaller one."),
    "unknown_format": _("This is not a JPEG, PNG or WebP picture. Choose another one."),
    "damaged": _("This picture cannot be read. The file may be damaged: choose another one."),
    "no_file": _("No picture has arrived. Choose it once more."),
    "ended": _("The conversation has ended, so no picture can be added."),
    "too_often": _("Too many pictures in a short time. Wait a minute, then try again."),
    "not_allowed": _("This study takes no pictures."),
}

UNKNOWN_PICTURE = _(
    "The picture of your message is no longer there. Your words are back in the box: add the picture once "
    "more, then send."
)


class PictureRefusedError(Exception):
    """An upload that is not stored.

    Attributes:
        reason: a key of `REFUSALS`.
        say: a sentence for the participant.
    """

    def __init__(self, reason: str) -> None:
        self.reason = reason
        self.say = str(REFUSALS[reason])
        super().__init__(reason)


# --- uploads ---


def read_upload(data: bytes) -> EncodedPicture:
    """Re-encode an upload in another process.

    Raises:
        PictureRefusedError: the file is too large, has too many pixels, another format, or is damaged.
    """
    if len(data) > picture_files.MAX_UPLOAD_BYTES:
        raise PictureRefusedError("too_large")
    try:
        return picture_files.unpacked(run_module(picture_files.MODULE, [], data))
    except UnfitPictureError as error:
        raise PictureRefusedError(error.reason) from None
    except (subprocess.SubprocessError, ValueError):  # killed by its bounds of memory or time
        raise PictureRefusedError("damaged") from None


@transaction.atomic
def store(participation: Participation, encoded: EncodedPicture, *, now: datetime | None = None) -> Picture:
    """Store an upload in the participant's seat. Idempotent for the same content.

    Raises:
        PictureRefusedError: the conversation has not begun or has ended.
    """
    seat = Seat.objects.filter(assignment__participation=participation).first()
    # The lock waits for a withdrawal, which removes the conversation or its pictures.
    is_open = seat and Dialogue.objects.select_for_update(no_key=True).filter(
        pk=seat.dialogue_id, ended_at=None, closing=False
    )
    if not is_open or Withdrawal.objects.filter(participation=participation).exists():
        raise PictureRefusedError("ended")
    assert seat
    digest = hashlib.sha256(encoded.content).hexdigest()
    fields = {**encoded._asdict(), "uploaded_at": now or timezone.now()}
    picture, _is_new = Picture.objects.update_or_create(seat=seat, sha256=digest, defaults=fields)
    waiting = Picture.objects.filter(seat=seat, messages=None).order_by("-uploaded_at")
    Picture.objects.filter(pk__in=list(waiting.values_list("pk", flat=True)[MOST_UNSENT:])).delete()
    return picture


def remove_unsent(*, now: datetime | None = None) -> int:
    """Remove uploads that no message has sent within a day; returns their number."""
    old = Picture.objects.filter(messages=None, uploaded_at__lt=(now or timezone.now()) - KEEP_UNSENT_FOR)
    with transaction.atomic():
        keys = list(old.order_by("pk").values_list("pk", flat=True))
        # A message that is being saved holds its picture.
        locked = Picture.objects.filter(pk__in=keys).select_for_update(skip_locked=True)
        still = [each.pk for each in locked.only("pk")]
        unsent = Picture.objects.filter(pk__in=still, messages=None).values_list("pk", flat=True)
        return Picture.objects.filter(pk__in=list(unsent)).delete()[0]


def erase(participations: Collection[int]) -> None:
    """Erase the pictures of these participations; their messages keep a mark that there was one."""
    Picture.objects.filter(seat__assignment__participation__in=participations).delete()


# --- messages ---


def checked_hash(value: object) -> str:
    """Return the hash by which a frame names a picture; empty for none.

    Raises:
        RefusedError: malformed.
    """
    if value is None:
        return ""
    if not isinstance(value, str) or not HASH.fullmatch(value):
        raise RefusedError("malformed")
    return value


def checked_description(value: object) -> str:
    """Return the cleaned description in a frame with a picture; empty for none.

    Raises:
        RefusedError: malformed.
    """
    if value is None:
        return ""
    if not isinstance(value, str):
        raise RefusedError("malformed")
    text = " ".join(cleaned(value, MAX_DESCRIPTION_CHARS + 1).split())
    if len(text) > MAX_DESCRIPTION_CHARS:
        raise RefusedError("malformed")
    return text


def describe(dialogue_id: int, seat: int, sha256: str, description: str) -> None:
    """Store the description of a picture in a seat of an open conversation, before its message is saved.

    It belongs to the picture, so that everything that removes a picture removes it.
    """
    open_seat = {"seat__dialogue": dialogue_id, "seat__number": seat, "seat__dialogue__ended_at": None}
    Picture.objects.filter(**open_seat, sha256=sha256).update(description=description)


def unknown_picture() -> RefusedError:
    """Create the refusal of a message whose picture is not there."""
    return RefusedError("unknown_picture", UNKNOWN_PICTURE)


def was_sent_with(dialogue_id: int, key: UUID, sha256: str) -> bool:
    """True if the message with this key was sent with this picture; an empty hash stands for none.

    Which picture it was is unknown once it is erased, so a message that is sent again may name any.
    """
    message = MessagePicture.objects.filter(turn__dialogue=dialogue_id, turn__key=key)
    sent = message.values_list("picture__sha256").first()
    if sent is None or not sha256:
        return sent is None and not sha256
    return sent[0] in (None, sha256)


def pictures_of(dialogue_id: int) -> dict[int, PictureInfo]:
    """Pictures of a conversation's messages, by position."""
    sent = MessagePicture.objects.filter(turn__dialogue=dialogue_id)
    rows = sent.values_list(
        "turn__position", "picture", "picture__width", "picture__height", "picture__description"
    )
    return {
        position: {"id": key, "width": width or 0, "height": height or 0, "description": description or ""}
        for position, key, width, height, description in rows
    }


def with_address(turn: Mapping[str, Any], participation_id: int) -> dict[str, Any]:
    """The frame of a turn whose picture has an address that this participant's browser may open."""
    frame = dict(turn)
    picture: PictureInfo | None = frame.pop("picture", None)
    if picture:
        frame["picture"] = participant_picture_of(picture, participation_id)
    return frame


def participant_picture_of(picture: PictureInfo, participation_id: int) -> dict[str, Any]:
    """A picture as a participant's page gets it; its address is empty once it is erased."""
    key = picture["id"]
    address = address_for(key, participation_id) if key else ""
    return _picture_frame(picture, address)


def staff_picture_of(picture: PictureInfo, public_id: UUID) -> dict[str, Any]:
    """A picture as a page of the team gets it; its address is empty once it is erased."""
    key = picture["id"]
    address = reverse("dialogues:staff_picture", args=[public_id, key]) if key else ""
    return _picture_frame(picture, address)


def _picture_frame(picture: PictureInfo, address: str) -> dict[str, Any]:
    return {
        "address": address,
        "width": picture["width"],
        "height": picture["height"],
        "description": picture["description"],
    }


def address_for(picture_id: int, participation_id: int) -> str:
    """Address of a picture for one participant, who has been shown its conversation."""
    token = signing.Signer(salt=_SALT).sign_object([picture_id, participation_id])
    return reverse("dialogues:picture", args=[token])


def picture_at(token: str, participations: Collection[int]) -> Picture | None:
    """The picture of an address, if one of these participations was given it; None for any other."""
    try:
        picture_id, participation_id = signing.Signer(salt=_SALT).unsign_object(token)
    except (signing.BadSignature, ValueError, TypeError):
        return None
    if participation_id not in participations:
        return None
    return Picture.objects.filter(pk=picture_id).first()


# --- bots ---


def context_with_pictures(bot_id: int, dialogue_id: int, context: Context) -> Context:
    """The context with the pictures of its turns, if there are any and the bot sees pictures."""
    sent = MessagePicture.objects.filter(turn__dialogue=dialogue_id, picture__isnull=False)
    if not sent.exists() or not sees_pictures(Bot.objects.get(pk=bot_id)):
        return context
    rows = sent.values_list("turn__position", "picture__media_type", "picture__content")
    pictures = {
        position: ContextPicture(media_type, bytes(content)) for position, media_type, content in rows
    }
    turns = [replace(turn, picture=pictures.get(position)) for position, turn in enumerate(context.turns)]
    return replace(context, turns=tuple(turns))
