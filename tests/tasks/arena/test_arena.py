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
from turnwise.labels.models import Label, Pair
from turnwise.privacy.stored_data import stored_data_of
from turnwise.privacy.withdrawal import withdraw
from turnwise.studies.models import ReplyDisplay, Study
from turnwise.tasks.arena import battles
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

    await tab.send(type="vote", battle=1, exchange=1, ask=0, answers={"better": "first"})
    assert (await tab.receive("refused"))["reason"] == "vote_early"
    await say(tab, 1)
    state = await tab.until(is_ready)
    battle = await Battle.objects.select_related("left", "right").aget()
    sides = await sync_to_async(names_of)(battle)
    assert [each["text"] for each in state["turns"][0]["replies"]] == [f"I am {name}." for name in sides]
    assert (await other.until(is_ready))["turns"] == state["turns"]
    assert state["may_vote"]

    for wrong, reason in ({"better": "neither"}, "not_a_choice"), ({}, "missing"):
        await tab.send(type="vote", battle=1, exchange=1, ask=0, answers=wrong)
        refused = await tab.receive("refused")
        assert refused["say"], (refused, reason)
    await tab.send(type="vote", battle=1, exchange=1, ask=7, answers={"better": "first"})
    assert (await tab.receive("refused"))["reason"] == "no_such_ask"
    for _ in range(2):  # sent again after a lost connection
        await tab.send(type="vote", battle=1, exchange=1, ask=0, answers={"better": "second"})
    state = await tab.until(lambda frame: frame["battle"] == 2)
    assert (state["turns"], state["progress"]["done"]) == ([], 1)
    await tab.send(type="vote", battle=1, exchange=1, ask=0, answers={"better": "first"})
    refused = await tab.receive("refused")
    assert (refused["reason"], refused["battle"], refused["ask"]) == ("voted_otherwise", 1, 0)
    assert "already voted in this comparison: “Second”." in refused["say"]
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
    await tab.send(type="vote", battle=2, exchange=2, ask=0, answers={"better": "tied"})
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


async def test_people_vote_after_each_message_and_go_on_or_begin_anew(rex: User, open_arena: Open) -> None:
    study = await sync_to_async(make_arena)(rex, votes_each=True, max_turns=6)
    person = await sync_to_async(come)(study)
    tab, other = await open_arena(person), await open_arena(person)
    await say(tab, 1)
    state = await tab.until(is_ready)
    assert (state["exchange"], state["may_vote"], state["may_send"], state["may_begin_anew"]) == (
        1,
        True,
        False,
        False,
    )
    await say(tab, 1, "Before the vote")
    assert (await tab.receive("refused"))["reason"] == "label_first"
    await tab.send(type="anew", battle=1)
    assert (await tab.receive("refused"))["reason"] == "unvoted"

    for _ in range(2):  # sent again after a lost connection
        await tab.send(type="vote", battle=1, exchange=1, ask=0, answers={"better": "first"})
    state = await other.until(lambda frame: frame["may_begin_anew"])
    assert (state["battle"], state["may_vote"], state["may_send"]) == (1, False, True)
    await say(tab, 1, "More")
    state = await tab.until(lambda frame: frame["exchange"] == 2 and frame["may_vote"])
    assert state["annotations"] == [{"battle": 1, "exchange": 1, "ask": 0, "answers": {"better": "first"}}]
    await tab.send(type="vote", battle=1, exchange=1, ask=0, answers={"better": "second"})
    assert (await tab.receive("refused"))["reason"] == "voted_otherwise"
    await tab.send(type="vote", battle=1, exchange=3, ask=0, answers={"better": "second"})
    assert (await tab.receive("refused"))["reason"] == "moved_on"
    await tab.send(type="vote", battle=1, exchange=2, ask=0, answers={"better": "second"})
    await tab.until(lambda frame: frame["may_begin_anew"])
    await tab.send(type="finish")
    assert (await tab.receive("refused"))["reason"] == "unvoted"
    for _ in range(2):
        await tab.send(type="anew", battle=1)
    state = await tab.until(lambda frame: frame["battle"] == 2)
    assert (state["exchange"], state["progress"]["done"]) == (0, 1)

    for messages in (1, 2, 3):  # with the last message the battle ends by its vote
        await say(tab, 2)
        await tab.until(lambda frame, messages=messages: frame["exchange"] == messages and frame["may_vote"])
        await tab.send(type="vote", battle=2, exchange=messages, ask=0, answers={"better": "tied"})
        if messages < 3:
            await tab.until(lambda frame: frame["may_begin_anew"])
    await tab.until(lambda frame: frame["battle"] is None)
    await tab.send(type="finish")
    await tab.until(lambda frame: frame["finished"])

    def judged() -> Any:
        return judged_pairs(study, study.work_asks[0])

    found = await sync_to_async(judged)()
    assert found.words.tolist() == [[n * each for each in found.words[0]] for n in (1, 2, 1, 2, 3)]
    assert [len(set(ids)) for ids in (found.judged.dialogue, found.judged.rater)] == [2, 1]
    assert (found.items_of_pairs, found.clusters_of_pairs) == ({"Ann against Bob": 5}, {"Ann against Bob": 2})
    turns = [turns async for turns in Pair.objects.order_by("pk").values_list("turns", flat=True)]
    assert turns == [2, 4, 2, 4, 6]


