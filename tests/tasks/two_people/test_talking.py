"""Two people in one conversation, through their sockets: what each hears of the other."""

from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from tests.conftest import MakeMeeting, OpenTab, Tab
from tests.rewriting import rewrite
from tests.tasks.two_people.conftest import come
from turnwise.crowd.models import Assignment, Outcome, PayEntry
from turnwise.crowd.places.ending import end
from turnwise.crowd.running import limits
from turnwise.dialogues import partner_events
from turnwise.dialogues.models import Dialogue, Seat, Turn
from turnwise.dialogues.services import SeatOccupant, create_dialogue
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

YES = {"sensible": True, "specific": True}


@sync_to_async
def seat(study: Study) -> Dialogue:
    first, second = (SeatOccupant(assignment=come(study)) for _ in range(2))
    return create_dialogue(study, first, second, now=timezone.now())


async def open_both(open_tab: OpenTab, dialogue: Dialogue) -> tuple[Tab, Tab]:
    tabs = []
    async for each in Seat.objects.filter(dialogue=dialogue).order_by("number").select_related("worker"):
        tabs.append(await open_tab(dialogue, worker=each.worker))
        await tabs[-1].receive("partner")
    return tabs[0], tabs[1]


async def write(tab: Tab, text: str) -> dict[str, Any]:
    await tab.send(type="turn", key=str(uuid4()), text=text)
    return await tab.receive("turn_saved", "refused")


async def outcomes() -> list[str]:
    rows = Assignment.objects.order_by("seat__number").values_list("outcome", flat=True)
    return [outcome async for outcome in rows]


async def test_two_people_talk_judge_and_finish(meeting: Study, open_tab: OpenTab) -> None:
    dialogue = await seat(meeting)
    first, second = await open_both(open_tab, dialogue)
    assert first.first["progress"]["may_send"]
    assert not second.first["progress"]["may_send"]
    assert second.first["progress"]["thinking"]  # it waits for the other

    await write(first, "Hello there!")
    heard = await second.receive("partner_turn")
    assert (heard["turn"]["text"], heard["turn"]["speaker"]) == ("Hello there!", "partner")
    assert heard["turn"]["key"] is None
    assert heard["progress"]["unlabelled"] == [0]
    assert (await write(second, "Hi!"))["reason"] == "label_first"
    await second.label(0, **YES)  # which holds up nobody but the second
    await write(second, "Hi! Where are you from?")
    assert (await first.receive("partner_turn"))["turn"]["position"] == 1
    await first.send(type="finish")
    assert (await first.receive("refused"))["reason"] == "unanswered"
    await first.label(1, **YES)
    await first.send(type="finish")
    assert (await first.receive("state"))["finished"]

    told = await second.receive("state")  # without having asked
    assert told["finished"] is None
    assert told["progress"]["closing"]
    assert told["progress"]["hint"] == "Your partner has finished. You can finish now."
    await second.send(type="finish")
    assert (await second.receive("state"))["finished"]
    assert await outcomes() == ["complete", "complete"]
    assert (await Dialogue.objects.aget()).ending == "complete"


async def test_nobody_can_finish_before_it_is_long_enough_for_both(
    make_meeting: MakeMeeting, open_tab: OpenTab
) -> None:
    dialogue = await seat(await sync_to_async(make_meeting)(min_turns=3, max_turns=4))
    first, second = await open_both(open_tab, dialogue)
    await write(first, "One")
    await second.receive("partner_turn")
    await second.label(0, **YES)
    await write(second, "Two")
    await first.receive("partner_turn")

    # Of three turns that are wanted each has heard one, and two would be half of it.
    await second.send(type="finish")
    assert (await second.receive("refused"))["reason"] == "too_early"

    await first.label(1, **YES)
    await write(first, "Three")
    progress = (await second.receive("partner_turn"))["progress"]
    assert (progress["room"], progress["long_enough"]) == (1, True)
    await second.label(2, **YES)
    await write(second, "Four")
    progress = (await first.receive("partner_turn"))["progress"]
    assert not progress["may_send"]
    assert not progress["thinking"]  # nothing more can come


async def test_typing_is_sent_at_most_once_a_second_and_not_stored(meeting: Study, open_tab: OpenTab) -> None:
    dialogue = await seat(meeting)
    first, second = await open_both(open_tab, dialogue)

    for _ in range(5):
        await first.send(type="typing")
    await write(first, "Hello")

    kinds = []
    while not kinds or kinds[-1] != "partner_turn":
        kinds.append((await second.receive("partner_typing", "partner_turn"))["type"])
    assert kinds == ["partner_typing", "partner_turn"]


async def gone_for(seconds: float, number: int) -> None:
    await Seat.objects.filter(number=number).aupdate(seen_at=timezone.now() - timedelta(seconds=seconds))


async def standing(tab: Tab) -> dict[str, Any]:
    await tab.send(type="here")
    return await tab.receive("partner")


