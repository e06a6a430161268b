"""Events between two people who talk: presence, typing, and the end after one of them has left."""

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
from turnwise.dialogues.seat_context import SeatContext, group_of
from turnwise.dialogues.services import end
from turnwise.live.frames import Frame, RefusedError
from turnwise.live.sockets.batches import BatchedStep

# Without a sign of life for this long, the partner is shown as away. Tabs are asked every few seconds.
AWAY = timedelta(seconds=15)
# After this long without a connection, the other person may end the conversation.
GONE = timedelta(seconds=30)
# The same after this long without a message from a connected person whose turn it is.
SILENT = timedelta(minutes=5)


@dataclass(frozen=True, slots=True)
class PartnerState:
    """State of the partner, as the other person sees it.

    Attributes:
        has_left: the partner ended their part and will not come back.
        is_away: the partner has no connection at the moment.
        away_seconds: seconds without a connection; 0 while connected.
        may_end: this person may end the conversation because of it, with full pay.
        stamp: turns of the conversation, whether it is closing, and whether it has ended. A tab compares it
            with what it shows, in case it missed an event.
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


NOTE_PRESENCE = BatchedStep("dialogues_come", {"dialogue": "bigint", "seat": "integer"})


async def note_presence(seat: SeatContext) -> PartnerState:
    """Record that a tab of this person is open, and return the partner's state.

    Every open tab does this every few seconds, so it is a batched step like those of a turn.

    Raises:
        RefusedError: the conversation no longer exists.
    """
    row = await NOTE_PRESENCE.row(dialogue=seat.dialogue_id, seat=seat.number)
    if row is None:
        raise RefusedError("unknown_dialogue")
    return _partner_state(seat, row)


def _partner_state(seat: SeatContext, row: Sequence[Any]) -> PartnerState:
    """Build the partner's state from a row of the database function `dialogues_come` (sql/come.sql)."""
    turns, due_0, due_1, ended, closing, outcome, away, silent = row
    progress = seat.progress(turns=turns, due_0=due_0, due_1=due_1, ended=ended, closing=closing)
    has_left = bool(outcome) and outcome != Outcome.COMPLETE
    is_silent = progress.awaits_partner and silent >= SILENT.total_seconds()
    is_needed = not (ended or closing)
    is_away = away >= AWAY.total_seconds()
    return PartnerState(
        has_left=has_left,
        is_away=is_away,
        away_seconds=int(away) if is_away else 0,
        may_end=is_needed and (has_left or away >= GONE.total_seconds() or is_silent),
        stamp=(turns, closing, ended),
    )


@transaction.atomic
def end_alone(seat: SeatContext, *, now: datetime | None = None) -> None:
    """End a conversation whose partner has left. Idempotent.

    The person who stayed is paid in full. The partner is paid for the time they were present, and their
    assignment ends as unfinished.

    Raises:
        RefusedError: the conversation ended in another way, or the partner is present.
    """
    now = now or timezone.now()
    dialogue = Dialogue.objects.select_for_update().get(pk=seat.dialogue_id)
    if dialogue.ending == Dialogue.Ending.PARTNER_LEFT:
        return
    if dialogue.ending:
        raise RefusedError("ended")
    with connection.cursor() as cursor:
        cursor.execute("SELECT * FROM dialogues_come(%s, %s)", [seat.dialogue_id, seat.number])
        partner = _partner_state(seat, cursor.fetchone())
    if not partner.may_end:
        raise RefusedError("partner_is_there")
    vanished = Assignment.objects.get(seat__dialogue=dialogue, seat__number=1 - seat.number)
    complete(vanished.pk, Outcome.TIMED_OUT, now=now)
    end(dialogue, Dialogue.Ending.PARTNER_LEFT, Outcome.PARTNER_LEFT, now)


# The server asks a tab whether it is still open: browsers slow the clocks of hidden tabs.
ASK_SECONDS = 6.0
# Shortest time between two typing notices to the partner. They are not stored.
TYPING_SECONDS = 1.0


class Partner:
    """Connection of one tab to the other person's tabs.

    Frames go to the channel group of the partner's seat, which all their tabs join in every process.
    """

    def __init__(self, seat: SeatContext, layer: BaseChannelLayer) -> None:
        self.seat = seat
        self.layer = layer
        self.group = group_of(seat.dialogue_id, 1 - seat.number)
        self.typing_sent_at = -TYPING_SECONDS
        self.known: tuple[bool, bool] | None = None

    async def send(self, frame: Frame) -> None:
        """Show a frame in the partner's tabs."""
        await self.layer.group_send(self.group, {"type": "tab.frame", "frame": frame, "from": ""})

    async def notify_of_change(self) -> None:
        """Make the partner's tabs reload their state."""
        await self.layer.group_send(self.group, {"type": "tab.changed", "from": ""})

    async def notify_of_typing(self) -> None:
        """Show the partner that this person is typing, at most once in `TYPING_SECONDS`."""
        now = monotonic()
        if now - self.typing_sent_at >= TYPING_SECONDS:
            self.typing_sent_at = now
            await self.send({"type": "partner_typing"})

    async def check_presence(self, shown: int) -> tuple[Frame, bool]:
        """Record that this tab is open; `shown` is the number of turns that it shows.

        Returns:
            The frame with the partner's state, and whether this tab has missed a change.
        """
        presence = await note_presence(self.seat)
        turns, *state = presence.stamp
        known, self.known = self.known, (state[0], state[1])
        return presence.frame, turns != shown or known not in (None, self.known)
