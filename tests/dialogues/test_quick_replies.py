"""Exchanges with a bot that answers at once: message and reply are saved in one step."""

from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.db import connection

from tests.conftest import MakeStudy, OpenTab, Tab, start_dialogue
from turnwise.dialogues.models import Dialogue, Fault, Turn
from turnwise.studies.asks import About, AskSpec, Moment

pytestmark = pytest.mark.django_db(transaction=True)

START = ["Hi!", "Are you there?", "Go on."]


@sync_to_async
def begin(make_study: MakeStudy, **script: Any) -> Dialogue:
    study = make_study(script={"replies": ["Go on."], **script}, moment=Moment.BEFORE_FINISH)
    return start_dialogue(study)


@sync_to_async
def transactions(dialogue: Dialogue) -> list[str]:
    """The transaction that wrote each turn, as PostgreSQL knows it."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT xmin::text FROM dialogues_turn WHERE dialogue_id = %s ORDER BY position", [dialogue.pk]
        )
        return [row[0] for row in cursor.fetchall()]


async def texts(dialogue: Dialogue) -> list[str]:
    return [turn.text async for turn in Turn.objects.filter(dialogue=dialogue).order_by("position")]


async def started(open_tab: OpenTab, dialogue: Dialogue) -> Tab:
    """A tab whose bot has answered once: only then is it known to be quick."""
    tab = await open_tab(dialogue)
    await tab.say("Are you there?")
    return tab


async def test_a_message_and_its_quick_reply_are_one_commit(
    make_study: MakeStudy, open_tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "turnwise.bots.hosting.client.AT_ONCE_SECONDS", 5.0
    )  # a busy machine makes no bot a slow one here
    dialogue = await begin(make_study)
    tab = await started(open_tab, dialogue)

    await tab.send(type="turn", key=str(uuid4()), text="Good")
    saved, reply = await tab.receive(), await tab.receive()

    assert [(f["type"], f["turn"]["position"], f["turn"]["text"]) for f in (saved, reply)] == [
        ("turn_saved", 3, "Good"),
        ("bot_turn", 4, "Go on."),
    ]
    assert (saved["progress"]["turns"], saved["progress"]["unlabelled"]) == (3, [2])
    assert (reply["progress"]["turns"], reply["progress"]["unlabelled"]) == (4, [2, 4])
    written = await transactions(dialogue)
    assert written[1] != written[2]  # the bot was not known to be quick
    assert written[3] == written[4]
    turn = await Turn.objects.select_related("bot_version__bot").aget(dialogue=dialogue, position=4)
    assert turn.bot_version
    assert turn.bot_version.bot.name == "scripty"
    assert turn.latency_ms is not None
    assert turn.seed is not None


async def test_a_quick_bot_that_is_slow_once_does_not_delay_the_message(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    dialogue = await begin(make_study, hang_on=[2], hang_seconds=2.0)
    tab = await started(open_tab, dialogue)

    await tab.send(type="turn", key=str(uuid4()), text="Take your time")
    saved = await tab.receive()
    meanwhile = await texts(dialogue)
    reply = await tab.receive()

    assert (saved["type"], saved["progress"]["thinking"]) == ("turn_saved", True)
    assert meanwhile == [*START, "Take your time"]
    assert (reply["type"], reply["turn"]["position"]) == ("bot_turn", 4)


async def test_no_message_is_lost_when_a_quick_bot_fails(make_study: MakeStudy, open_tab: OpenTab) -> None:
    dialogue = await begin(make_study, fail_on=[2])
    tab = await started(open_tab, dialogue)

    failed = await tab.say("Fail now")

    assert failed["type"] == "bot_failed"
    assert await texts(dialogue) == [*START, "Fail now"]
    assert await Fault.objects.filter(dialogue=dialogue, position=4).acount() == 1


async def test_a_resent_message_is_not_answered_twice(make_study: MakeStudy, open_tab: OpenTab) -> None:
    dialogue = await begin(make_study)
    tab = await started(open_tab, dialogue)
    frame = {"type": "turn", "key": str(uuid4()), "text": "Once"}
    await tab.send(**frame)
    first = await tab.receive("bot_turn")

    await tab.send(**frame)
    again = await tab.receive("bot_turn")
    await tab.send(**frame | {"text": "Twice"})
    refused = await tab.receive("refused")

    assert again["turn"] == first["turn"]
    assert refused["reason"] == "key_reused"
    assert await texts(dialogue) == [*START, "Once", "Go on."]


async def test_an_outdated_page_cannot_skip_newer_turns(make_study: MakeStudy, open_tab: OpenTab) -> None:
    dialogue = await begin(make_study)
    tab = await started(open_tab, dialogue)
    # As by a server that died before it could tell anybody of these two.
    await sync_to_async(_say_elsewhere)(dialogue)

    reply = await tab.say("And now?")

    assert (reply["type"], reply["turn"]["position"]) == ("bot_turn", 6)
    assert await texts(dialogue) == [*START, "Elsewhere", "Indeed", "And now?", "Go on."]


def _say_elsewhere(dialogue: Dialogue) -> None:
    for position, text in ((3, "Elsewhere"), (4, "Indeed")):
        Turn.objects.create(dialogue=dialogue, position=position, text=text, created_at=dialogue.started_at)
    Dialogue.objects.filter(pk=dialogue.pk).update(turns=5, bot_turns=2, due_1=[-32 * 2 - 1, -32 * 4 - 1])


async def test_the_protocol_holds_for_quick_bots(make_study: MakeStudy, open_tab: OpenTab) -> None:
    study = await sync_to_async(make_study)(min_turns=2, max_turns=4)
    dialogue = await sync_to_async(start_dialogue)(study)
    tab = await started(open_tab, dialogue)

    unlabelled = await tab.say("Too early")
    await tab.label(2, sensible=True, specific=True)
    await tab.exchange("Now")
    too_many = await tab.say("Too late")

    assert (unlabelled["reason"], too_many["reason"]) == ("label_first", "turn_limit")
    assert await texts(dialogue) == [*START, "Now", "Go on."]


async def frames_of(tab: Tab, *, is_timed: bool) -> list[dict[str, Any]]:
    """Every frame that three exchanges with a label after each bring."""

    async def heard_until(kind: str) -> list[dict[str, Any]]:
        frames = [await tab.receive()]
        while frames[-1]["type"] != kind:
            frames.append(await tab.receive())
        return frames

    heard: list[dict[str, Any]] = []
    for number in range(1, 4):
        await tab.send(type="turn", key=str(uuid4()), text=f"Message {number}")
        heard += await heard_until("bot_turn")
        if is_timed:  # the clock runs anew
            heard += await heard_until("standing")
        await tab.send(type="label", position=2 * number, answers={"sensible": True, "specific": False})
        heard += await heard_until("label_saved")
        if is_timed:
            heard += await heard_until("standing")
    return heard


def comparable(frames: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The frames without the keys that a page makes up for its messages, and without the time left.

    The first study's bot may still be loading on a busy machine, which its worker is told.
    """
    frames = [frame for frame in frames if frame["type"] != "bot_starting"]
    for frame in frames:
        for clock in frame.get("clocks", ()):
            clock["left"] = clock["left"] > 0
        for turn in (*frame.get("turns", ()), *filter(None, [frame.get("turn")])):
            turn["key"] = turn["key"] and "a key"
    return frames


