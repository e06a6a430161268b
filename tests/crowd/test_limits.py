"""How long people may take: the server's clock, its warnings, more time on request, and the end."""

import asyncio
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from asgiref.sync import sync_to_async
from django.test import Client
from django.utils import timezone

from tests.conftest import MakeStudy, OpenTab, enter, start_dialogue
from turnwise.accounts.models import User
from turnwise.crowd.entry.sessions import COOKIE, signed
from turnwise.crowd.models import Assignment, Outcome, PayEntry
from turnwise.crowd.places.assignment import assign
from turnwise.crowd.places.reservation import keep_place, occupied_places
from turnwise.crowd.running import limits, pausing
from turnwise.dialogues.models import Dialogue
from turnwise.live.frames import RefusedError
from turnwise.studies.models import Study

NOON = datetime(2026, 3, 2, 12, tzinfo=timezone.get_default_timezone())
MINUTE = timedelta(minutes=1)


@pytest.fixture
def limited(make_study: MakeStudy) -> Study:
    return make_study({"only": 1}, message_minutes=2, session_minutes=10, extensions=2, pay_amount=Decimal(3))


def of(dialogue: Dialogue) -> Assignment:
    assignment = dialogue.seats.get(worker__isnull=False).assignment
    assert assignment
    return assignment


def test_the_message_clock_runs_during_the_workers_turn(limited: Study) -> None:
    place = assign(enter(limited).pk, now=NOON)

    def ends() -> tuple[datetime | None, datetime | None]:
        place.refresh_from_db()
        return place.step_due_at, place.due_at

    limits.update_clocks(place.pk, waits=True, anew=False, now=NOON)
    assert ends() == (NOON + 2 * MINUTE, NOON + 10 * MINUTE)
    limits.update_clocks(place.pk, waits=True, anew=False, now=NOON + MINUTE)  # a reload wins nothing
    assert ends() == (NOON + 2 * MINUTE, NOON + 10 * MINUTE)
    limits.update_clocks(place.pk, waits=False, anew=True, now=NOON + MINUTE)  # the bot thinks
    assert ends() == (None, NOON + 10 * MINUTE)
    limits.update_clocks(place.pk, waits=True, anew=True, now=NOON + 3 * MINUTE)
    assert ends() == (NOON + 5 * MINUTE, NOON + 10 * MINUTE)


def test_time_is_extended_as_often_as_the_study_allows(limited: Study) -> None:
    place = assign(enter(limited).pk, now=NOON)
    limits.update_clocks(place.pk, waits=True, anew=True, now=NOON)

    limits.extend(place.pk, "message", now=NOON + MINUTE)
    limits.extend(place.pk, "session", now=NOON + MINUTE)
    with pytest.raises(RefusedError, match="used all the extra time"):
        limits.extend(place.pk, "session", now=NOON + MINUTE)

    place.refresh_from_db()
    assert (place.step_due_at, place.due_at) == (NOON + 3 * MINUTE, NOON + 20 * MINUTE)


def test_without_a_limit_nothing_is_extended(study: Study) -> None:
    place = assign(enter(study).pk)
    limits.update_clocks(place.pk, waits=True, anew=True)

    with pytest.raises(RefusedError, match="There is no time limit here"):
        limits.extend(place.pk, "message")


def test_a_timed_out_worker_is_paid_in_proportion_and_frees_the_place(limited: Study) -> None:
    place = assign(enter(limited).pk, now=NOON)
    assert place.study_bot
    limits.update_clocks(place.pk, waits=True, anew=True, now=NOON)
    keep_place(place.pk, now=NOON + 2 * MINUTE)

    assert limits.end_overdue(now=NOON + 2 * MINUTE) == 0  # a press at the last moment is under way
    assert occupied_places([place.study_bot], NOON + 2 * MINUTE).total() == 1
    assert limits.end_overdue(now=NOON + 2 * MINUTE + limits.GRACE) == 1
    assert limits.end_overdue(now=NOON + 3 * MINUTE) == 0

    place.refresh_from_db()
    assert place.outcome == Outcome.TIMED_OUT
    assert occupied_places([place.study_bot], NOON + 3 * MINUTE).total() == 0
    assert PayEntry.objects.get(reason="partly").amount == Decimal("0.40")  # 2 of 15 minutes of 3.00


