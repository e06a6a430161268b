"""Steps that share a batch share its commit, and nothing else: each succeeds, fails or waits for itself."""

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import uuid4

import psycopg2
import pytest
from asgiref.sync import sync_to_async
from django.db import IntegrityError, connection, connections

from chatbots.replies import Response
from tests.conftest import MakeStudy, start_dialogue, worker_of
from tests.live.conftest import query, until_a_batch_waits_for_a_row
from turnwise.bots.hosting.client import Reply
from turnwise.bots.models import Bot
from turnwise.bots.services import version_of
from turnwise.dialogues.models import Turn
from turnwise.dialogues.queries import seat_of
from turnwise.dialogues.seat_context import SeatContext
from turnwise.dialogues.services import close_exchange, open_exchange
from turnwise.labels.models import Label
from turnwise.labels.services import record
from turnwise.live.frames import RefusedError
from turnwise.live.sockets import batches
from turnwise.studies.asks import Moment

pytestmark = pytest.mark.django_db(transaction=True)

Places = Callable[[int], list[SeatContext]]
GENERIC = {"sensible": True, "specific": False}
SPECIFIC = {"sensible": True, "specific": True}


@pytest.fixture
def places(make_study: MakeStudy) -> Places:
    """New dialogues, each with its opening; the worker may go on without a label."""
    study = make_study(moment=Moment.BEFORE_FINISH)

    def begin(number: int) -> list[SeatContext]:
        dialogues = [start_dialogue(study) for _ in range(number)]
        return [seat_of(dialogue.public_id, worker_of(dialogue).pk) for dialogue in dialogues]

    return begin


@pytest.fixture
def three(places: Places) -> list[SeatContext]:
    return places(3)


@pytest.fixture
async def version(bot: Bot) -> int:
    return (await sync_to_async(version_of)(bot, {"code": "test"})).pk


def reply(version: int) -> Reply:
    return Reply(Response("Go on."), version, latency_ms=1, seed=None)


def say(seat: SeatContext, text: str = "Hello") -> asyncio.Task[Any]:
    return asyncio.create_task(open_exchange(seat, text=text, key=uuid4()))


async def turns_of(seat: SeatContext) -> list[str]:
    turns = Turn.objects.filter(dialogue_id=seat.dialogue_id).order_by("position")
    return [text async for text in turns.values_list("text", flat=True)]


@contextmanager
def row_held(seat: SeatContext) -> Iterator[None]:
    """Somebody else holds the row of this dialogue."""
    parameters = connections["default"].get_connection_params()
    other = psycopg2.connect(**parameters)
    with other.cursor() as cursor:
        cursor.execute("SELECT FROM dialogues_dialogue WHERE id = %s FOR UPDATE", (seat.dialogue_id,))
        yield
    other.close()


async def test_steps_that_wait_at_the_same_moment_share_a_commit(
    places: Places, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "LARGEST_BATCH", 8)
    twenty = await sync_to_async(places)(20)

    exchanges = await asyncio.gather(*(say(seat, f"From {seat.dialogue_id}") for seat in twenty))

    assert [e.human_turn.text for e in exchanges] == [f"From {seat.dialogue_id}" for seat in twenty]
    assert [e.context.turns[-1].text for e in exchanges] == [e.human_turn.text for e in exchanges]
    transactions = await query("SELECT count(*) FROM dialogues_turn WHERE position = 1 GROUP BY xmin::text")
    assert sorted(transactions) == [4, 8, 8]


@pytest.fixture
def on_disk() -> Iterator[None]:
    """New connections wait for the disk, as they do in an installation."""
    with connection.cursor() as cursor:
        name = connection.ops.quote_name(connection.settings_dict["NAME"])
        cursor.execute(f"ALTER DATABASE {name} SET synchronous_commit = on")
        yield
        cursor.execute(f"ALTER DATABASE {name} RESET synchronous_commit")


@pytest.mark.usefixtures("on_disk")
async def test_only_a_step_that_need_not_outlive_a_crash_is_reported_before_it_is_on_disk() -> None:
    read = {"setting": "text"}
    for_good = batches.BatchedStep("current_setting", read)
    for_now = batches.BatchedStep("current_setting", read, is_durable=False)

    assert await for_good.row(setting="synchronous_commit") == ("on",)
    assert await for_now.row(setting="synchronous_commit") == ("off",)


async def test_a_step_that_fails_takes_no_other_with_it(
    three: list[SeatContext], version: int, caplog: pytest.LogCaptureFixture
) -> None:
    for seat in three:
        await say(seat)

    with caplog.at_level(logging.WARNING):
        outcomes = await asyncio.gather(
            *(
                close_exchange(seat, position=2, reply=reply(each))
                for seat, each in zip(three, (version, -1, version), strict=True)
            ),
            return_exceptions=True,
        )

    assert "A batch of 3 steps" in caplog.text
    assert isinstance(outcomes[1], IntegrityError)
    assert [await turns_of(seat) for seat in three] == [
        ["Hi!", "Hello", "Go on."],
        ["Hi!", "Hello"],
        ["Hi!", "Hello", "Go on."],
    ]


async def test_two_messages_of_one_dialogue_in_a_batch_leave_one(three: list[SeatContext]) -> None:
    outcomes = await asyncio.gather(say(three[0], "One"), say(three[0], "Two"), return_exceptions=True)

    assert isinstance(outcomes[1], RefusedError)
    assert outcomes[1].reason == "not_your_turn"
    assert await turns_of(three[0]) == ["Hi!", "One"]


