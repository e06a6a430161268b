"""Several replies to one message, of which the worker keeps one: storing them, and changing the kept one.

    regenerate ──▶ the bot ──▶ add ──▶ ReplyVersion 2, 3, … ──▶ the newest one is the turn's text
    keep_version ──────────▶ keep ──▶ an earlier one is the turn's text

The reply can be exchanged until it has a label or the next message exists. A version that arrives later, as
after a label in another tab, is stored beside the kept one. All steps lock the conversation first.
"""

from functools import partial
from typing import NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from turnwise.bots.hosting.client import Reply
from turnwise.dialogues.models import ReplyVersion, Turn
from turnwise.dialogues.progress import Progress
from turnwise.dialogues.queries import progress_of, saved_turn
from turnwise.dialogues.seat_context import SavedTurn, SeatContext
from turnwise.dialogues.services import reply_values
from turnwise.live.database import in_database
from turnwise.live.frames import Frame, RefusedError
from turnwise.live.sockets.batches import BatchedStep

ADD = BatchedStep(
    "dialogues_add_reply_version",
    {
        "dialogue": "bigint", "position": "integer", "most": "integer", "key": "uuid", "text": "text",
        "version": "bigint", "latency": "integer", "seed": "bigint", "candidates": "jsonb",
        "generation": "jsonb",
    },
)  # fmt: skip
KEEP = BatchedStep(
    "dialogues_keep_reply_version", {"dialogue": "bigint", "position": "integer", "chosen": "integer"}
)


class KeptReply(NamedTuple):
    """The kept reply to a message.

    Attributes:
        turn: the reply.
        progress: progress of the conversation.
        versions: as in `versions_frame`.
    """

    turn: SavedTurn
    progress: Progress
    versions: Frame | None


def request(seat: SeatContext, position: int, key: UUID) -> list[str] | None:
    """Texts before the reply at this position, to which another reply may be given.

    None if the request with this key is answered already.

    Raises:
        RefusedError: the reply is judged or answered, or there are as many as the study allows.
    """
    turns = list(Turn.objects.filter(dialogue_id=seat.dialogue_id).order_by("position"))
    if seat.max_reply_versions == 1 or not 0 <= position < len(turns):
        raise RefusedError("may_not_choose")
    versions = ReplyVersion.objects.filter(turn=turns[position])
    if versions.filter(key=key).exists():
        return None
    if not _may_choose(turns[position]):
        raise RefusedError("may_not_choose")
    if versions.count() >= seat.max_reply_versions:
        raise RefusedError("no_more_replies")
    return [turn.text for turn in turns[:position]]


def _may_choose(turn: Turn) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT dialogues_may_choose_reply(%s)", [turn.pk])
        return bool(cursor.fetchone()[0])


async def add(seat: SeatContext, *, position: int, key: UUID, reply: Reply) -> KeptReply:
    """Store another reply; it is kept if the reply can still be exchanged. Idempotent for the same key.

    Raises:
        RefusedError: the conversation was removed, or two tabs asked for the last possible reply at once.
    """
    reply = reply.within(seat.reply_limit, stores_reasoning=seat.stores_reasoning)
    values = {
        "dialogue": seat.dialogue_id,
        "position": position,
        "most": seat.max_reply_versions,
        "key": str(key),
        **reply_values(reply, "text"),
    }
    if await in_database(partial(ADD.row_alone, **values)) is None:
        raise RefusedError("no_more_replies")
    return await in_database(kept_reply, seat, position)


async def keep(seat: SeatContext, *, position: int, number: int) -> KeptReply:
    """Continue with the version of this number.

    Raises:
        RefusedError: the reply is judged or answered, or there is no such version.
    """
    if seat.max_reply_versions == 1 or not (
        0 <= position <= seat.opening_turns + seat.max_turns and 0 < number <= 2**15 - 1
    ):
        raise RefusedError("may_not_choose")
    values = {"dialogue": seat.dialogue_id, "position": position, "chosen": number}
    if await in_database(partial(KEEP.row_alone, **values)) is None:
        raise RefusedError("may_not_choose")
    return await in_database(kept_reply, seat, position)


def kept_reply(seat: SeatContext, position: int) -> KeptReply:
    """Read the kept reply at this position.

    Raises:
        RefusedError: the conversation was removed.
    """
    turn = Turn.objects.filter(dialogue_id=seat.dialogue_id, position=position).first()
    if turn is None:
        raise RefusedError("ended")
    versions = list(ReplyVersion.objects.filter(turn=turn))
    chosen = next((version for version in versions if version.is_kept), None)
    saved = saved_turn(seat, turn)
    if chosen:  # read at once with their number, as another tab may choose in between
        saved = saved._replace(text=chosen.text)
    return KeptReply(saved, progress_of(seat), _frame(position, chosen, len(versions)))


def versions_frame(seat: SeatContext, position: int) -> Frame | None:
    """Number of the kept version at this position and how many there are; None if there is only one."""
    if seat.max_reply_versions == 1:
        return None
    versions = list(_versions(seat, position).only("number", "is_kept"))
    shown_version = next((version for version in versions if version.is_kept), None)
    return _frame(position, shown_version, len(versions))


def _frame(position: int, kept: ReplyVersion | None, of: int) -> Frame | None:
    return {"position": position, "number": kept.number, "of": of} if kept else None


def kept_version(seat: SeatContext, position: int) -> int:
    """Number of the kept version at this position; 1 if the message was answered once."""
    numbers = _versions(seat, position).filter(is_kept=True).values_list("number", flat=True)
    return numbers.first() or 1


def _versions(seat: SeatContext, position: int) -> QuerySet[ReplyVersion]:
    return ReplyVersion.objects.filter(turn__dialogue=seat.dialogue_id, turn__position=position)