def test_no_worker_times_out_while_on_hold(limited: Study) -> None:
    place = assign(enter(limited).pk, now=NOON)
    limits.update_clocks(place.pk, waits=True, anew=True, now=NOON)
    pausing.pause(limited.pk, holds=True, by="rex", now=NOON + MINUTE)

    assert limits.end_overdue(now=NOON + 60 * MINUTE) == 0


@pytest.mark.django_db(transaction=True)
async def test_a_chat_shows_the_time_extends_it_and_ends(limited: Study, open_tab: OpenTab) -> None:
    dialogue = await sync_to_async(start_dialogue)(limited)
    place = await sync_to_async(of)(dialogue)
    tab = await open_tab(dialogue)
    clocks = {clock["of"]: clock for clock in (await tab.receive("standing"))["clocks"]}
    assert {name: clock["warn"] for name, clock in clocks.items()} == {"message": 30, "session": 120}
    assert 110 < clocks["message"]["left"] <= 120

    await tab.say("Hello.")
    while (first := (await Assignment.objects.aget(pk=place.pk)).step_due_at) is None:
        await asyncio.sleep(0.01)  # while the bot writes no clock runs
    await tab.send(type="more_time", of="message")
    while (told := await tab.receive("standing", "refused"))["clocks"][0]["more"] == 2:
        pass
    assert told["clocks"][0]["more"] == 1
    await sync_to_async(place.refresh_from_db)()
    assert place.step_due_at > first
    await tab.send(type="more_time", of="ever")
    assert (await tab.receive("refused"))["reason"] == "malformed"

    gone = Assignment.objects.filter(pk=place.pk)
    await gone.aupdate(step_due_at=timezone.now() - 2 * limits.GRACE)

    while (state := await tab.receive("state"))["finished"] is None:
        pass
    assert state["finished"] == f"/s/{limited.code}/thanks/"
    assert (await gone.aget()).outcome == Outcome.TIMED_OUT
    assert (await tab.label(2, sensible=True, specific=True))["reason"] == "ended"


def test_a_worker_reads_the_limits_before_and_the_reason_after(limited: Study) -> None:
    own = enter(limited)
    place = assign(own.pk, now=NOON)
    client = Client()
    client.cookies[COOKIE] = signed(own)
    told = client.get(f"/s/{limited.code}/instructions/").text
    assert "You have 2 minutes for each step." in told
    assert "up to 2 times" in told
    limits.update_clocks(place.pk, waits=True, anew=True, now=NOON)
    limits.end_overdue(now=NOON + 11 * MINUTE)

    assert "you are paid for the time you spent" in client.get(f"/s/{limited.code}/thanks/").text


@pytest.mark.parametrize(
    ("typed", "says"),
    [
        ({"session_minutes": 4}, "4 minutes are too few to be warned two minutes before"),
        ({"message_minutes": -1}, "greater than or equal to 0"),
        ({"message_minutes": 241}, "less than or equal to 240"),
        ({"extensions": 101}, "less than or equal to 100"),
        ({"message_minutes": "two"}, "Enter a whole number."),
    ],
)
def test_invalid_limits_are_refused(study: Study, rex: User, typed: dict[str, object], says: str) -> None:
    client = Client()
    client.force_login(rex)
    sent = {"message_minutes": 2, "session_minutes": 10, "extensions": 10} | typed

    page = client.post(f"/studies/{study.pk}/limits/", sent)

    assert page.status_code == 422
    assert says in page.text
    study.refresh_from_db()
    assert (study.message_minutes, study.session_minutes) == (0, 0)


def test_the_form_warns_of_few_extensions(study: Study, rex: User) -> None:
    client = Client()
    client.force_login(rex)
    sent = {"message_minutes": 2, "session_minutes": 0, "extensions": 9}

    page = client.post(f"/studies/{study.pk}/limits/", sent, follow=True)

    assert "With 9 extensions some people will not be able to finish." in page.text
