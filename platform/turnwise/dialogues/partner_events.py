"""Two people who talk: whether the other one is there, and how a conversation ends that one has left.

What the socket of a conversation does more where two people talk: each hears of the other.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from time import monotonic
from typing import Any

from channels.layers import BaseChannelLayer
from django.db import connection, transaction
from django.utils import timezone

from turnwise.crowd.models import Assignment, Outcome
from turnwise.crowd.places.ending import complete
from turnwise.dialogues.models import Dialogue
from turnwise.dialogues.seat_context import Seated, group_of
from turnwise.dialogues.services import end
from turnwise.live.batches import BatchedStep
from turnwise.live.frames import Frame, RefusedError

# Of whom nothing was heard for so long: said to the other. Tabs are asked every few seconds.
AWAY = timedelta(seconds=15)
# After so long without a connection the other may end the conversation.
GONE = timedelta(seconds=30)
# After so long without a message, though it is their turn and they are connected.
SILENT = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class Company:
    """The person opposite, as this one sees them.

    Attributes:
        has_left: they ended their part; they do not come back.
        is_away: they have no connection at the moment.
        away_seconds: since when they have none; 0 if they have.
        may_end: whether this person may end the conversation for it, and is paid in full.
        stamp: turns of the conversation, whether it is closing, and whether it has ended: a tab compares this
            with what it shows, in case it was not told.
    """

    has_left: bool
    is_away: bool
    away_seconds: int
    may_end: bool
    stamp: tuple[int, bool, bool]

    @property
    def frame(self) -> dict[str, object]:
        return {
            "type": "partner",
            "left": self.has_left,
            "away": self.is_away,
            "away_seconds": self.away_seconds,
            "may_end": self.may_end,
        }


COME = BatchedStep("dialogues_come", {"dialogue": "bigint", "seat": "integer"})


async def come(seat: Seated) -> Company:
    """Note that a tab of this person is open, and say how it stands with the other.

    Every open tab asks again and again, so it is a batched step, as those of a turn are.

    Raises:
        RefusedError: the conversation is not there any more.
    """
    row = await COME.row(dialogue=seat.dialogue_id, seat=seat.number)
    if row is None:
        raise RefusedError("unknown_dialogue")
    return _company(seat, row)


def _company(seat: Seated, row: Sequence[Any]) -> Company:
    """How it stands with the other, from what the function of the database returns (sql/come.sql)."""
    turns, due_0, due_1, ended, closing, outcome, away, silent = row
    progress = seat.progress(turns=turns, due_0=due_0, due_1=due_1, ended=ended, closing=closing)
    has_left = bool(outcome) and outcome != Outcome.COMPLETE
    is_silent = progress.awaits_partner and silent >= SILENT.total_seconds()
    is_needed = not (ended or closing)
    is_away = away >= AWAY.total_seconds()
    return Company(
        has_left=has_left,
        is_away=is_away,
        away_seconds=int(away) if is_away else 0,
        may_end=is_needed and (has_left or away >= GONE.total_seconds() or is_silent),
        stamp=(turns, closing, ended),
    )


@transaction.atomic
def end_alone(seat: Seated, *, now: datetime | None = None) -> None:
    """End a conversation that the other one has left; who stayed is paid in full. Safe to repeat.

    Who vanished is paid for the time they were there; it is kept as unfinished.

    Raises:
        RefusedError: it has ended otherwise, or the other one is there.
    """
    now = now or timezone.now()
    dialogue = Dialogue.objects.select_for_update().get(pk=seat.dialogue_id)
    if dialogue.ending == Dialogue.Ending.PARTNER_LEFT:
        return
    if dialogue.ending:
        raise RefusedError("ended")
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM dialogues_come(%s, %s)", [seat.dialogue_id, seat.number])
        company = _company(seat, cursor.fetchone())
    if not company.may_end:
        raise RefusedError("partner_is_there")
    vanished = Assignment.objects.get(seat__dialogue=dialogue, seat__number=1 - seat.number)
    complete(vanished.pk, Outcome.TIMED_OUT, now=now)
    end(dialogue, Dialogue.Ending.PARTNER_LEFT, Outcome.PARTNER_LEFT, now)


# The server asks a tab whether it is still open: browsers slow the clocks of hidden tabs.
ASK_SECONDS = 6.0
# The partner hears at most this often that somebody is typing; it is stored nowhere.
TYPING_SECONDS = 1.0


class Partner:
    """The person opposite, as one tab has to do with them.

    Frames for them go to the group of their seat, which all their tabs are in, in whatever process.
    """

    def __init__(self, seat: Seated, layer: BaseChannelLayer) -> None:
        self.seat = seat
        self.layer = layer
        self.group = group_of(seat.dialogue_id, 1 - seat.number)
        self.told_of_typing = -TYPING_SECONDS
        self.known: tuple[bool, bool] | None = None

    async def tell(self, frame: Frame) -> None:
        """Have their tabs show a frame."""
        await self.layer.group_send(self.group, {"type": "tab.frame", "frame": frame, "from": ""})

    async def tell_of_change(self) -> None:
        """Have their tabs read anew how it stands."""
        await self.layer.group_send(self.group, {"type": "tab.changed", "from": ""})

    async def tell_of_typing(self) -> None:
        now = monotonic()
        if now - self.told_of_typing >= TYPING_SECONDS:
            self.told_of_typing = now
            await self.tell({"type": "partner_typing"})

    async def look(self, shown: int) -> tuple[Frame, bool]:
        """Note that this tab, which shows so many turns, is open.

        Returns:
            How it stands with the other, and whether the conversation went on without this tab being told.
        """
        found = await come(self.seat)
        turns, *state = found.stamp
        known, self.known = self.known, (state[0], state[1])
        return found.frame, turns != shown or known not in (None, self.known)