async def test_a_person_whose_partner_vanishes_may_end_with_full_pay(
    make_meeting: MakeMeeting, open_tab: OpenTab
) -> None:
    study = await sync_to_async(make_meeting)(pay_amount=3, expected_minutes=15)
    dialogue = await seat(study)
    first, second = await open_both(open_tab, dialogue)
    await write(first, "Hello?")
    await second.disconnect()
    assert await standing(first) == {
        "type": "partner", "left": False, "away": False, "away_seconds": 0, "may_end": False,
    }  # fmt: skip
    await first.send(type="end_alone")
    assert (await first.receive("refused"))["reason"] == "partner_is_there"

    await gone_for(partner_events.AWAY.total_seconds() + 1, 1)
    assert (await standing(first))["away"]
    await first.send(type="end_alone")
    assert (await first.receive("refused"))["reason"] == "partner_is_there"
    await gone_for(partner_events.GONE.total_seconds() + 1, 1)
    assert (await standing(first))["may_end"]
    await first.send(type="end_alone")

    assert (await first.receive("state"))["finished"]
    assert await outcomes() == ["partner_left", "timed_out"]
    assert (await Dialogue.objects.aget()).ending == "partner_left"
    assert await Turn.objects.acount() == 1  # what was said is kept
    earned = PayEntry.objects.filter(reason="earned").values_list("amount", flat=True)
    assert [amount async for amount in earned] == [3]
    back = await open_tab(dialogue, worker=await sync_to_async(lambda: dialogue.seats.get(number=1).worker)())
    assert back.first["finished"]  # who comes back is told that it is over


async def test_a_partner_who_returns_in_time_continues(meeting: Study, open_tab: OpenTab) -> None:
    dialogue = await seat(meeting)
    first, second = await open_both(open_tab, dialogue)
    await second.disconnect()
    await gone_for(60, 1)
    assert (await standing(first))["may_end"]

    again = (await open_both(open_tab, dialogue))[1]

    assert not (await standing(first))["away"]
    await write(first, "Hello")
    assert (await again.receive("partner_turn"))["turn"]["text"] == "Hello"


async def test_a_partner_who_leaves_is_reported_at_once_and_a_silent_one_after_minutes(
    meeting: Study, open_tab: OpenTab
) -> None:
    dialogue = await seat(meeting)
    first, second = await open_both(open_tab, dialogue)
    await write(first, "Hello")
    assert not (await standing(first))["may_end"]
    await rewrite(Turn.objects, created_at=timezone.now() - partner_events.SILENT)
    assert (await standing(first))["may_end"]
    assert not (await standing(second))["may_end"]  # it is their own turn
    await rewrite(Turn.objects, created_at=timezone.now())

    leaving = await Assignment.objects.aget(seat__number=1)
    await sync_to_async(end)(leaving.participation_id, Outcome.WITHDRAWN)

    told = await standing(first)
    assert (told["left"], told["may_end"]) == (True, True)
    await first.send(type="end_alone")
    assert (await first.receive("state"))["finished"]
    assert await outcomes() == ["partner_left", "withdrawn"]


async def test_the_time_limit_applies_to_the_person_whose_turn_it_is(
    make_meeting: MakeMeeting, open_tab: OpenTab
) -> None:
    study = await sync_to_async(make_meeting)(message_minutes=2, pay_amount=3, expected_minutes=15)
    dialogue = await seat(study)
    first, second = await open_both(open_tab, dialogue)

    async def clocks() -> list[bool]:
        due = Assignment.objects.order_by("seat__number").values_list("step_due_at", flat=True)
        return [each is not None async for each in due]

    assert await clocks() == [True, False]
    await write(first, "Hello there!")
    await second.receive("partner_turn")
    await second.label(0, **YES)
    await standing(second)  # frames are heeded in turn: what the label did to the clock is done
    assert await clocks() == [False, True]
    theirs = Assignment.objects.filter(seat__number=1)
    at_it = timezone.now() - timedelta(minutes=5)
    await theirs.aupdate(
        assigned_at=at_it,
        active_at=at_it + timedelta(minutes=5),
        step_due_at=timezone.now() - 2 * limits.GRACE,
    )

    while not (end := await second.receive("state"))["finished"]:
        pass
    assert end["finished"] == f"/s/{study.code}/thanks/"
    assert await outcomes() == ["", "timed_out"]
    told = await standing(first)
    assert (told["left"], told["may_end"]) == (True, True)
    assert await clocks() == [False, True]  # nobody waits for the first
    await first.send(type="end_alone")
    assert (await first.receive("state"))["finished"]

    assert await outcomes() == ["partner_left", "timed_out"]
    assert (await Dialogue.objects.aget()).ending == "partner_left"
    paid = PayEntry.objects.exclude(reason="promised").order_by("reason").values_list("reason", "amount")
    # The second was at it for 5 of 15 minutes of 3.00.
    assert [entry async for entry in paid] == [("earned", Decimal(3)), ("partly", Decimal(1))]


async def test_a_tab_reloads_what_it_has_missed(meeting: Study, open_tab: OpenTab) -> None:
    dialogue = await seat(meeting)
    first, second = await open_both(open_tab, dialogue)
    # As while Redis is down: the turn is saved, and the other process is not told.
    await Turn.objects.acreate(
        dialogue=dialogue, position=0, text="Anybody there?", created_at=timezone.now()
    )
    await Dialogue.objects.aupdate(turns=1)

    await second.send(type="here")

    assert [turn["text"] for turn in (await second.receive("state"))["turns"]] == ["Anybody there?"]
    assert (await write(first, "Well?"))["reason"] == "not_your_turn"


async def test_a_resent_message_is_saved_once_and_two_tabs_of_one_person_agree(
    meeting: Study, open_tab: OpenTab
) -> None:
    dialogue = await seat(meeting)
    first, second = await open_both(open_tab, dialogue)
    beside = (await open_both(open_tab, dialogue))[0]
    frame = {"type": "turn", "key": str(uuid4()), "text": "Hello"}

    await first.send(**frame)
    await first.send(**frame)

    assert (await first.receive("turn_saved"))["turn"] == (await first.receive("turn_saved"))["turn"]
    assert (await beside.receive("turn_saved"))["turn"]["text"] == "Hello"
    assert (await second.receive("partner_turn"))["turn"]["text"] == "Hello"
    assert await Turn.objects.acount() == 1
