"""A collection as Topical-Chat's through the sockets: pairs annotate while the partner writes, some leave."""

import asyncio
from collections import Counter
from collections.abc import Mapping
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.utils import timezone

from tests.conftest import MakeMeeting, OpenTab, Tab
from tests.knowledge.bases import base_file, make_base
from tests.tasks.two_people.conftest import come
from turnwise.accounts.models import User
from turnwise.dialogues.models import Dialogue, Seat, Turn
from turnwise.dialogues.services import SeatOccupant, create_dialogue
from turnwise.labels.models import Label
from turnwise.studies.asks import About, AskSpec, Moment
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

ASKS = [
    AskSpec("topical-chat-own", About.OWN_TURN, Moment.WAITING),
    AskSpec("topical-chat-partner", About.PARTNER_TURN, Moment.WAITING),
    AskSpec("topical-chat-conversation", About.DIALOGUE, Moment.AT_END),
]
OWN = {"sentiment": "Happy", "source": ["FS1"]}


@sync_to_async
def study_of(make_meeting: MakeMeeting, owner: User) -> Study:
    known = make_base(owner, base_file(entities=4, articles=25))  # places for all that are wanted
    return make_meeting(asks=ASKS, knowledge=known, min_turns=4, max_turns=8)


@sync_to_async
def seat(study: Study) -> list[Seat]:
    first, second = (SeatOccupant(assignment=come(study)) for _ in range(2))
    dialogue = create_dialogue(study, first, second, now=timezone.now())
    return list(dialogue.seats.order_by("number").select_related("worker", "dialogue"))


async def answer(tab: Tab, ask: int, position: int | None, answers: Mapping[str, object]) -> None:
    await tab.send(type="label", ask=ask, position=position, answers=answers)
    await tab.receive("label_saved")


async def converse(two: list[Tab], turns: int, *, whole: bool) -> None:
    """The partner has each message before anybody annotates it, and answers whatever the other still owes."""
    for number in range(turns):
        speaker, listener = two[number % 2], two[1 - number % 2]
        await speaker.send(type="turn", key=str(uuid4()), text=f"Message {number}")
        await listener.receive("partner_turn")
        if number:  # one turn late: nobody is held up by it
            await answer(listener, 0, number - 1, OWN)
            await answer(speaker, 1, number - 1, {"quality": 4})
    last = turns - 1
    await answer(two[last % 2], 0, last, OWN)
    await answer(two[1 - last % 2], 1, last, {"quality": 5})
    if whole:
        for tab in two:
            await answer(tab, 2, None, {"quality": 3})
            await tab.send(type="finish")
            while not (await tab.receive("state"))["finished"]:
                pass


async def test_every_count_of_a_collection_is_exact(
    make_meeting: MakeMeeting, open_tab: OpenTab, rex: User
) -> None:
    study = await study_of(make_meeting, rex)
    pairs = []
    for _ in range(4):
        tabs = []
        for each in await seat(study):
            tabs.append(await open_tab(each.dialogue, worker=each.worker))
            await tabs[-1].receive("partner")
        pairs.append(tabs)

    # Three conversations of four turns; of the fourth one leaves after two.
    await asyncio.gather(
        *(converse(two, 4, whole=True) for two in pairs[:3]), converse(pairs[3], 2, whole=False)
    )

    @sync_to_async
    def counted() -> dict[str, int]:
        found = Counter(Label.objects.values_list("question_set", flat=True))
        finished = Dialogue.objects.filter(ending="complete").count()
        return {"finished": finished, "turns": Turn.objects.count(), **found}

    assert await counted() == {
        "finished": 3,
        "turns": 3 * 4 + 2,
        "topical-chat-own": 3 * 4 + 2,
        "topical-chat-partner": 3 * 4 + 2,
        "topical-chat-conversation": 3 * 2,
    }


async def test_an_annotation_with_a_hidden_source_is_refused(
    make_meeting: MakeMeeting, open_tab: OpenTab, rex: User
) -> None:
    @sync_to_async
    def without_articles() -> Study:
        known = make_base(rex, base_file(articles=25, configurations="C"))
        return make_meeting(asks=ASKS, knowledge=known, min_turns=4, max_turns=8)

    first, second = [
        await open_tab(each.dialogue, worker=each.worker) for each in await seat(await without_articles())
    ]
    await first.send(type="turn", key=str(uuid4()), text="Hello")
    await second.receive("partner_turn")

    await first.send(type="label", ask=0, position=0, answers=OWN | {"source": ["FS1", "AS1"]})
    refused = await first.receive("refused")
    assert (refused["reason"], "You were not shown AS1" in refused["say"]) == ("not_shown", True)
    await answer(first, 0, 0, OWN)

    assert [each.answers async for each in Label.objects.all()] == [OWN]