async def test_votes_stay_if_a_bot_fails_later(rex: User, open_arena: Open) -> None:
    fails = {"replies": ["x"], "fail_on": [2]}
    study = await sync_to_async(make_arena)(rex, scripts={"bob": fails}, each=1, votes_each=True)
    person = await sync_to_async(come)(study)
    tab = await open_arena(person)
    await say(tab, 1)
    await tab.until(is_ready)
    await tab.send(type="vote", battle=1, exchange=1, ask=0, answers={"better": "first"})
    await tab.until(lambda frame: frame["may_begin_anew"])
    await say(tab, 1)
    for failures in (1, 2, 3):
        await tab.until(lambda frame, n=failures: (frame["fault"] or {}).get("failures") == n)
        await tab.send(type="retry" if failures < 3 else "give_up", battle=1)
    await tab.until(lambda frame: frame["battle"] is None)
    assert await sync_to_async(battles.voted_battles)(study) == 1
    assert await Label.objects.acount() == 1


async def test_a_failed_bot_costs_neither_the_other_reply_nor_pay(rex: User, open_arena: Open) -> None:
    fails = {"replies": ["x"], "fail_on": [1]}
    study = await sync_to_async(make_arena)(rex, scripts={"bob": fails}, each=1)
    person = await sync_to_async(come)(study)
    tab = await open_arena(person)
    await say(tab, 1)
    for attempt in (1, 2, 3):
        # A state may be sent more than once, so wait for this failure and not for any.
        state = await tab.until(
            lambda frame, attempt=attempt: (frame["fault"] or {}).get("failures") == attempt
        )
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
    await tab.send(type="vote", battle=1, exchange=1, ask=0, answers={"better": "first"})
    assert (await tab.receive("refused"))["reason"] == "battle_over"
    await tab.send(type="finish")
    await tab.until(lambda frame: frame["finished"])
    assert (await Assignment.objects.aget()).outcome == Outcome.COMPLETE
    assert not await Label.objects.aexists()


LONG = "One word follows another until all is said. " * 12
GROWING: dict[str, Any] = {"reply_display": ReplyDisplay.AS_IT_COMES, "each": 1}


async def test_replies_may_grow_side_by_side(rex: User, open_arena: Open) -> None:
    scripts = {"ann": {"replies": [LONG.strip()], "characters_per_second": 200}}
    study = await sync_to_async(make_arena)(rex, scripts=scripts, **GROWING)
    person = await sync_to_async(come)(study)
    tab = await open_arena(person)
    await say(tab, 1)

    texts: dict[int, str] = {}

    async def grow(until: int) -> int:
        """Put together what grows, up to so many characters of one side; return that side."""
        while True:
            frame = await tab.receive("bot_text")
            side, shown = frame["side"], texts.get(frame["side"], "")
            assert (frame["battle"], frame["offset"] <= len(shown)) == (1, True)
            texts[side] = shown[: frame["offset"]] + frame["text"]
            if len(texts[side]) >= until:
                return int(side)

    slow = await grow(50)
    late = await open_arena(person)  # in the middle of it: the quick reply is there, the slow one grows
    state = await late.until(lambda frame: frame["growing"])
    replies = state["turns"][0]["replies"]
    assert (replies[slow], replies[1 - slow]["text"]) == (None, "I am bob.")
    (growing,) = state["growing"]
    assert growing["side"] == slow
    assert LONG.startswith(growing["text"])
    assert (state["thinking"], state["may_vote"], state["may_send"]) == (True, False, False)

    assert await grow(400) == slow
    assert LONG.startswith(texts[slow])
    state = await tab.until(is_ready)
    assert {each["text"] for each in state["turns"][0]["replies"]} == {LONG.strip(), "I am bob."}
    assert (state["growing"], state["may_vote"]) == ([], True)


async def test_a_reply_that_has_grown_stays_when_the_other_bot_fails(rex: User, open_arena: Open) -> None:
    fails = {"replies": ["I am bob."], "fail_on": [1]}
    study = await sync_to_async(make_arena)(rex, scripts={"bob": fails}, **GROWING)
    tab = await open_arena(await sync_to_async(come)(study))
    await say(tab, 1)

    state = await tab.until(lambda frame: frame["fault"])

    shown = [each["text"] for each in state["turns"][0]["replies"] if each]
    assert shown == ["I am ann."]
    assert not state["may_vote"]


async def test_a_withdrawal_removes_both_sides(rex: User, open_arena: Open) -> None:
    study = await sync_to_async(make_arena)(rex)
    person = await sync_to_async(come)(study)
    tab = await open_arena(person)
    await say(tab, 1, "My secret.")
    await tab.until(is_ready)
    await tab.send(type="vote", battle=1, exchange=1, ask=0, answers={"better": "first"})
    await tab.until(lambda frame: frame["battle"] == 2)

    stored = await sync_to_async(stored_data_of)(person)
    assert [talk["turns"][0]["text"] for talk in stored["side_by_side"][:2]] == ["My secret."] * 2
    await sync_to_async(withdraw)(person.pk)

    assert not await Turn.objects.aexists()
    assert not await sync_to_async(lambda: list(sides_of(person)))()
    assert not await Label.objects.aexists()
    state = await Study.objects.aget(pk=study.pk)
    assert state.results_version > study.results_version
