"""One message goes to two bots at once, blind; a vote is kept as the judgment of a pair."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async

from tests.arenas import ArenaTab, come, make_arena
from turnwise.accounts.models import User
from turnwise.crowd.models import Assignment, Outcome, Participation
from turnwise.dialogues.models import Battle, Dialogue, Seat, Turn, sides_of
from turnwise.labels.models import Label
from turnwise.privacy.stored_data import stored_data_of
from turnwise.privacy.withdrawal import withdraw
from turnwise.studies.models import Study
from turnwise.tasks.judging.results import judged_pairs

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.asyncio]

Open = Callable[[Participation], Awaitable[ArenaTab]]


@pytest.fixture
async def open_arena(transactional_db: None) -> AsyncIterator[Open]:
    """Open tabs; everything is closed at the end."""
    tabs: list[ArenaTab] = []

    async def open_one(participation: Participation) -> ArenaTab:
        tab = ArenaTab(participation)
        tabs.append(tab)
        await tab.connect()
        return tab

    yield open_one
    for tab in tabs:
        if not tab.application.future.done():
            await tab.disconnect()


def is_ready(state: dict[str, Any]) -> bool:
    return bool(state["turns"]) and not state["thinking"]


async def say(tab: ArenaTab, battle: int, text: str = "Hello!") -> None:
    await tab.send(type="turn", battle=battle, key=str(uuid4()), text=text)


def names_of(battle: Battle) -> list[str]:
    return [
        Seat.objects.get(dialogue=side, bot__isnull=False).bot.name  # type: ignore[union-attr]
        for side in (battle.left, battle.right)
    ]


async def test_a_worker_talks_with_two_bots_and_votes_until_the_end(rex: User, open_arena: Open) -> None:
    study = await sync_to_async(make_arena)(rex)
    person = await sync_to_async(come)(study)
    tab, other = await open_arena(person), await open_arena(person)
    state = await tab.until(lambda frame: frame["battle"] == 1)
    assert (state["may_send"], state["may_vote"], state["turns"]) == (True, False, [])

    await tab.send(type="vote", battle=1, ask=0, answers={"better": "first"})
    assert (await tab.receive("refused"))["reason"] == "vote_early"
    await say(tab, 1)
    state = await tab.until(is_ready)
    battle = await Battle.objects.select_related("left", "right").aget()
    sides = await sync_to_async(names_of)(battle)
    assert [each["text"] for each in state["turns"][0]["replies"]] == [f"I am {name}." for name in sides]
    assert (await other.until(is_ready))["turns"] == state["turns"]
    assert state["may_vote"]

    for wrong, reason in ({"better": "neither"}, "not_a_choice"), ({}, "missing"):
        await tab.send(type="vote", battle=1, ask=0, answers=wrong)
        refused = await tab.receive("refused")
        assert refused["say"], (refused, reason)
    await tab.send(type="vote", battle=1, ask=7, answers={"better": "first"})
    assert (await tab.receive("refused"))["reason"] == "no_such_ask"
    for _ in range(2):  # sent again after a lost connection
        await tab.send(type="vote", battle=1, ask=0, answers={"better": "second"})
    state = await tab.until(lambda frame: frame["battle"] == 2)
    assert (state["turns"], state["progress"]["done"]) == ([], 1)
    label = await Label.objects.aget()
    assert label.answers == {"better": "second"}

    await say(tab, 1)
    assert (await tab.receive("refused"))["reason"] == "battle_over"
    for turns in (1, 2):
        await say(tab, 2)
        state = await tab.until(lambda frame, turns=turns: len(frame["turns"]) == turns and is_ready(frame))
    assert (state["may_send"], state["is_full"]) == (False, True)
    await tab.send(type="finish")
    assert (await tab.receive("refused"))["reason"] == "unvoted"
    await tab.send(type="vote", battle=2, ask=0, answers={"better": "tied"})
    await tab.until(lambda frame: frame["battle"] is None)
    await tab.send(type="finish")
    state = await tab.until(lambda frame: frame["finished"])
    assert (await Assignment.objects.aget()).outcome == Outcome.COMPLETE
    assert await Dialogue.objects.filter(ending="complete").acount() == 4

    def judged() -> Any:
        ask = study.work_asks[0]
        return judged_pairs(study, ask)

    found = await sync_to_async(judged)()
    assert [found.judged.bot[0], found.other[0]] == [name.title() for name in sides]
    assert found.items_of_pairs == {"Ann against Bob": 2}


async def test_a_failed_bot_costs_neither_the_other_reply_nor_pay(rex: User, open_arena: Open) -> None:
    fails = {"replies": ["x"], "fail_on": [1]}
    study = await sync_to_async(make_arena)(rex, scripts={"bob": fails}, each=1)
    person = await sync_to_async(come)(study)
    tab = await open_arena(person)
    await say(tab, 1)
    for attempt in (1, 2, 3):
        state = await tab.until(lambda frame: frame.get("fault"))
        assert state["turns"][0]["replies"] is None  # the reply that is there does not tell which bot failed
        assert state["fault"]["may_give_up"] is (attempt == 3)
        if attempt == 1:
            await tab.send(type="give_up", battle=1)
            assert (await tab.receive("refused"))["reason"] == "may_not_give_up"
        if attempt < 3:
            await tab.send(type="retry", battle=1)
    assert await Turn.objects.filter(text="I am ann.").acount() == 1
    await tab.send(type="give_up", battle=1)
    await tab.until(lambda frame: frame["battle"] is None)
    await tab.send(type="finish")
    await tab.until(lambda frame: frame["finished"])
    assert (await Assignment.objects.aget()).outcome == Outcome.COMPLETE
    assert not await Label.objects.aexists()


async def test_a_withdrawal_removes_both_sides(rex: User, open_arena: Open) -> None:
    study = await sync_to_async(make_arena)(rex)
    person = await sync_to_async(come)(study)
    tab = await open_arena(person)
    await say(tab, 1, "My secret.")
    await tab.until(is_ready)
    await tab.send(type="vote", battle=1, ask=0, answers={"better": "first"})
    await tab.until(lambda frame: frame["battle"] == 2)

    stored = await sync_to_async(stored_data_of)(person)
    assert [talk["turns"][0]["text"] for talk in stored["side_by_side"][:2]] == ["My secret."] * 2
    await sync_to_async(withdraw)(person.pk)

    assert not await Turn.objects.aexists()
    assert not await sync_to_async(lambda: list(sides_of(person)))()
    assert not await Label.objects.aexists()
    state = await Study.objects.aget(pk=study.pk)
    assert state.results_version > study.results_version
