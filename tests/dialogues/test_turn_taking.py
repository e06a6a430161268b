"""Turns through the real consumer, database and resident bots."""

import asyncio
from datetime import timedelta
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from django.utils import timezone

from tests.conftest import MakeStudy, OpenTab, Tab, start_dialogue, worker_of
from tests.rewriting import rewrite
from turnwise.crowd.models import Assignment
from turnwise.crowd.running.worker_status import watch
from turnwise.dialogues import turn_taking
from turnwise.dialogues.models import Dialogue, Fault, Turn
from turnwise.dialogues.queries import seat_of, snapshot
from turnwise.dialogues.turn_taking import DisplayedTurns
from turnwise.live.frames import Frame
from turnwise.studies.asks import Moment

begin = sync_to_async(start_dialogue)
make = sync_to_async


async def texts(dialogue: Dialogue) -> list[str]:
    return [turn.text async for turn in Turn.objects.filter(dialogue=dialogue).order_by("position")]


async def shown(tab: Tab, turns: int) -> list[str]:
    """What the tab shows once it shows so many turns; each arrives alone or in a new state."""
    on_page = {turn["position"]: turn["text"] for turn in tab.first["turns"]}
    while len(on_page) < turns:
        frame = await tab.receive("state", "turn_saved", "bot_turn")
        arrived = frame["turns"] if frame["type"] == "state" else [frame["turn"]]
        on_page |= {turn["position"]: turn["text"] for turn in arrived}
    return [on_page[position] for position in sorted(on_page)]


async def test_a_new_tab_shows_the_opening_and_the_next_step(dialogue: Dialogue, open_tab: OpenTab) -> None:
    tab = await open_tab(dialogue)

    assert [(t["speaker"], t["text"], t["counted"]) for t in tab.first["turns"]] == [("bot", "Hi!", False)]
    assert tab.first["progress"]["may_send"]
    assert tab.first["progress"]["labels_needed"] == 7
    assert tab.first["finished"] is None


async def test_a_turn_is_saved_then_answered(dialogue: Dialogue, open_tab: OpenTab) -> None:
    tab = await open_tab(dialogue)

    await tab.send(type="turn", key=str(uuid4()), text="  Hello there  ")

    saved = await tab.receive()
    assert (saved["type"], saved["turn"]["text"], saved["turn"]["position"]) == (
        "turn_saved",
        "Hello there",
        1,
    )
    assert saved["progress"]["thinking"]
    reply = await tab.receive()
    assert (reply["type"], reply["turn"]["text"], reply["turn"]["position"]) == ("bot_turn", "Go on.", 2)
    assert reply["progress"]["unlabelled"] == [2]
    turn = await Turn.objects.select_related("bot_version__bot").aget(dialogue=dialogue, position=2)
    assert turn.bot_version
    assert turn.bot_version.bot.name == "scripty"
    assert turn.bot_version.details["configuration"]["replies"] == ["Go on."]
    assert turn.latency_ms is not None
    assert turn.seed is not None


async def test_a_resent_frame_gets_the_stored_reply(dialogue: Dialogue, open_tab: OpenTab) -> None:
    tab = await open_tab(dialogue)
    frame = {"type": "turn", "key": str(uuid4()), "text": "Hi"}
    await tab.send(**frame)
    first = await tab.receive("bot_turn")

    await tab.send(**frame)

    assert (await tab.receive("bot_turn"))["turn"] == first["turn"]
    assert await texts(dialogue) == ["Hi!", "Hi", "Go on."]


async def test_a_reused_key_with_other_text_is_refused(dialogue: Dialogue, open_tab: OpenTab) -> None:
    tab = await open_tab(dialogue)
    key = str(uuid4())
    await tab.send(type="turn", key=key, text="Hi")
    await tab.receive("bot_turn")

    await tab.send(type="turn", key=key, text="Something else")

    assert (await tab.receive("refused"))["reason"] == "key_reused"
    assert await texts(dialogue) == ["Hi!", "Hi", "Go on."]


async def test_the_next_message_waits_for_the_label(dialogue: Dialogue, open_tab: OpenTab) -> None:
    tab = await open_tab(dialogue)
    await tab.say("Hi")

    refused = await tab.say("And another thing")
    saved = await tab.label(2, sensible=True, specific=True)
    reply = await tab.say("And another thing")

    assert (refused["reason"], saved["type"], reply["type"]) == ("label_first", "label_saved", "bot_turn")