async def test_a_message_that_is_twice_in_a_batch_is_saved_once(three: list[SeatContext]) -> None:
    key = uuid4()

    one, two = await asyncio.gather(*(open_exchange(three[0], text="Twice", key=key) for _ in range(2)))

    assert one.human_turn == two.human_turn
    assert await turns_of(three[0]) == ["Hi!", "Twice"]


async def test_labels_of_one_turn_in_a_batch_take_effect_in_their_order(
    three: list[SeatContext], version: int
) -> None:
    for seat in three:
        await say(seat)
        await close_exchange(seat, position=2, reply=reply(version))
    at_once = [(seat, answers) for answers in (GENERIC, SPECIFIC) for seat in reversed(three)]

    await asyncio.gather(*(record(seat, position=2, answers=answers) for seat, answers in at_once))

    assert [(label.answers, label.changes) async for label in Label.objects.all()] == [(SPECIFIC, 1)] * 3


async def test_batches_of_different_steps_never_wait_for_each_other_in_a_circle(
    places: Places, version: int, caplog: pytest.LogCaptureFixture
) -> None:
    twenty = await sync_to_async(places)(20)
    await asyncio.gather(*(say(seat) for seat in twenty))
    await asyncio.gather(*(close_exchange(seat, position=2, reply=reply(version)) for seat in twenty))

    with caplog.at_level(logging.WARNING):
        for position in range(4, 24, 2):
            await asyncio.gather(
                *(record(seat, position=2, answers=SPECIFIC) for seat in twenty),
                *(say(seat, "On") for seat in reversed(twenty)),
            )
            await asyncio.gather(
                *(close_exchange(seat, position=position, reply=reply(version)) for seat in twenty),
                *(record(seat, position=2, answers=GENERIC) for seat in reversed(twenty)),
            )

    assert not caplog.records
    assert [label.changes async for label in Label.objects.all()] == [19] * 20


async def test_who_waits_for_a_held_row_holds_up_nobody_else(three: list[SeatContext]) -> None:
    with row_held(three[0]):
        held = say(three[0])

        async with asyncio.timeout(120):
            await asyncio.gather(say(three[1]), say(three[2]))
        assert not held.done()
    await held

    assert [await turns_of(seat) for seat in three] == [["Hi!", "Hello"]] * 3


async def test_a_line_lost_in_the_middle_of_a_batch_loses_and_doubles_nothing(
    three: list[SeatContext],
) -> None:
    with row_held(three[1]):
        under_way = [say(seat) for seat in three]
        await query("SELECT pg_terminate_backend(%s)", await until_a_batch_waits_for_a_row())
    exchanges = await asyncio.gather(*under_way)

    assert [e.human_turn.position for e in exchanges] == [1, 1, 1]
    assert [await turns_of(seat) for seat in three] == [["Hi!", "Hello"]] * 3


async def test_lines_lost_between_two_batches_go_unnoticed(three: list[SeatContext], version: int) -> None:
    await asyncio.gather(*(say(seat) for seat in three))
    await query(
        "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE query LIKE 'EXECUTE step%%'"
    )

    await asyncio.gather(*(close_exchange(seat, position=2, reply=reply(version)) for seat in three))
    await asyncio.gather(*(record(seat, position=2, answers=GENERIC) for seat in three))
    await asyncio.gather(*(say(seat, "And?") for seat in three))

    assert [await turns_of(seat) for seat in three] == [["Hi!", "Hello", "Go on.", "And?"]] * 3


async def test_a_caller_who_leaves_takes_only_their_own_step_along(three: list[SeatContext]) -> None:
    await say(three[2])  # the connection is there
    with row_held(three[0]):
        under_way = say(three[0])
        await until_a_batch_waits_for_a_row()
        waiting, leaves = say(three[1]), say(three[1], "Never sent")
        await asyncio.sleep(0)
        under_way.cancel()
        leaves.cancel()
    exchange = await waiting

    assert exchange.human_turn.text == "Hello"
    assert await turns_of(three[1]) == ["Hi!", "Hello"]


def test_connections_end_with_their_event_loop(places: Places) -> None:
    for seat in places(4):
        asyncio.run(open_exchange(seat, text="Hello", key=uuid4()))

    with connection.cursor() as cursor:
        open_ones = 4
        while open_ones > 1:  # the server needs a moment to notice that one was closed
            cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE query LIKE 'EXECUTE step%'")
            open_ones = cursor.fetchone()[0]
        batches.close_connections()
        cursor.execute("SELECT count(*) FROM dialogues_turn WHERE position = 1")
        assert (open_ones, cursor.fetchone()[0]) == (1, 4)


async def test_a_slice_whose_callers_all_left_holds_up_nobody_behind_it(
    three: list[SeatContext], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batches, "LARGEST_BATCH", 2)
    leaving = [say(three[0]), say(three[1])]
    behind = say(three[2])
    await asyncio.sleep(0)  # all three are in the queue, and none of them has been sent
    for caller in leaving:
        caller.cancel()

    async with asyncio.timeout(120):
        exchange = await behind

    assert exchange.human_turn.text == "Hello"
    assert [await turns_of(seat) for seat in three] == [["Hi!"], ["Hi!"], ["Hi!", "Hello"]]
