"""Many raters at once, some of whom crash or walk away: every item ends with exactly the wanted labels."""

import random
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from django.db import OperationalError, connection, transaction

from tests.conftest import MakeQueue, enter
from tests.desks import begin
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.judging.models import JudgingPlan, Slot
from turnwise.judging.queue import services as judging
from turnwise.judging.queue.rater_session import RaterSession
from turnwise.labels.models import Label
from turnwise.live.frames import RefusedError
from turnwise.studies.models import Study

RATERS, ITEMS, K = 12, 60, 5


class PowerCutError(Exception):
    """Stands for a process that dies before it commits."""


@pytest.fixture
def crowded(transactional_db: None, make_queue: MakeQueue) -> Study:
    study = make_queue(ITEMS, raters=K, batch=ITEMS)
    # Abandoned work must come back within the test.
    JudgingPlan.objects.filter(study=study).update(lease_seconds=1)
    return study


def judge_one(desk: RaterSession, rng: random.Random) -> bool:
    """Judge one of the items before this worker; False if there is none."""
    items = judging.state(desk)["items"]
    if not items:
        return False
    judging.judge(desk, key=UUID(rng.choice(items)["key"]), answers={"sensible": False})
    return True


def honest(desk: RaterSession, rng: random.Random) -> bool:
    return judge_one(desk, rng)


def sends_twice(desk: RaterSession, rng: random.Random) -> bool:
    """Two tabs send the same judgment at the same time."""
    items = judging.state(desk)["items"]
    if items:
        with ThreadPoolExecutor(2) as tabs:
            list(tabs.map(lambda key: in_own_connection(desk, key), [items[0]["key"]] * 2))
    return bool(items)


def in_own_connection(desk: RaterSession, key: str) -> None:
    try:
        judging.judge(desk, key=UUID(key), answers={"sensible": False})
    finally:
        connection.close()


def crashes(desk: RaterSession, rng: random.Random) -> bool:
    """Now and then the process dies before its commit, or the connection is cut in the middle."""
    kind = rng.random()
    try:
        with transaction.atomic():
            goes_on = judge_one(desk, rng)
            if kind < 0.2:
                raise PowerCutError
            if kind < 0.4:
                with connection.cursor() as cursor:
                    cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    except (PowerCutError, OperationalError):
        connection.close()
        return True
    return goes_on


def walks_away(desk: RaterSession, rng: random.Random) -> bool:
    """Holds items, judges some, and never comes back."""
    return judge_one(desk, rng) and rng.random() > 0.2


Habit = Callable[[RaterSession, random.Random], bool]


def tries(habit: Habit, desk: RaterSession, rng: random.Random) -> bool:
    """A refusal because the item went to somebody else is no reason to stop; any other is a fault."""
    try:
        return habit(desk, rng)
    except RefusedError as refusal:
        if refusal.reason != "given_away":
            raise
        return True


def work(study: Study, habit: Habit, seed: int, together: threading.Barrier | None = None) -> None:
    """One rater from consent to the last item."""
    rng = random.Random(seed)
    try:
        desk = begin(study, enter(study))
        if together:
            together.wait(timeout=30)
        goes_on = True
        while goes_on:
            goes_on = tries(habit, desk, rng)
    except EntryRefusedError:
        pass
    finally:
        connection.close()


def test_no_item_gets_a_label_more_or_less(crowded: Study) -> None:
    habits = [honest, sends_twice, crashes, walks_away] * (RATERS // 4)
    together = threading.Barrier(RATERS)
    with ThreadPoolExecutor(RATERS) as raters:
        runs = [raters.submit(work, crowded, habit, seed, together) for seed, habit in enumerate(habits)]
        for run in runs:
            run.result()
    Slot.objects.filter(study=crowded, label=None).update(leased_until=None)
    for seed in range(K):  # whoever comes later finds what the others left behind
        work(crowded, honest, seed)

    assert set(Counter(Label.objects.values_list("response", flat=True)).values()) == {K}
    assert Label.objects.count() == ITEMS * K
    assert Slot.objects.filter(study=crowded, label__isnull=False).count() == ITEMS * K
