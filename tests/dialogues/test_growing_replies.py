"""Replies that grow on the page, through the real consumer, database and resident bots."""

import asyncio
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.core.exceptions import ValidationError

from chatbots.registry import REGISTRY
from chatbots.replies import ReplyOutcome
from tests.chatbots.growing import EMOJI, LONG, GrowingBot
from tests.conftest import MakeStudy, OpenTab, Tab, start_dialogue
from turnwise.accounts.models import User
from turnwise.bots.models import OPERATED
from turnwise.bots.services import register_bot
from turnwise.dialogues import growing_replies, services
from turnwise.dialogues.models import Dialogue, Fault, Turn
from turnwise.live.frames import Frame
from turnwise.studies.models import ReplyDisplay, Study
from turnwise.studies.services import OPENED, save_study, set_bots

begin = sync_to_async(start_dialogue)
REPLY = LONG[:600].strip()


class Page:
    """The reply as the page's script puts it together."""

    def __init__(self, tab: Tab) -> None:
        self.tab = tab
        self.texts: list[str] = [self._begun()]
        self.frames: list[Frame] = []

    def _begun(self) -> str:
        return str(self.tab.first["growing"]["text"]) if "growing" in self.tab.first else ""

    async def next(self, *types: str) -> Frame:
        frame = await self.tab.receive("bot_text", *types)
        self.frames.append(frame)
        if frame["type"] == "bot_text":
            assert frame["offset"] <= len(self.texts[-1])
            self.texts.append(self.texts[-1][: frame["offset"]] + frame["text"])
        return frame

    async def until(self, *types: str) -> Frame:
        while (frame := await self.next(*types))["type"] == "bot_text":
            pass
        return frame


async def opened(
    make_study: MakeStudy, open_tab: OpenTab, *, reply: str = REPLY, speed: float = 1500, **fields: Any
) -> tuple[Dialogue, Tab]:
    script = {"replies": [reply, "Short."], "characters_per_second": speed}
    fields = {"reply_display": ReplyDisplay.AS_IT_COMES} | fields
    study = await sync_to_async(make_study)(script=script, **fields)
    dialogue = await begin(study)
    return dialogue, await open_tab(dialogue)


async def ask(tab: Tab) -> None:
    await tab.send(type="turn", key=str(uuid4()), text="Tell me a story")
    await tab.receive("turn_saved")


async def stored(dialogue: Dialogue) -> list[str]:
    return [turn.text async for turn in Turn.objects.filter(dialogue=dialogue).order_by("position")]


@pytest.mark.parametrize("reply", [REPLY, EMOJI])
async def test_a_reply_grows_and_is_labelled_once_it_is_complete(
    make_study: MakeStudy, open_tab: OpenTab, reply: str
) -> None:
    dialogue, tab = await opened(make_study, open_tab, reply=reply, speed=2.5 * len(reply))
    page = Page(tab)
    await ask(tab)
    await page.next()

    await tab.send(type="label", position=2, answers={"sensible": True, "specific": True})
    refused = await page.until("refused")
    final = await page.until("bot_turn")

    assert refused["reason"] in ("unknown_turn", "not_to_label")
    assert final["turn"]["text"] == reply
    assert final["progress"]["unlabelled"] == [2]
    assert len(page.texts) > 2
    assert all(reply.startswith(text) for text in page.texts)
    sent = [frame["text"] for frame in page.frames if frame["type"] == "bot_text"]
    assert len("".join(sent)) <= len(reply) + len(sent)  # only what is new, and letters that got an accent
    assert await stored(dialogue) == ["Hi!", "Tell me a story", reply]


async def test_nothing_is_sent_before_the_reply_by_default(make_study: MakeStudy, open_tab: OpenTab) -> None:
    _, tab = await opened(make_study, open_tab, reply_display=ReplyDisplay.WHEN_DONE)
    await ask(tab)

    frame = await tab.receive()

    assert (frame["type"], frame["turn"]["text"]) == ("bot_turn", REPLY)
    assert "growing" not in tab.first


