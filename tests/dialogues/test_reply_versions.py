"""Several replies to one message, of which the worker keeps one: through the socket and the database."""

import asyncio
from collections.abc import Sequence
from itertools import count
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction

from chatbots.base import Bot, BotConfiguration, Context, Speaker
from chatbots.registry import REGISTRY
from chatbots.replies import ReplyOutcome, Response, Usage
from tests.conftest import MakeStudy, OpenTab, Tab, start_dialogue
from tests.rewriting import remove, rewriting
from turnwise.accounts.models import User
from turnwise.bots.hosting import client
from turnwise.bots.models import OPERATED
from turnwise.bots.models import Bot as BotRow
from turnwise.bots.services import register_bot
from turnwise.dialogues import regenerating
from turnwise.dialogues.models import Dialogue, Fault, ReplyVersion, Turn
from turnwise.dialogues.reply_versions import ADD
from turnwise.labels.models import Label
from turnwise.live.frames import Frame
from turnwise.live.sockets import draining
from turnwise.studies.models import ReplyDisplay, Study
from turnwise.studies.services import OPENED, save_study

pytestmark = pytest.mark.django_db(transaction=True)

begin = sync_to_async(start_dialogue)
YES = {"sensible": True, "specific": True}


class CountingBot(Bot):
    """Numbers its replies, so that each differs: `2.1`, `2.2` for the second message."""

    class Configuration(BotConfiguration):
        """Replies that fail, by number over all."""

        fail_on: frozenset[int] = frozenset()

    configuration: Configuration

    def __init__(self, configuration: Configuration) -> None:
        super().__init__(configuration)
        self._numbers = count(1)

    def respond(self, contexts: Sequence[Context]) -> list[Response]:
        return [self._reply(context, next(self._numbers)) for context in contexts]

    def _reply(self, context: Context, number: int) -> Response:
        ASKED.append(context)
        if number in self.configuration.fail_on:
            raise RuntimeError("planned")
        message = sum(turn.speaker is Speaker.HUMAN for turn in context.turns)
        outcome = ReplyOutcome.REFUSED if number == 2 else ReplyOutcome.COMPLETE
        return Response(f"{message}.{number}", usage=Usage(10, number), outcome=outcome)


ASKED: list[Context] = []


@pytest.fixture(autouse=True)
def _counting_bot_is_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    REGISTRY.registered_names()
    monkeypatch.setitem(REGISTRY._classes, "counting", CountingBot)
    monkeypatch.setattr(CountingBot, "name", "counting", raising=False)
    ASKED.clear()


async def opened(
    make_study: MakeStudy, open_tab: OpenTab, *, most: int = 3, fail_on: Sequence[int] = (), **fields: Any
) -> tuple[Dialogue, Tab]:
    """A conversation with one reply, and its tab."""
    study = await sync_to_async(make_study)(max_reply_versions=most, **fields)
    await BotRow.objects.aupdate(adapter="counting", configuration={"fail_on": list(fail_on)})
    dialogue = await begin(study)
    tab = await open_tab(dialogue)
    assert (await tab.say("Hello"))["turn"]["text"] == "1.1"
    return dialogue, tab


async def regenerate(tab: Tab, position: int = 2, **fields: Any) -> Frame:
    await tab.send(**{"type": "regenerate", "position": position, "key": str(uuid4())} | fields)
    return await tab.receive("bot_turn", "refused", "state")


async def choose(tab: Tab, number: int, position: int = 2) -> Frame:
    await tab.send(type="keep_version", position=position, number=number)
    return await tab.receive("bot_turn", "refused")


async def versions_of(dialogue: Dialogue) -> list[tuple[int, str, bool]]:
    stored = ReplyVersion.objects.filter(turn__dialogue=dialogue).order_by("turn__position", "number")
    return [(each.number, each.text, each.is_kept) async for each in stored]


