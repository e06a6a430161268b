"""Two who wait are brought together: whoever comes, goes, reloads or opens a second tab meanwhile."""

import asyncio
import random
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import Decimal
from uuid import UUID, uuid4

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from tests.conftest import MakeMeeting
from tests.tasks.two_people.conftest import OpenLobby, come, dialogue_of
from turnwise.crowd.models import Assignment, Outcome, PayEntry, Waiting
from turnwise.crowd.places.ending import end
from turnwise.crowd.running.lobby_queue import ANSWER_TIMEOUT, PRESENCE_TIMEOUT
from turnwise.dialogues.models import Dialogue, Seat
from turnwise.live.frames import RefusedError
from turnwise.studies.models import Study
from turnwise.tasks.two_people import pairing
from turnwise.tasks.two_people.pairing import Lobby, WaitState


def lobby_of(assignment: Assignment, minutes: int = 5) -> Lobby:
    study = assignment.participation.study
    return Lobby(assignment.pk, study.pk, study.code, timedelta(minutes=minutes))


@dataclass
class Person:
    """Somebody with browser tabs. A tab that died without a word answers nothing."""

    lobby: Lobby
    tab: UUID | None = None
    is_alive: bool = False
    old_tabs: list[UUID] = field(default_factory=list)
    answered_at: datetime | None = None