@pytest.mark.parametrize(
    "fields",
    [
        {"moment": Moment.BEFORE_FINISH},
        {"moment": Moment.WAITING},
        {"moment": Moment.BEFORE_FINISH, "message_minutes": 5},
        {
            "asks": [
                AskSpec("ssa", About.PARTNER_TURN, Moment.BEFORE_FINISH),
                AskSpec("human-likeness", About.OWN_TURN, Moment.BEFORE_FINISH),
            ]
        },
    ],
    ids=["answers at the end", "answers at once", "limited time", "asks about own messages"],
)
async def test_the_frames_of_a_quick_and_of_a_slow_bot_are_the_same(
    fields: dict[str, Any], make_study: MakeStudy, open_tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard, steps = [], []
    for at_once in (5.0, -1.0):  # any bot is quick, then none is
        monkeypatch.setattr("turnwise.bots.hosting.client.AT_ONCE_SECONDS", at_once)
        study = await sync_to_async(make_study)(script={"replies": ["Go on."]}, **fields)
        dialogue = await sync_to_async(start_dialogue)(study)
        tab = await open_tab(dialogue)
        frames = await frames_of(tab, is_timed="message_minutes" in fields)
        frames.append((await open_tab(dialogue)).first)
        heard.append(comparable(frames))
        written = await transactions(dialogue)
        steps.append(written[-2] == written[-1])

    assert steps == [True, False]
    assert heard[0] == heard[1]