async def text_of(dialogue: Dialogue, position: int = 2) -> str:
    return (await Turn.objects.aget(dialogue=dialogue, position=position)).text


async def test_another_reply_is_stored_beside_the_first_and_kept(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    dialogue, tab = await opened(make_study, open_tab)
    await tab.send(type="regenerate", position=2, key=str(uuid4()))
    waiting = await tab.receive("regenerating")
    frame = await tab.receive("bot_turn")

    assert waiting["progress"]["thinking"]
    assert not waiting["progress"]["may_send"]
    assert waiting["progress"]["unlabelled"] == []
    assert frame["turn"]["text"] == "1.2"
    assert frame["versions"] == {"position": 2, "number": 2, "of": 2}
    assert frame["progress"]["unlabelled"] == [2]
    assert await versions_of(dialogue) == [(1, "1.1", False), (2, "1.2", True)]
    turn = await Turn.objects.aget(dialogue=dialogue, position=2)
    kept = await ReplyVersion.objects.aget(turn=turn, is_kept=True)
    facts = ("text", "created_at", "bot_version_id", "latency_ms", "seed", "candidates", "generation")
    assert [getattr(turn, name) for name in facts] == [getattr(kept, name) for name in facts]
    assert turn.how.outcome is ReplyOutcome.REFUSED
    first, second = ASKED
    assert first.turns == second.turns
    assert first.seed != second.seed
    row = await Dialogue.objects.aget(pk=dialogue.pk)
    assert (row.turns, row.bot_turns) == (3, 1)


async def test_the_worker_goes_back_and_forth_and_judges_the_kept_one(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    dialogue, tab = await opened(make_study, open_tab)
    await regenerate(tab)
    await regenerate(tab)

    back = await choose(tab, 1)
    assert back["turn"]["text"] == "1.1"
    assert back["versions"] == {"position": 2, "number": 1, "of": 3}
    assert (await choose(tab, 3))["turn"]["text"] == "1.3"
    assert (await choose(tab, 2))["turn"]["text"] == "1.2"
    assert (await open_tab(dialogue)).first["versions"] == {"position": 2, "number": 2, "of": 3}
    await tab.label(2, **YES)

    label = await Label.objects.select_related("turn").aget()
    assert label.turn
    assert label.turn.text == "1.2"
    assert await versions_of(dialogue) == [(1, "1.1", False), (2, "1.2", True), (3, "1.3", False)]
    for frame in (await choose(tab, 1), await regenerate(tab)):
        assert frame["reason"] == "may_not_choose"
    assert (await tab.say("And then?"))["turn"]["text"] == "2.4"
    assert [turn.text for turn in ASKED[-1].turns] == ["Hi!", "Hello", "1.2", "And then?"]
    assert (await choose(tab, 1))["reason"] == "may_not_choose"
    assert (await choose(tab, 1, position=4))["reason"] == "may_not_choose"
    assert (await regenerate(tab, 4))["turn"]["text"] == "2.5"


async def test_there_are_at_most_as_many_as_the_study_allows(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    dialogue, tab = await opened(make_study, open_tab, most=2)
    await regenerate(tab)

    refused = await regenerate(tab)

    assert refused["reason"] == "no_more_replies"
    assert len(await versions_of(dialogue)) == 2
    assert len(ASKED) == 2


async def test_no_reply_is_asked_for_again_where_the_study_does_not_allow_it(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    dialogue, tab = await opened(make_study, open_tab, most=1)

    refused = [await regenerate(tab), await choose(tab, 1)]

    assert {frame["reason"] for frame in refused} == {"may_not_choose"}
    assert "versions" not in (await open_tab(dialogue)).first
    assert await versions_of(dialogue) == []


@pytest.mark.parametrize("position", [0, 1, 3, -1, 10**30])
async def test_only_a_reply_of_the_bot_that_is_the_last_turn_has_versions(
    make_study: MakeStudy, open_tab: OpenTab, position: int
) -> None:
    dialogue, tab = await opened(make_study, open_tab)

    assert (await regenerate(tab, position))["reason"] == "may_not_choose"
    assert (await choose(tab, 1, position))["reason"] == "may_not_choose"
    assert await versions_of(dialogue) == []


async def test_a_request_that_is_sent_twice_is_answered_once(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    dialogue, tab = await opened(make_study, open_tab)
    other = await open_tab(dialogue)
    key = str(uuid4())
    await asyncio.gather(regenerate(tab, key=key), regenerate(other, key=key))
    while not await ReplyVersion.objects.filter(number=2).aexists():
        await asyncio.sleep(0.02)

    again = await regenerate(tab, key=key)

    assert again["type"] in ("state", "bot_turn")
    assert await versions_of(dialogue) == [(1, "1.1", False), (2, "1.2", True)]
    assert len(ASKED) == 2


async def test_the_same_version_stored_by_two_processes_is_stored_once(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    dialogue, tab = await opened(make_study, open_tab)
    key = str(uuid4())
    await regenerate(tab, key=key)
    kept = await ReplyVersion.objects.aget(number=2)
    values = {
        "dialogue": dialogue.pk, "position": 2, "most": 3, "key": key, "text": "another",
        "version": kept.bot_version_id, "latency": 1, "seed": 1, "candidates": None, "generation": None,
    }  # fmt: skip
    assert await sync_to_async(ADD.row_alone)(**values) == (2, True)
    assert await sync_to_async(ADD.row_alone)(**values | {"key": str(uuid4())}) == (3, True)
    assert await sync_to_async(ADD.row_alone)(**values | {"key": str(uuid4())}) is None
    assert len(await versions_of(dialogue)) == 3


async def test_both_tabs_show_the_same_reply_while_it_is_awaited_and_after(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    dialogue, tab = await opened(make_study, open_tab, reply_display=ReplyDisplay.FIXED_PACE, reply_pace=10)
    other = await open_tab(dialogue)
    await tab.send(type="regenerate", position=2, key=str(uuid4()))

    assert (await other.receive("regenerating"))["position"] == 2
    late = await open_tab(dialogue)
    assert [turn["position"] for turn in late.first["turns"]] == [0, 1]
    assert late.first["progress"]["thinking"]
    for each in (tab, other, late):
        assert (await each.receive("bot_turn"))["turn"]["text"] == "1.2"
    await choose(other, 1)
    assert (await tab.receive("bot_turn"))["turn"]["text"] == "1.1"


async def test_a_label_of_another_reply_than_the_kept_one_is_refused(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    _, tab = await opened(make_study, open_tab)
    await regenerate(tab)
    await tab.send(type="label", position=2, answers=YES, version=1)
    refused = await tab.receive("refused", "label_saved")
    for wrong in (0, -1, 11, 2**40):
        await tab.send(type="label", position=2, answers=YES, version=wrong)
        assert (await tab.receive("refused"))["reason"] == "malformed"

    await tab.send(type="label", position=2, answers=YES, version=2)
    saved = await tab.receive("label_saved")

    assert refused["reason"] == "other_reply"
    assert saved["position"] == 2
    assert await Label.objects.acount() == 1


async def test_a_version_that_comes_after_the_label_is_stored_and_not_kept(
    make_study: MakeStudy, open_tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialogue, tab = await opened(make_study, open_tab)
    asked, may_answer = asyncio.Event(), asyncio.Event()
    reply = client.reply

    async def late(*arguments: Any, **options: Any) -> Any:
        asked.set()
        await may_answer.wait()
        return await reply(*arguments, **options)

    monkeypatch.setattr(client, "reply", late)
    await tab.send(type="regenerate", position=2, key=str(uuid4()))
    await asked.wait()
    await tab.label(2, **YES)
    may_answer.set()
    frame = await tab.receive("bot_turn")

    assert frame["turn"]["text"] == "1.1"
    assert frame["versions"] == {"position": 2, "number": 1, "of": 2}
    assert frame["progress"]["unlabelled"] == []
    assert await versions_of(dialogue) == [(1, "1.1", True), (2, "1.2", False)]
    assert await text_of(dialogue) == "1.1"


async def test_a_bot_that_fails_leaves_the_reply_before(make_study: MakeStudy, open_tab: OpenTab) -> None:
    dialogue, tab = await opened(make_study, open_tab, fail_on=[2])
    await tab.send(type="regenerate", position=2, key=str(uuid4()))

    state = await tab.receive("state")
    refused = await tab.receive("refused")

    assert state["turns"][-1]["text"] == "1.1"
    assert state["progress"]["unlabelled"] == [2]
    assert state["fault"] is None
    assert refused["reason"] == "no_other_reply"
    assert (await Fault.objects.aget()).position == 2
    assert (await regenerate(tab))["turn"]["text"] == "1.3"
    assert await versions_of(dialogue) == [(1, "1.1", False), (2, "1.3", True)]


async def test_a_process_that_dies_while_a_reply_is_awaited_leaves_the_one_before(
    make_study: MakeStudy, open_tab: OpenTab, monkeypatch: pytest.MonkeyPatch
) -> None:
    dialogue, tab = await opened(make_study, open_tab)

    async def never(*arguments: Any, **options: Any) -> Any:
        await asyncio.Event().wait()

    monkeypatch.setattr(client, "reply", never)
    await tab.send(type="regenerate", position=2, key=str(uuid4()))
    await tab.receive("regenerating")
    monkeypatch.undo()
    for task in list(draining._tasks):
        task.cancel()
    await asyncio.sleep(0)
    regenerating._running.clear()  # what a new process knows

    back = await open_tab(dialogue)

    assert back.first["turns"][-1]["text"] == "1.1"
    assert back.first["progress"]["unlabelled"] == [2]
    assert await versions_of(dialogue) == []


async def test_nothing_of_a_conversation_stays_when_it_is_deleted(
    make_study: MakeStudy, open_tab: OpenTab
) -> None:
    dialogue, tab = await opened(make_study, open_tab)
    await regenerate(tab)
    await tab.disconnect()

    await remove(dialogue)

    assert not await ReplyVersion.objects.aexists()


async def test_the_database_keeps_one_version(make_study: MakeStudy, open_tab: OpenTab) -> None:
    _, tab = await opened(make_study, open_tab)
    await regenerate(tab)

    def keep_both() -> None:
        with transaction.atomic(), rewriting():
            ReplyVersion.objects.update(is_kept=True)

    with pytest.raises(IntegrityError, match="one_version_is_kept"):
        await sync_to_async(keep_both)()


def test_versions_are_refused_where_a_person_answers_in_place_of_a_bot(rex: User) -> None:
    operated = register_bot(name="oz", title="Oz", adapter=OPERATED, configuration={})
    study = Study(title="Mixed", languages=["en"], max_reply_versions=2)

    with pytest.raises(ValidationError, match="A person answers in place of Oz"):
        save_study(study, owner=rex, consent_text="You talk.", targets={operated: 5})


@pytest.mark.parametrize("most", [0, 11])
def test_the_number_of_versions_is_limited(rex: User, most: int) -> None:
    with pytest.raises(ValidationError) as refused:
        save_study(
            Study(title="Many", languages=["en"], max_reply_versions=most),
            owner=rex, consent_text="You talk.", targets={},
        )  # fmt: skip

    assert "max_reply_versions" in refused.value.message_dict


def test_the_number_of_versions_is_fixed_once_the_study_is_open(make_study: MakeStudy, rex: User) -> None:
    study = make_study()
    study.max_reply_versions = 3

    with pytest.raises(ValidationError) as refused:
        save_study(study, owner=rex, consent_text="You talk to a machine.", targets={})

    assert refused.value.message_dict == {"max_reply_versions": [OPENED]}