class Room:
    """Forty people and a clock; what the server asks is answered at once by tabs that are alive."""

    def __init__(self, people: list[Person]) -> None:
        self.people = {each.lobby.assignment_id: each for each in people}
        self.now = timezone.now()

    def open(self, person: Person) -> None:
        if person.tab:
            person.old_tabs.append(person.tab)
        person.tab, person.is_alive = uuid4(), True
        self.heed(pairing.enter(person.lobby, person.tab, now=self.now), person)

    def close(self, person: Person) -> None:
        if person.tab and person.is_alive:
            person.is_alive = False
            self.heed(pairing.close_tab(person.lobby, person.tab, now=self.now), person)

    def beat(self, person: Person) -> None:
        if person.tab and person.is_alive:
            self.heed(pairing.check_in(person.lobby, person.tab, now=self.now), person)

    def heed(self, standing: WaitState, person: Person) -> None:
        """Deliver what follows from a step, as the sockets do."""
        if standing.meeting:
            self.answer(person, standing.meeting)
        for asked in standing.asked:
            self.answer(self.people[asked.assignment_id], asked.meeting)

    def answer(self, person: Person, meeting: UUID) -> None:
        if person.tab and person.is_alive:
            person.answered_at = self.now
            self.heed(pairing.answer(person.lobby, person.tab, meeting, now=self.now), person)

    def pass_time(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        for person in self.people.values():
            self.beat(person)


def seated() -> Counter[int]:
    return Counter(Seat.objects.exclude(assignment=None).values_list("assignment_id", flat=True))


@pytest.mark.django_db
@pytest.mark.parametrize("seed", range(2))
def test_forty_people_come_and_go_at_random(meeting: Study, seed: int) -> None:
    chance = random.Random(seed)
    people = [Person(lobby_of(come(meeting), minutes=60)) for _ in range(40)]
    room = Room(people)
    known: set[int] = set()
    for _ in range(90):
        person = chance.choice(people)
        step = chance.choice(["open", "open", "close", "die", "time"])
        if step == "open":  # they arrive, reload, or open a second tab
            room.open(person)
        elif step == "close":
            room.close(person)
        elif step == "die":  # the battery is empty: nobody hears of it
            person.is_alive = False
        else:
            room.pass_time(chance.choice([0.5, 3, 5, 11]))
        if person.old_tabs:  # what an old tab says changes nothing
            old, before = chance.choice(person.old_tabs), seated()
            with suppress(RefusedError):  # “other_tab”, unless they are seated by now
                assert pairing.check_in(person.lobby, old, now=room.now).is_over
            assert seated() == before
        for dialogue in Dialogue.objects.exclude(pk__in=known).prefetch_related("seats"):
            known.add(dialogue.pk)
            two = [room.people[seat.assignment_id] for seat in dialogue.seats.all() if seat.assignment_id]
            # Both browsers have just said that they are there: no ghost, and nobody with themselves.
            assert len({each.lobby.assignment_id for each in two}) == 2
            assert all(each.is_alive for each in two)
            assert all(each.answered_at and room.now - each.answered_at < ANSWER_TIMEOUT for each in two)

    room.pass_time(ANSWER_TIMEOUT.total_seconds())
    room.pass_time(0)
    assert max(seated().values()) == 1
    free = [each for each in people if each.is_alive and each.lobby.assignment_id not in seated()]
    assert len(free) <= 1  # nobody waits while two are free
    assert len(known) > 5


@pytest.mark.django_db
def test_a_person_who_does_not_confirm_is_skipped_and_the_partner_meets_the_next(meeting: Study) -> None:
    first, ghost, third = (Person(lobby_of(come(meeting))) for _ in range(3))
    room = Room([first, ghost, third])
    room.open(ghost)
    ghost.is_alive = False  # the line is dead, and nobody knows
    room.open(first)
    assert not Dialogue.objects.exists()

    room.open(third)  # asked is first, with the ghost
    room.pass_time(ANSWER_TIMEOUT.total_seconds())

    assert seated() == Counter([first.lobby.assignment_id, third.lobby.assignment_id])


@pytest.mark.django_db
def test_the_person_who_waited_longer_writes_first_and_absence_does_not_count(
    meeting: Study,
) -> None:
    first, second = (Person(lobby_of(come(meeting))) for _ in range(2))
    room = Room([first, second])
    room.open(first)
    room.pass_time(3)
    room.close(first)
    room.now += timedelta(hours=1)
    room.open(first)  # the hour was no waiting
    room.pass_time(4)
    room.open(second)

    waited = Waiting.objects.get(assignment=first.lobby.assignment_id)
    assert waited.waited == timedelta(seconds=3 + 4)
    assert waited.over_at == room.now
    dialogue = Dialogue.objects.get()
    assert dialogue.seats.get(number=0).assignment_id == first.lobby.assignment_id
    assert [len(seat.asks) for seat in dialogue.seats.all()] == [1, 1]


def waits(person: Person, room: Room, minutes: int) -> Assignment:
    room.open(person)
    for _ in range(minutes * 12):
        room.pass_time(5)
    return Assignment.objects.get(pk=person.lobby.assignment_id)


@pytest.mark.django_db
def test_a_wait_without_a_partner_is_paid(make_meeting: MakeMeeting) -> None:
    study = make_meeting(pay_amount=Decimal("3.00"), expected_minutes=15)
    person = Person(lobby_of(come(study)))

    assignment = waits(person, Room([person]), 5)

    assert assignment.outcome == Outcome.NO_PARTNER
    # 5 of 15 minutes of 3.00
    assert PayEntry.objects.get(reason="partly").amount == Decimal("1.00")
    assert assignment.participation.disclosed_code


@pytest.mark.django_db
@pytest.mark.parametrize("is_running", [True, False])
def test_a_wait_without_a_partner_leads_to_a_bot_if_the_study_says_so(
    make_meeting: MakeMeeting, monkeypatch: pytest.MonkeyPatch, is_running: bool
) -> None:
    study = make_meeting(alone="bot")
    if not is_running:
        monkeypatch.setattr("turnwise.bots.hosting.presence.available", lambda bots: set())
    person = Person(lobby_of(come(study)))

    assignment = waits(person, Room([person]), 5)

    dialogue = dialogue_of(assignment)
    if is_running:
        assert dialogue
        assert dialogue.seats.get(bot__isnull=False).bot.name == "scripty"
        assert assignment.outcome == ""
    else:
        assert dialogue is None
        assert assignment.outcome == Outcome.NO_PARTNER


@pytest.mark.django_db
def test_a_person_who_left_the_study_meets_nobody(meeting: Study) -> None:
    first, second = (Person(lobby_of(come(meeting))) for _ in range(2))
    room = Room([first, second])
    room.open(first)
    end(Assignment.objects.get(pk=first.lobby.assignment_id).participation_id, Outcome.WITHDRAWN)

    room.open(second)

    assert not Dialogue.objects.exists()
    assert pairing.check_in(first.lobby, first.tab or uuid4(), now=room.now).is_over


# --- through the sockets --------------------------------------------------------------------------

through_sockets = pytest.mark.django_db(transaction=True)


@through_sockets
async def test_many_sockets_at_once(meeting: Study, open_lobby: OpenLobby) -> None:
    """All come at the same moment, over as many threads as the server has; some reload at once."""
    people = [await sync_to_async(come)(meeting) for _ in range(20)]

    async def wait(number: int, assignment: Assignment) -> str:
        if number % 5 == 0:
            tab = await open_lobby(assignment)
            await tab.disconnect()
        tab = await open_lobby(assignment)
        if number % 7 == 0:  # a second tab
            older, tab = tab, await open_lobby(assignment)
            assert (await older.until_over())["type"] in ("refused", "met")
        return str((await tab.until_over())["type"])

    ends = await asyncio.gather(*(wait(number, each) for number, each in enumerate(people)))

    assert ends == ["met"] * 20
    counted = await sync_to_async(seated)()
    assert len(counted) == 20
    assert set(counted.values()) == {1}
    assert await Dialogue.objects.acount() == 10
    assert not await Waiting.objects.filter(over_at=None).aexists()


@through_sockets
async def test_a_tab_gets_its_waiting_time_and_a_second_tab_takes_over(
    meeting: Study, open_lobby: OpenLobby
) -> None:
    assignment = await sync_to_async(come)(meeting)
    first = await open_lobby(assignment)
    assert first.first == {"type": "state", "waited": 0.0, "longest": 300.0}

    second = await open_lobby(assignment)

    assert (await first.receive("refused"))["reason"] == "other_tab"
    assert await first.close_code() == 4410
    await first.disconnect()  # which must not end the wait in the second
    await second.send(type="here")
    assert (await second.receive("state"))["waited"] < PRESENCE_TIMEOUT.total_seconds()
    await second.send(type="here", meeting="nonsense")
    assert (await second.receive("refused"))["reason"] == "malformed"
    await second.send(type="here", meeting=str(uuid4()))
    assert (await second.receive("state", "met"))["type"] == "state"


@through_sockets
async def test_other_workers_cannot_enter_a_lobby(
    meeting: Study, make_meeting: MakeMeeting, open_lobby: OpenLobby
) -> None:
    assignment = await sync_to_async(come)(meeting)
    await sync_to_async(end)(assignment.participation_id, Outcome.WITHDRAWN)

    tab = await open_lobby(assignment)

    assert tab.first["reason"] == "not_waiting"
    assert await tab.close_code() == 4405