async def test_a_fixed_pace_is_the_same_for_a_quick_bot(make_study: MakeStudy, open_tab: OpenTab) -> None:
    study = await sync_to_async(make_study)(
        script={"replies": [REPLY]}, reply_display=ReplyDisplay.FIXED_PACE, reply_pace=400
    )
    dialogue = await begin(study)
    tab = await open_tab(dialogue)
    page = Page(tab)
    since = asyncio.get_running_loop().time()
    await ask(tab)

    final = await page.until("bot_turn")

    assert asyncio.get_running_loop().time() - since >= len(REPLY) / 400
    assert final["turn"]["text"] == REPLY
    assert len(page.texts) > 5
    assert all(REPLY.startswith(text) for text in page.texts)


async def test_a_second_tab_and_a_reload_show_the_text_so_far(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    dialogue, tab = await opened(make_study, open_tab, speed=200)
    page = Page(tab)
    await ask(tab)
    await page.next()

    second = Page(await open_tab(dialogue))
    await tab.disconnect()
    third = Page(await open_tab(dialogue))

    for each in (second, third):
        assert each.texts[0]
        assert REPLY.startswith(each.texts[0])
    assert [(await each.tab.receive("bot_turn"))["turn"]["text"] for each in (second, third)] == [REPLY] * 2
    assert await stored(dialogue) == ["Hi!", "Tell me a story", REPLY]


@pytest.mark.parametrize("display", [ReplyDisplay.AS_IT_COMES, ReplyDisplay.FIXED_PACE])
async def test_no_more_is_shown_than_the_study_stores(
    make_study: MakeStudy, open_tab: OpenTab, display: ReplyDisplay
) -> None:
    dialogue, tab = await opened(
        make_study, open_tab, reply_display=display, reply_pace=400, max_reply_chars=200
    )
    page = Page(tab)
    await ask(tab)

    await page.until("bot_turn")

    assert max(map(len, page.texts)) <= 200
    assert (await stored(dialogue))[-1] == REPLY[:200]


async def test_a_reply_is_stored_once_though_nobody_watches(make_study: MakeStudy, open_tab: OpenTab) -> None:
    dialogue, tab = await opened(make_study, open_tab)
    await ask(tab)
    await tab.receive("bot_text")
    await tab.disconnect()

    while len(await stored(dialogue)) < 3:
        await asyncio.sleep(0.05)

    assert await stored(dialogue) == ["Hi!", "Tell me a story", REPLY]
    assert not growing_replies._growing


@pytest.mark.parametrize("fields", [{}, {"reply_display": ReplyDisplay.FIXED_PACE, "reply_pace": 60}])
async def test_a_stopped_reply_keeps_what_was_shown(
    make_study: MakeStudy, open_tab: OpenTab, fields: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = []
    close = services.close_exchange

    async def closing(seat: Any, *, position: int, reply: Any) -> Any:
        outcomes.append(reply.response.outcome)
        return await close(seat, position=position, reply=reply)

    monkeypatch.setattr(services, "close_exchange", closing)
    speed = 100_000 if fields else 60
    dialogue, tab = await opened(make_study, open_tab, may_stop_replies=True, speed=speed, **fields)
    page = Page(tab)
    await ask(tab)
    while len(page.texts) < 4:
        await page.next()

    await tab.send(type="stop", position=2)
    final = await page.until("bot_turn")

    assert final["turn"]["text"] == page.texts[-1]
    assert len(final["turn"]["text"]) < len(REPLY)
    assert await stored(dialogue) == ["Hi!", "Tell me a story", page.texts[-1]]
    assert outcomes == [ReplyOutcome.STOPPED]
    assert final["progress"]["unlabelled"] == [2]
    turn = await Turn.objects.select_related("bot_version__bot").aget(dialogue=dialogue, position=2)
    assert turn.bot_version
    assert turn.generation
    assert turn.generation["outcome"] == "stopped"
    await tab.label(2, sensible=True, specific=True)
    assert (await tab.say("And then?"))["turn"]["text"] == "Short."


async def test_a_reply_that_is_complete_cannot_be_stopped(make_study: MakeStudy, open_tab: OpenTab) -> None:
    dialogue, tab = await opened(make_study, open_tab, may_stop_replies=True)
    await ask(tab)
    await tab.receive("bot_turn")

    await tab.send(type="stop", position=2)
    await tab.label(2, sensible=True, specific=True)

    assert await stored(dialogue) == ["Hi!", "Tell me a story", REPLY]


async def test_a_reply_is_not_stopped_where_the_study_does_not_allow_it(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    _, tab = await opened(make_study, open_tab)
    page = Page(tab)
    await ask(tab)
    await page.next()

    await tab.send(type="stop", position=2)

    assert (await page.until("refused"))["reason"] == "unknown_type"
    assert (await page.until("bot_turn"))["turn"]["text"] == REPLY


@pytest.mark.parametrize("position", [None, "2", True, 10**30, -1])
async def test_a_malformed_stop_stops_nothing(
    make_study: MakeStudy, open_tab: OpenTab, position: Any
) -> None:
    _, tab = await opened(make_study, open_tab, may_stop_replies=True)
    page = Page(tab)
    await ask(tab)
    await page.next()

    await tab.send(type="stop", position=position)

    while (frame := await page.until("refused", "bot_turn"))["type"] != "bot_turn":
        assert frame["reason"] == "malformed"
    assert frame["turn"]["text"] == REPLY


@pytest.mark.parametrize(
    ("texts", "final"),
    [
        (["Something", "Something else"], "Nothing of that."),
        (["A long text", "A long", "A"], "A long text to the end."),
        (["One \ud83d", "One two"], "One two \ud83d three"),
    ],
)
async def test_the_final_reply_of_a_faulty_bot_stands(
    make_study: MakeStudy, open_tab: OpenTab, monkeypatch: pytest.MonkeyPatch, texts: list[str], final: str
) -> None:
    paced = [text for text in texts for _ in range(2)]
    scripted = REGISTRY.bot_class("scripted")
    monkeypatch.setattr(scripted, "answering", lambda self: GrowingBot(paced, final).answering())
    dialogue, tab = await opened(make_study, open_tab)
    page = Page(tab)
    await ask(tab)

    frame = await page.until("bot_turn")

    text = final.replace("\ud83d", "")
    assert frame["turn"]["text"] == text
    assert await stored(dialogue) == ["Hi!", "Tell me a story", text]


async def test_a_reply_that_fails_while_it_grows_is_a_fault(make_study: MakeStudy, open_tab: OpenTab) -> None:
    script = {
        "replies": [REPLY],
        "characters_per_second": 300,
        "seconds": 0.2,
        "fail_on": [1],
        "fail_times": 1,
    }
    study = await sync_to_async(make_study)(script=script, reply_display=ReplyDisplay.AS_IT_COMES)
    dialogue = await begin(study)
    tab = await open_tab(dialogue)
    await ask(tab)
    failed = await tab.receive("bot_failed")

    await tab.send(type="retry")
    await tab.receive("bot_text")
    final = await tab.receive("bot_turn")

    assert failed["fault"]["attempts"] == 1
    assert final["turn"]["text"] == REPLY
    assert await Fault.objects.acount() == 1


def test_replies_do_not_grow_where_a_person_answers_in_place_of_a_bot(rex: User) -> None:
    operated = register_bot(name="oz", title="Oz", adapter=OPERATED, configuration={})
    study = Study(title="Mixed", languages=["en"], reply_display=ReplyDisplay.AS_IT_COMES)

    with pytest.raises(ValidationError) as refused:
        save_study(study, owner=rex, consent_text="You talk.", targets={operated: 5})
    other = save_study(
        Study(title="Mixed", languages=["en"], reply_display=ReplyDisplay.FIXED_PACE),
        owner=rex, consent_text="You talk.", targets={},
    )  # fmt: skip
    with pytest.raises(ValidationError) as later:
        set_bots(other.pk, {operated: 5})

    for each in (refused, later):
        assert "A person answers in place of Oz" in each.value.message_dict["reply_display"][0]
    whole = Study(title="Whole", languages=["en"])
    assert save_study(whole, owner=rex, consent_text="You talk.", targets={operated: 5}).pk


def test_how_replies_appear_is_fixed_once_the_study_is_open(make_study: MakeStudy, rex: User) -> None:
    study = make_study()
    study.reply_display, study.reply_pace, study.may_stop_replies = ReplyDisplay.AS_IT_COMES, 99, True

    with pytest.raises(ValidationError) as refused:
        save_study(study, owner=rex, consent_text="You talk to a machine.", targets={})

    fixed = ("reply_display", "reply_pace", "may_stop_replies")
    assert refused.value.message_dict == {name: [OPENED] for name in fixed}