async def test_labels_may_wait_for_the_end_if_the_study_allows_it(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    study = await make(make_study)(moment=Moment.BEFORE_FINISH, min_turns=4, max_turns=4)
    dialogue = await begin(study)
    tab = await open_tab(dialogue)
    await tab.say("One")
    await tab.say("Two")

    await tab.send(type="finish")
    refused = await tab.receive("refused")
    for position in (2, 4):
        await tab.label(position, sensible=False)
    await tab.send(type="finish")

    assert refused["reason"] == "unanswered"
    assert (await tab.receive("state"))["finished"].endswith("/thanks/")


async def test_a_message_out_of_turn_is_refused(make_study: MakeStudy, open_tab: OpenTab) -> None:
    study = await make(make_study)(script={"replies": ["Slow."], "seconds": 0.5})
    dialogue = await begin(study)
    tab = await open_tab(dialogue)
    await tab.send(type="turn", key=str(uuid4()), text="First")
    await tab.receive("turn_saved")

    await tab.send(type="turn", key=str(uuid4()), text="Impatient")

    assert (await tab.receive("refused"))["reason"] == "not_your_turn"
    await tab.receive("bot_turn")
    assert await texts(dialogue) == ["Hi!", "First", "Slow."]


async def test_a_conversation_ends_between_its_limits(make_study: MakeStudy, open_tab: OpenTab) -> None:
    study = await make(make_study)(min_turns=4, max_turns=6)
    dialogue = await begin(study)
    tab = await open_tab(dialogue)
    await tab.exchange("One")
    await tab.send(type="finish")
    early = await tab.receive("refused")
    await tab.exchange("Two")
    third = await tab.exchange("Three")
    late = await tab.say("Four")

    await tab.send(type="finish")
    state = await tab.receive("state")
    after = await tab.say("Five")

    assert (early["reason"], late["reason"], after["reason"]) == ("too_early", "turn_limit", "ended")
    assert third["progress"]["turns"] == 6
    assert state["finished"].endswith("/thanks/")
    await dialogue.arefresh_from_db()
    assert dialogue.ending == "complete"


async def test_seven_labelled_replies_are_needed_by_default(dialogue: Dialogue, open_tab: OpenTab) -> None:
    tab = await open_tab(dialogue)
    for n in range(6):
        await tab.exchange(f"Message {n}")
    await tab.send(type="finish")
    refused = await tab.receive("refused")

    last = await tab.exchange("Message 7")

    assert refused["reason"] == "too_early"
    assert last["progress"]["may_finish"]
    assert last["progress"]["turns"] == 14


async def test_the_worker_may_open(make_study: MakeStudy, open_tab: OpenTab) -> None:
    study = await make(make_study)(opening_speaker="human", opening_text="", min_turns=2, max_turns=2)
    dialogue = await begin(study)
    tab = await open_tab(dialogue)
    assert tab.first["turns"] == []

    saved = await tab.exchange("I speak first")

    assert saved["progress"]["may_finish"]
    assert (await tab.say("No more"))["reason"] == "turn_limit"


async def test_a_scripted_greeting_of_the_worker_is_answered_without_a_click(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    study = await make(make_study)(opening_speaker="human", opening_text="Hi!")
    dialogue = await begin(study)

    tab = await open_tab(dialogue)
    reply = await tab.receive("bot_turn")

    assert [turn["counted"] for turn in tab.first["turns"]] == [False]
    assert (reply["turn"]["position"], reply["progress"]["turns"], reply["progress"]["unlabelled"]) == (
        1,
        1,
        [1],
    )


async def test_a_failed_reply_is_a_fault_and_can_be_retried(make_study: MakeStudy, open_tab: OpenTab) -> None:
    study = await make(make_study)(script={"replies": ["Back again."], "fail_on": [1], "fail_times": 1})
    dialogue = await begin(study)
    tab = await open_tab(dialogue)

    failed = await tab.say("Hi")
    await tab.send(type="retry")
    reply = await tab.receive("bot_turn")

    assert (failed["type"], failed["fault"]["attempts"], failed["fault"]["may_give_up"]) == (
        "bot_failed",
        1,
        False,
    )
    assert "safe" in failed["fault"]["say"]
    assert reply["turn"]["text"] == "Back again."
    fault = await Fault.objects.aget(dialogue=dialogue)
    assert (fault.position, fault.kind) == (2, "BotFailed")


async def test_a_reply_saved_despite_an_error_is_shown_on_retry(
    dialogue: Dialogue, open_tab: OpenTab
) -> None:
    tab = await open_tab(dialogue)
    said = await tab.say("Hi")

    await tab.send(type="retry")
    state = await tab.receive("state")

    assert state["turns"][-1]["text"] == said["turn"]["text"]
    assert (state["fault"], state["progress"]["thinking"]) == (None, False)
    assert await dialogue.turn_set.acount() == len(state["turns"]) == 3


async def test_after_a_minute_of_silence_the_worker_may_leave_with_full_pay(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    study = await make(make_study)(script={"replies": ["At last."], "hang_on": [1], "hang_seconds": 15})
    dialogue = await begin(study)
    tab = await open_tab(dialogue)
    await tab.send(type="turn", key=str(uuid4()), text="Hi")
    await tab.receive("turn_saved")

    await tab.send(type="give_up")
    too_soon = await tab.receive("refused")
    await rewrite(Turn.objects.filter(dialogue=dialogue), created_at=timezone.now() - timedelta(seconds=61))
    await tab.send(type="give_up")
    state = await tab.receive("state")
    while state["finished"] is None:
        state = await tab.receive("state")

    assert too_soon["reason"] == "may_not_give_up"
    await dialogue.arefresh_from_db()
    assert dialogue.ending == "bot_failed"


async def test_after_three_failures_the_worker_may_leave_with_full_pay(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    study = await make(make_study)(script={"fail_on": [1]})
    dialogue = await begin(study)
    tab = await open_tab(dialogue)
    await tab.say("Hi")
    await tab.send(type="give_up")
    too_soon = await tab.receive("refused")
    for _ in range(2):
        await tab.send(type="retry")
        failed = await tab.receive("bot_failed")

    await tab.send(type="give_up")
    state = await tab.receive("state")
    while state["finished"] is None:
        state = await tab.receive("state")

    assert too_soon["reason"] == "may_not_give_up"
    assert failed["fault"]["may_give_up"]
    await dialogue.arefresh_from_db()
    assert dialogue.ending == "bot_failed"


async def test_a_reply_that_came_while_the_worker_was_away_is_shown_on_return(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    study = await make(make_study)(script={"replies": ["Late but there."], "seconds": 0.3})
    dialogue = await begin(study)
    tab = await open_tab(dialogue)
    await tab.send(type="turn", key=str(uuid4()), text="Hi")
    await tab.receive("turn_saved")
    await tab.disconnect()

    again = await open_tab(dialogue)
    reply = await again.receive("bot_turn")

    assert reply["turn"]["text"] == "Late but there."
    assert await texts(dialogue) == ["Hi!", "Hi", "Late but there."]


async def test_a_reply_lost_in_a_crash_is_asked_for_again(dialogue: Dialogue, open_tab: OpenTab) -> None:
    # What a killed server leaves behind: the human turn is committed, its reply is not.
    await Turn.objects.acreate(
        dialogue=dialogue, position=1, text="Hi", key=uuid4(), created_at=timezone.now()
    )
    await Dialogue.objects.filter(pk=dialogue.pk).aupdate(turns=2)

    tab = await open_tab(dialogue)

    assert (await tab.receive("bot_turn"))["turn"]["position"] == 2


async def test_two_tabs_see_the_same(dialogue: Dialogue, open_tab: OpenTab) -> None:
    one, two = await open_tab(dialogue), await open_tab(dialogue)
    await two.receive("state")  # it has heard of the other, which knows of it already

    await one.exchange("From the first tab")
    in_two = [
        await two.receive("turn_saved"),
        await two.receive("bot_turn"),
        await two.receive("state"),
    ]
    await two.exchange("From the second tab")
    in_one = [
        await one.receive("turn_saved"),
        await one.receive("bot_turn"),
        await one.receive("state"),
    ]

    assert [f["turn"]["text"] for f in in_two[:2]] == ["From the first tab", "Go on."]
    assert [f["turn"]["text"] for f in in_one[:2]] == ["From the second tab", "Go on."]
    assert [[a["position"] for a in f["annotations"]] for f in (in_two[2], in_one[2])] == [[2], [2, 4]]


async def test_a_tab_misses_nothing_that_happens_while_it_opens(
    dialogue: Dialogue, open_tab: OpenTab
) -> None:
    one = await open_tab(dialogue)
    await one.send(type="turn", key=str(uuid4()), text="At the same moment")

    two = await open_tab(dialogue)

    assert await shown(two, 3) == ["Hi!", "At the same moment", "Go on."]


async def test_two_tabs_that_send_at_once_save_one_message(dialogue: Dialogue, open_tab: OpenTab) -> None:
    one, two = await open_tab(dialogue), await open_tab(dialogue)

    await asyncio.gather(
        *(tab.send(type="turn", key=str(uuid4()), text=name) for tab, name in ((one, "one"), (two, "two")))
    )
    seen = [await shown(tab, 3) for tab in (one, two)]

    assert seen[0] == seen[1] == await texts(dialogue)
    assert seen[0][1] in ("one", "two")


async def test_a_new_tab_reloads_frames_that_were_sent_before_it_was_known(
    dialogue: Dialogue, open_tab: OpenTab
) -> None:
    layer = get_channel_layer()
    assert layer is not None
    other = await layer.new_channel()  # a tab that is slow to say that it is there
    await layer.group_add(f"dialogue.{dialogue.pk}.1", other)  # of those in seat 1
    tab = await open_tab(dialogue)
    joined = await layer.receive(other)

    await tab.say("Hello")
    await layer.send(joined["tab"], {"type": "tab.here"})

    async with asyncio.timeout(120):
        assert await layer.receive(other) == {"type": "tab.changed", "from": joined["tab"]}


async def test_a_message_sent_while_the_last_reply_is_being_delivered_is_answered(
    make_study: MakeStudy, transactional_db: None
) -> None:
    study = await make(make_study)(moment=Moment.BEFORE_FINISH)
    dialogue = await begin(study)
    seat = await make(lambda: seat_of(dialogue.public_id, worker_of(dialogue).pk))()
    answered = asyncio.Event()

    async def tell(*frames: Frame) -> None:
        frame = frames[-1]
        if frame["type"] == "bot_turn" and frame["turn"]["position"] == 4:
            answered.set()
        elif frame["type"] == "bot_turn":  # the worker was quicker than the rest of the telling
            await turn_taking.take_turn(
                seat, text="And then?", key=uuid4(), displayed=DisplayedTurns(), send=tell
            )

    await turn_taking.take_turn(seat, text="Well?", key=uuid4(), displayed=DisplayedTurns(), send=tell)
    async with asyncio.timeout(120):
        await answered.wait()

    assert await texts(dialogue) == ["Hi!", "Well?", "Go on.", "And then?", "Go on."]


async def test_a_slow_bot_delays_no_other_conversation(make_study: MakeStudy, open_tab: OpenTab) -> None:
    slow = await make(make_study)({"slow": 1}, script={"replies": ["Zzz."], "seconds": 1.5})
    quick = await make(make_study)({"quick": 1})
    slow_tab, quick_tab = [await open_tab(await begin(study)) for study in (slow, quick)]
    await slow_tab.send(type="turn", key=str(uuid4()), text="Hi")
    await slow_tab.receive("turn_saved")

    reply = await quick_tab.say("Hi")

    assert reply["type"] == "bot_turn"
    assert await Turn.objects.filter(text="Zzz.").acount() == 0
    assert (await slow_tab.receive("bot_turn"))["turn"]["text"] == "Zzz."


async def test_an_open_page_without_activity_keeps_no_place(
    dialogue: Dialogue, open_tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The page asks for a pong by itself; only what the worker does shows that they are at work."""
    monkeypatch.setattr("turnwise.crowd.worker_socket.SECONDS_BETWEEN_SIGNS_OF_LIFE", -1.0)
    tab = await open_tab(dialogue)
    assignment = await Assignment.objects.aget(seat__dialogue=dialogue)

    await tab.send(type="ping")
    assert await tab.receive() == {"type": "pong"}
    await watch().look()
    await Assignment.objects.aget(pk=assignment.pk, active_at=assignment.active_at)

    await tab.say("Hello")
    await tab.send(type="ping")  # handled after what the message left to do
    await tab.receive("pong")
    await watch().look()
    assert await Assignment.objects.filter(pk=assignment.pk, active_at__gt=assignment.active_at).aexists()


async def test_a_request_for_a_reply_that_was_just_saved_does_not_block_the_next_one(
    make_study: MakeStudy, transactional_db: None
) -> None:
    # The first human turn takes its time: the late tab asks for its reply again after that was saved.
    script = {"replies": ["Go on."], "hang_on": [1], "hang_seconds": 3}
    study = await make(make_study)(script=script, moment=Moment.BEFORE_FINISH)
    dialogue = await begin(study)
    seat = await make(lambda: seat_of(dialogue.public_id, worker_of(dialogue).pk))()
    told: list[Frame] = []

    async def tell(*frames: Frame) -> None:
        told.extend(frames)

    await turn_taking.take_turn(seat, text="One", key=uuid4(), displayed=DisplayedTurns(), send=tell)
    stale_turns, stale_progress, _ = await make(snapshot)(seat)
    while not any(frame["type"] == "bot_turn" for frame in told):
        await asyncio.sleep(0.01)
    turn_taking.resume(seat, stale_turns, stale_progress, send=tell)
    await turn_taking.take_turn(seat, text="Two", key=uuid4(), displayed=DisplayedTurns(), send=tell)
    while sum(frame["type"] == "bot_turn" for frame in told) < 2:
        await asyncio.sleep(0.01)

    assert await texts(dialogue) == ["Hi!", "One", "Go on.", "Two", "Go on."]
