"""Labels through the real statement: what is stored, what is refused, and two tabs at once."""

import asyncio
from uuid import uuid4

import pytest
from asgiref.sync import sync_to_async
from django.db import IntegrityError, transaction

from chatbots.replies import Response
from evaluation.questions import question_set
from tests.conftest import MakeStudy, start_dialogue, worker_of
from tests.planted import bot_of
from tests.rewriting import rewriting
from turnwise.bots.hosting.client import Reply
from turnwise.bots.models import Bot
from turnwise.bots.services import version_of
from turnwise.dialogues.models import Dialogue
from turnwise.dialogues.queries import seat_of
from turnwise.dialogues.seat_context import SeatContext
from turnwise.dialogues.services import close_exchange, open_exchange
from turnwise.labels.models import Label
from turnwise.labels.services import record
from turnwise.live.frames import RefusedError
from turnwise.studies.asks import About, AskSpec, Moment, Party

GENERIC = {"sensible": True, "specific": False}
SPECIFIC = {"sensible": True, "specific": True}


pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
async def seat(dialogue: Dialogue, bot: Bot) -> SeatContext:
    """A dialogue of three turns: 0 the opening, 1 the worker's, 2 the bot's."""

    @sync_to_async
    def read() -> tuple[SeatContext, int]:
        worker = worker_of(dialogue)
        return seat_of(dialogue.public_id, worker.pk), version_of(bot, {"code": "test"}).pk

    seated, version = await read()
    position = (await open_exchange(seated, text="Hello", key=uuid4())).progress.turns
    await close_exchange(
        seated, position=position, reply=Reply(Response("Go on."), version, latency_ms=1, seed=None)
    )
    return seated


async def the_label() -> Label:
    return await Label.objects.select_related("turn").aget()


async def test_a_label_is_stored_and_its_turn_no_longer_waits(seat: SeatContext) -> None:
    answers, progress = await record(seat, position=2, answers=GENERIC)

    label = await the_label()
    assert (answers, label.answers, label.changes) == (GENERIC, GENERIC, 0)
    assert (label.rater_id, label.turn.position, label.question_set) == (seat.worker_id, 2, "ssa")
    assert (progress.unlabelled, progress.labelled, progress.replies) == ((), 1, 1)


async def test_a_changed_label_replaces_the_first_and_is_counted(seat: SeatContext) -> None:
    await record(seat, position=2, answers=GENERIC)
    created_at = (await the_label()).created_at

    await record(seat, position=2, answers=SPECIFIC)

    label = await the_label()
    assert (label.answers, label.changes, label.created_at) == (SPECIFIC, 1, created_at)
    assert label.changed_at > created_at


async def test_a_label_sent_again_changes_nothing(seat: SeatContext) -> None:
    await record(seat, position=2, answers=GENERIC)
    changed_at = (await the_label()).changed_at

    await record(seat, position=2, answers=GENERIC)

    label = await the_label()
    assert (label.changes, label.changed_at) == (0, changed_at)


@pytest.mark.parametrize(
    ("position", "reason"),
    [
        (0, "not_to_label"),
        (1, "not_to_label"),
        (3, "unknown_turn"),
        (-1, "unknown_turn"),
        (10**9, "unknown_turn"),
    ],
)
async def test_only_the_bots_counted_turns_are_labelled(
    seat: SeatContext, position: int, reason: str
) -> None:
    with pytest.raises(RefusedError, match=reason):
        await record(seat, position=position, answers=GENERIC)

    assert not await Label.objects.aexists()
    assert (await Dialogue.objects.aget()).due_1 == [32 * 2]


@pytest.mark.parametrize("wrong", ["of another study", "with other questions", "none", "of an outside rater"])
async def test_the_database_holds_a_label_to_an_ask_of_its_study(
    seat: SeatContext, make_study: MakeStudy, wrong: str
) -> None:
    await record(seat, position=2, answers=GENERIC)

    @sync_to_async
    def change() -> None:
        label = Label.objects.get()
        if wrong == "of another study":
            label.ask = make_study({"other": 1}).asks.get()
        elif wrong == "with other questions":
            label.question_set = "likert"
        elif wrong == "none":
            label.ask = None
        else:
            label.party = Party.OUTSIDE
        with transaction.atomic(), rewriting():
            label.save()

    with pytest.raises(IntegrityError, match="label_answers_an_ask"):
        await change()


async def test_the_same_questions_about_own_and_others_turns_are_two_labels_of_a_turn(
    seat: SeatContext, make_study: MakeStudy
) -> None:
    """What makes a label another one is its ask, not its questions."""
    await record(seat, position=2, answers=GENERIC)

    @sync_to_async
    def twice() -> int:
        first = Label.objects.get()
        other = first.ask.study.asks.create(
            number=1, question_set="ssa", about=About.OWN_TURN, by="talkers", moment=Moment.WAITING
        )
        Label.objects.create(
            **{
                f.name: getattr(first, f.name)
                for f in Label._meta.concrete_fields
                if f.name not in ("id", "ask")
            },
            ask=other,
        )
        with pytest.raises(IntegrityError, match="label_of_turn_once_per_rater"), transaction.atomic():
            Label.objects.create(
                **{f.name: getattr(first, f.name) for f in Label._meta.concrete_fields if f.name != "id"}
            )
        return Label.objects.count()

    assert await twice() == 2


async def test_many_labels_of_one_turn_at_once_leave_one(seat: SeatContext) -> None:
    given = [SPECIFIC if number % 2 else GENERIC for number in range(24)]

    await asyncio.gather(*(record(seat, position=2, answers=answers) for answers in given))

    assert (await the_label()).changes == 23
    assert (await Dialogue.objects.aget()).due_1 == []


async def test_what_is_asked_is_due_until_it_is_answered(make_study: MakeStudy) -> None:
    asks = [
        AskSpec("ssa", About.PARTNER_TURN, Moment.EACH_TURN),
        AskSpec("ssa", About.OWN_TURN, Moment.WAITING),
        AskSpec("likert", About.DIALOGUE, Moment.AT_END),
    ]

    @sync_to_async
    def begin() -> tuple[SeatContext, int]:
        dialogue = start_dialogue(make_study(asks=asks))
        version = version_of(bot_of(dialogue), {"code": "test"})
        return seat_of(dialogue.public_id, worker_of(dialogue).pk), version.pk

    async def due() -> list[int]:
        return list(await Dialogue.objects.values_list("due_1", flat=True).aget())

    seated, version = await begin()
    position = (await open_exchange(seated, text="Hello", key=uuid4())).progress.turns
    reply = Reply(Response("Go on."), version, latency_ms=1, seed=None)
    await close_exchange(seated, position=position, reply=reply)
    before = await due()
    ratings = {each.key: 3 for each in question_set("likert").questions if each.required}
    await record(seated, position=2, ask=0, answers=GENERIC)
    await record(seated, position=1, ask=1, answers=GENERIC)
    await record(seated, position=None, ask=2, answers=ratings)
    assert (len(before), await due()) == (3, [])
    stored = Label.objects.order_by("ask__number").values_list("ask__number", "ask__about", "turn__position")
    assert [each async for each in stored] == [
        (0, "partner_turn", 2),
        (1, "own_turn", 1),
        (2, "dialogue", None),
    ]
