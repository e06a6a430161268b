"""The way from the lobby into a conversation, and the end of a wait without a partner."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from turnwise.crowd.entry.sessions import Session
from turnwise.crowd.models import Assignment, Outcome
from turnwise.crowd.places.assignment import assign_bot_instead
from turnwise.crowd.places.ending import complete
from turnwise.crowd.queries import participation_of
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.crowd.running import lobby_queue
from turnwise.crowd.running.lobby_queue import MeetingRequest
from turnwise.crowd.running.pausing import is_held
from turnwise.dialogues.models import Seat
from turnwise.dialogues.reading_material import ArticlesUsedUpError
from turnwise.dialogues.services import SeatOccupant, begin, create_dialogue
from turnwise.live.frames import RefusedError
from turnwise.studies.models import Study
from turnwise.tasks.two_people.models import TwoPeoplePlan


@dataclass(frozen=True, slots=True)
class Lobby:
    """A waiting worker's lobby: the facts that do not change while they wait."""

    assignment_id: int
    study_id: int
    code: str
    longest: timedelta


@dataclass(frozen=True, slots=True)
class WaitState:
    """State of a worker's wait.

    Attributes:
        waited: time that they have waited while present.
        meeting: proposed meeting that their browser has to confirm; None if there is none.
        is_over: the wait has ended.
        asked: other waiting workers who have to confirm that they are present.
        freed: assignments whose wait has ended too; their tabs have to move on.
    """

    waited: timedelta = timedelta()
    meeting: UUID | None = None
    is_over: bool = False
    asked: tuple[MeetingRequest, ...] = ()
    freed: tuple[int, ...] = ()


def find_lobby(session: Session, code: str) -> Lobby:
    """Find the lobby of this session's worker.

    Raises:
        RefusedError: they do not take part in this study, or are not waiting.
    """
    study = Study.objects.filter(code=code).select_related("two_people").first()
    participation = participation_of(session, study) if study else None
    if participation is None:
        raise RefusedError("not_yours")
    assignment = getattr(participation, "assignment", None)
    if study is None or assignment is None or assignment.outcome or not hasattr(study, "two_people"):
        raise RefusedError("not_waiting")
    return Lobby(assignment.pk, study.pk, code, timedelta(minutes=study.two_people.wait_minutes))


def enter(lobby: Lobby, tab: UUID, *, now: datetime | None = None) -> WaitState:
    """Make this tab the only one that waits, or report that the wait is over."""
    now = now or timezone.now()
    assignment = Assignment.objects.select_related("participation").get(pk=lobby.assignment_id)
    if lobby_queue.enter(assignment, tab=tab, now=now) is None:
        return WaitState(is_over=True)
    return check_in(lobby, tab, now=now)


def check_in(lobby: Lobby, tab: UUID, *, now: datetime | None = None) -> WaitState:
    """Record that a worker is present; look for a partner, or end a wait that was too long.

    Raises:
        RefusedError: they wait in another tab.
    """
    now = now or timezone.now()
    entry = lobby_queue.mark_present(lobby.assignment_id, tab, now=now)
    if entry is None:
        if is_over(lobby):
            return WaitState(is_over=True)
        raise RefusedError("other_tab")
    if is_held(lobby.study_id):  # a paused study begins no conversation
        return WaitState(entry.waited)
    asked = tuple(lobby_queue.match(lobby.study_id, now=now))
    entry.refresh_from_db()
    if entry.waited >= lobby.longest and entry.meeting is None and give_up(lobby, now=now):
        return WaitState(entry.waited, is_over=True, asked=asked)
    return WaitState(entry.waited, None if entry.answered else entry.meeting, asked=asked)


@transaction.atomic
def answer(lobby: Lobby, tab: UUID, meeting: UUID, *, now: datetime | None = None) -> WaitState:
    """Confirm that a worker is ready to meet; once both have, their conversation begins."""
    now = now or timezone.now()
    two = lobby_queue.answer(lobby.assignment_id, tab, meeting, now=now)
    if not two:
        return WaitState()
    first, second = (SeatOccupant(assignment=each) for each in two)
    try:
        create_dialogue(two[0].participation.study, first, second, now=now)
    except ArticlesUsedUpError:  # no article is left; both are paid for their wait
        for each in two:
            complete(each.pk, Outcome.NO_PARTNER, now=now)
    return WaitState(is_over=True, freed=tuple(each.pk for each in two))


def close_tab(lobby: Lobby, tab: UUID, *, now: datetime | None = None) -> WaitState:
    """Record that the tab was closed, and find another partner for a worker who was about to meet them."""
    lobby_queue.mark_absent(lobby.assignment_id, tab)
    if is_held(lobby.study_id):
        return WaitState()
    return WaitState(asked=tuple(lobby_queue.match(lobby.study_id, now=now or timezone.now())))


@transaction.atomic
def give_up(lobby: Lobby, *, now: datetime) -> bool:
    """End a wait without a partner: with a bot, or with pay. False if a partner came after all."""
    if not lobby_queue.stop(lobby.assignment_id, now=now):
        return False
    plan = TwoPeoplePlan.objects.get(study=lobby.study_id)
    if plan.alone == TwoPeoplePlan.Alone.BOT:
        try:
            begin(assign_bot_instead(lobby.assignment_id, now=now), now=now)
        except (EntryRefusedError, ArticlesUsedUpError):  # no bot is running, or nothing is left to do
            pass
        else:
            return True
    complete(lobby.assignment_id, Outcome.NO_PARTNER, now=now)
    return True


def is_over(lobby: Lobby) -> bool:
    """True if the wait has ended: a conversation has begun, or the assignment has ended."""
    return (
        Seat.objects.filter(assignment=lobby.assignment_id).exists()
        or Assignment.objects.filter(pk=lobby.assignment_id).exclude(outcome="").exists()
    )


def next_page(lobby: Lobby) -> tuple[str, bool]:
    """Address of the worker's next page, and whether they have a conversation."""
    has_partner = Seat.objects.filter(assignment=lobby.assignment_id).exists()
    return reverse("two_people:talk", args=[lobby.code]), has_partner
