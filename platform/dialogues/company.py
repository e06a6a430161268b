"""Two people who talk: whether the other one is there, and how a conversation ends that one has left."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models import OuterRef, Subquery
from django.utils import timezone

from crowd.models import Assignment
from crowd.services import complete
from dialogues.models import Dialogue, Seat, Turn
from dialogues.queries import progress_of_row
from dialogues.seated import Seated
from dialogues.services import end
from live.refusals import RefusedError

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


def come(seat: Seated, *, now: datetime | None = None) -> Company:
    """Note that a tab of this person is open, and say how it stands with the other."""
    now = now or timezone.now()
    Seat.objects.filter(dialogue=seat.dialogue_id, number=seat.number).update(seen_at=now)
    return company_of(seat, now)


def company_of(seat: Seated, now: datetime) -> Company:
    """How it stands with the other, read in one statement: every open tab asks again and again."""
    said = Turn.objects.filter(dialogue=OuterRef("dialogue")).order_by("-position").values("created_at")[:1]
    partner = (
        Seat.objects.filter(dialogue=seat.dialogue_id, number=1 - seat.number)
        .select_related("assignment", "dialogue")
        .annotate(last_said=Subquery(said))
        .get()
    )
    row, progress = partner.dialogue, progress_of_row(seat, partner.dialogue)
    outcome = partner.assignment.outcome if partner.assignment else ""
    has_left = bool(outcome) and outcome != Assignment.Outcome.COMPLETE
    away = max(now - (partner.seen_at or row.started_at), timedelta())
    is_silent = progress.awaits_partner and now - (partner.last_said or row.started_at) >= SILENT
    is_needed = not (progress.ended or progress.closing)
    return Company(
        has_left=has_left,
        is_away=away >= AWAY,
        away_seconds=int(away.total_seconds()) if away >= AWAY else 0,
        may_end=is_needed and (has_left or away >= GONE or is_silent),
        stamp=(row.turns, row.closing, progress.ended),
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
    if not company_of(seat, now).may_end:
        raise RefusedError("partner_is_there")
    vanished = Assignment.objects.get(seat__dialogue=dialogue, seat__number=1 - seat.number)
    complete(vanished.pk, Assignment.Outcome.TIMED_OUT, now=now)
    end(dialogue, Dialogue.Ending.PARTNER_LEFT, Assignment.Outcome.PARTNER_LEFT, now)
