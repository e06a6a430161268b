"""Judgments that come at the same moment share one commit, and nothing else."""

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID, uuid4

import psycopg2
import pytest
from asgiref.sync import sync_to_async
from django.db import connections

from tests.conftest import MakeQueue
from tests.desks import begin, held
from tests.live.conftest import query, until_a_batch_waits_for_a_row
from turnwise.judging.models import Slot
from turnwise.judging.queue import services as judging
from turnwise.judging.queue.rater_session import RaterSession, SavedJudgment
from turnwise.labels.models import Label
from turnwise.live.frames import RefusedError
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

YES = {"sensible": True, "specific": True}


@pytest.fixture
def queue(make_queue: MakeQueue) -> Study:
    return make_queue(12, raters=2, batch=12)


@pytest.fixture
def desks(queue: Study) -> list[RaterSession]:
    """Four raters, each with three items before them."""
    return [begin(queue) for _ in range(4)]


def judge(first: list[tuple[RaterSession, UUID]]) -> list[asyncio.Task[SavedJudgment]]:
    """Each of these raters judges this item."""
    return [asyncio.create_task(judging.judge_batched(desk, key=key, answers=YES)) for desk, key in first]


@pytest.fixture
def first(desks: list[RaterSession]) -> list[tuple[RaterSession, UUID]]:
    """Each rater with the first item before them."""
    return [(desk, UUID(held(desk)[0])) for desk in desks]


@sync_to_async
def before(desks: list[RaterSession]) -> list[list[str]]:
    return [held(desk) for desk in desks]


@contextmanager
def row_held(desk: RaterSession) -> Iterator[None]:
    """Somebody else holds the row of this rater's batch."""
    other = psycopg2.connect(**connections["default"].get_connection_params())
    with other.cursor() as cursor:
        cursor.execute("SELECT FROM judging_batch WHERE id = %s FOR UPDATE", (desk.batch_id,))
        yield
    other.close()


async def test_raters_who_judge_at_the_same_moment_share_a_commit(
    desks: list[RaterSession], first: list[tuple[RaterSession, UUID]]
) -> None:
    earlier = await before(desks)

    judged = await asyncio.gather(*judge(first))

    now = await before(desks)
    assert await query("SELECT count(*) FROM labels_label GROUP BY xmin::text") == [4]
    assert [each.progress for each in judged] == [{"done": 1, "size": 12, "may_finish": False}] * 4
    leased = [[item["key"] for item in each.leased] for each in judged]
    assert leased == [sorted(set(after) - set(keys)) for keys, after in zip(earlier, now, strict=True)]
    assert await Slot.objects.filter(batch__isnull=False).acount() == 4 * 4


async def test_a_missing_item_fails_only_for_its_rater(
    first: list[tuple[RaterSession, UUID]],
) -> None:
    unknown = UUID(bytes=b"\0" + uuid4().bytes[1:])  # names of items begin with the number of the ask
    gone = judging.judge_batched(first[1][0], key=unknown, answers=YES)

    came = await asyncio.gather(*judge(first), gone, return_exceptions=True)

    assert [isinstance(each, RefusedError) for each in came] == [False] * 4 + [True]
    assert await Label.objects.acount() == 4


async def test_a_step_that_waits_for_a_locked_row_delays_no_other(
    first: list[tuple[RaterSession, UUID]],
) -> None:
    with row_held(first[0][0]):
        held_up, *others = judge(first)
        async with asyncio.timeout(120):
            await asyncio.gather(*others)
        assert not held_up.done()
    await held_up

    assert await Label.objects.acount() == 4


async def test_a_connection_lost_in_the_middle_loses_and_doubles_nothing(
    first: list[tuple[RaterSession, UUID]],
) -> None:
    with row_held(first[1][0]):
        under_way = judge(first)
        await query("SELECT pg_terminate_backend(%s)", await until_a_batch_waits_for_a_row())
    judged = await asyncio.gather(*under_way)

    assert [each.progress["done"] for each in judged] == [1] * 4
    assert await Label.objects.acount() == 4


async def test_a_resent_frame_is_answered_with_all_leased_items(
    first: list[tuple[RaterSession, UUID]],
) -> None:
    """As after a line that was lost behind the commit: the page never heard what was leased to it."""
    await asyncio.gather(*judge(first[:1]))

    (again,) = await asyncio.gather(*judge(first[:1]))

    assert [[item["key"] for item in again.leased]] == await before([first[0][0]])
    assert (await Label.objects.aget()).changes == 0
