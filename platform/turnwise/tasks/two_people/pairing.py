"""From the lobby into a conversation: with another person, or, if nobody comes, what the study says."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction
from django.urls import reverse
from django.utils import timezone

from turnwise.crowd.entry.sessions import Session
from turnwise.crowd.models import Assignment, Outcome
from turnwise.crowd.places.assignment import give_bot
from turnwise.crowd.places.ending import complete
from turnwise.crowd.queries import participation_of
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.crowd.running import lobby_queue
from turnwise.crowd.running.lobby_queue import Asked
from turnwise.crowd.running.pausing import is_held
from turnwise.dialogues.models import Seat
from turnwise.dialogues.reading_material import ArticlesUsedUpError
from turnwise.dialogues.services import Taken, begin, seat_two
from turnwise.live.frames import RefusedError
from turnwise.studies.models import Study
from turnwise.tasks.two_people.models import TwoPeoplePlan


@dataclass(frozen=True, slots=True)
class Lobby:
    """Somebody's place in the lobby of a study: what does not change while they wait."""

    assignment_id: int
    study_id: int
    code: str
    longest: timedelta


@dataclass(frozen=True, slots=True)
class Standing:
    """How somebody's wait stands.

    Attributes:
        waited: while they were there.
        meeting: what their browser is to answer, since a partner may be found; None: nobody yet.
        is_over: whether they wait no longer.
        asked: who else is to be asked whether they are there.
        freed: whose tabs are to look again, since they wait no longer.
    """

    waited: timedelta = timedelta()
    meeting: UUID | None = None
    is_over: bool = False
    asked: tuple[Asked, ...] = ()
    freed: tuple[int, ...] = ()


def lobby_of(session: Session, code: str) -> Lobby:
    """The lobby in which the browser of this session waits.

    Raises:
        RefusedError: it takes no part in this study, or does not wait.
    """
    study = Study.objects.filter(code=code).select_related("two_people").first()
    participation = participation_of(session, study) if study else None
    if participation is None:
        raise RefusedError("not_yours")
    assignment = getattr(participation, "assignment", None)
    if study is None or assignment is None or assignment.outcome or not hasattr(study, "two_people"):
        raise RefusedError("not_waiting")
    return Lobby(assignment.pk, study.pk, code, timedelta(minutes=study.two_people.wait_minutes))


def enter(lobby: Lobby, tab: UUID, *, now: datetime | None = None) -> Standing:
    """Wait in this tab and in no other, or hear where to go on."""
    now = now or timezone.now()
    assignment = Assignment.objects.select_related("participation").get(pk=lobby.assignment_id)
    if lobby_queue.enter(assignment, tab=tab, now=now) is None:
        return Standing(is_over=True)
    return there(lobby, tab, now=now)


def there(lobby: Lobby, tab: UUID, *, now: datetime | None = None) -> Standing:
    """Somebody is there: look for a partner, or end a wait that was too long.

    Raises:
        RefusedError: they wait in another tab.
    """
    now = now or timezone.now()
    own = lobby_queue.there(lobby.assignment_id, tab, now=now)
    if own is None:
        if is_over(lobby):
            return Standing(is_over=True)
        raise RefusedError("other_tab")
    if is_held(lobby.study_id):  # nobody begins a conversation that they cannot go on with
        return Standing(own.waited)
    asked = tuple(lobby_queue.match(lobby.study_id, now=now))
    own.refresh_from_db()
    if own.waited >= lobby.longest and own.meeting is None and give_up(lobby, now=now):
        return Standing(own.waited, is_over=True, asked=asked)
    return Standing(own.waited, None if own.answered else own.meeting, asked=asked)


@transaction.atomic
def answer(lobby: Lobby, tab: UUID, meeting: UUID, *, now: datetime | None = None) -> Standing:
    """Somebody is there to meet; once both are, their conversation begins."""
    now = now or timezone.now()
    two = lobby_queue.answer(lobby.assignment_id, tab, meeting, now=now)
    if not two:
        return Standing()
    first, second = (Taken(assignment=each) for each in two)
    try:
        seat_two(two[0].participation.study, first, second, now=now)
    except ArticlesUsedUpError:  # nothing is left to talk about; both are paid for their wait
        for each in two:
            complete(each.pk, Outcome.NO_PARTNER, now=now)
    return Standing(is_over=True, freed=tuple(each.pk for each in two))


def gone(lobby: Lobby, tab: UUID, *, now: datetime | None = None) -> Standing:
    """The tab was closed; whoever was about to meet them meets somebody else."""
    lobby_queue.gone(lobby.assignment_id, tab)
    if is_held(lobby.study_id):
        return Standing()
    return Standing(asked=tuple(lobby_queue.match(lobby.study_id, now=now or timezone.now())))


@transaction.atomic
def give_up(lobby: Lobby, *, now: datetime) -> bool:
    """Nobody came: a bot of the study, or an end that pays the wait. False if somebody has come after all."""
    if not lobby_queue.stop(lobby.assignment_id, now=now):
        return False
    plan = TwoPeoplePlan.objects.get(study=lobby.study_id)
    if plan.alone == TwoPeoplePlan.Alone.BOT:
        try:
            begin(give_bot(lobby.assignment_id, now=now), now=now)
        except (EntryRefusedError, ArticlesUsedUpError):  # no bot is running, or nothing is left to do
            pass
        else:
            return True
    complete(lobby.assignment_id, Outcome.NO_PARTNER, now=now)
    return True


def is_over(lobby: Lobby) -> bool:
    """Whether they wait no longer: they have somebody to talk with, or their part has ended."""
    return (
        Seat.objects.filter(assignment=lobby.assignment_id).exists()
        or Assignment.objects.filter(pk=lobby.assignment_id).exclude(outcome="").exists()
    )


def way_on(lobby: Lobby) -> tuple[str, bool]:
    """Where they go on, and whether somebody to talk with is there."""
    has_partner = Seat.objects.filter(assignment=lobby.assignment_id).exists()
    return reverse("two_people:talk", args=[lobby.code]), has_partner
