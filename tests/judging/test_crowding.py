"""Somebody without cookies who presses *Start* again and again does not hold all that is left to judge."""

from collections.abc import Callable
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client

from tests.conftest import MakeContexts, MakeQueue, MakeRun, enter
from tests.desks import begin, held
from turnwise.crowd.models import Participation
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.judging.items import subjects
from turnwise.judging.models import Battery
from turnwise.judging.queue import services as judging
from turnwise.judging.queue.rater_session import RaterSession
from turnwise.live.frames import RefusedError
from turnwise.studies.models import Study
from turnwise.studies.services import set_state

pytestmark = pytest.mark.django_db
YES = {"sensible": True, "specific": True}


def begin_from(study: Study, address: str) -> RaterSession:
    participation = enter(study)
    Participation.objects.filter(pk=participation.pk).update(address=address)
    return begin(study, participation)


def admits(study: Study) -> bool:
    return "agree to take part" in Client().get(study.get_entry_url()).content.decode()


def test_items_leased_beyond_the_address_limit_go_to_others_once_nothing_else_is_left(
    make_queue: MakeQueue,
) -> None:
    study = make_queue(15, raters=1, batch=10)
    crowd = [begin_from(study, "one") for _ in range(5)]  # three items each
    before = [held(desk) for desk in crowd]

    assert admits(study)
    desks = [begin_from(study, "another") for _ in range(2)]

    assert {key for desk in desks for key in held(desk)} == {*before[3], *before[4]}
    assert [held(desk) for desk in crowd[:3]] == before[:3]
    with pytest.raises(RefusedError) as refused:
        judging.judge(crowd[3], key=UUID(before[3][0]), answers=YES)
    assert refused.value.reason == "given_away"
    assert not admits(study)
    with pytest.raises(EntryRefusedError, match="Other people are already"):
        begin_from(study, "a third")


def test_while_other_items_are_left_no_worker_loses_a_lease(make_queue: MakeQueue) -> None:
    study = make_queue(18, raters=1, batch=10)
    crowd = [begin_from(study, "one") for _ in range(5)]
    before = [held(desk) for desk in crowd]

    begin_from(study, "another")

    assert [held(desk) for desk in crowd] == before


def test_workers_with_a_judgment_keep_their_leases(make_queue: MakeQueue) -> None:
    study = make_queue(14, raters=1, batch=10)
    crowd = [begin_from(study, "one") for _ in range(4)]
    judging.judge(crowd[3], key=UUID(held(crowd[3])[0]), answers=YES)
    before = held(crowd[3])

    desk = begin_from(study, "another")  # one is left

    assert len(held(desk)) == 1
    assert held(crowd[3]) == before


def times_asked(step: Callable[[], object]) -> int:
    """How often PostgreSQL asks in this step whether a batch is one too many of its address."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL track_functions = 'pl'")
        cursor.execute(_CALLS)
        (before,) = cursor.fetchone()
        step()
        cursor.execute(_CALLS)
        (after,) = cursor.fetchone()
    return int(after - before)


_CALLS = """
SELECT coalesce(sum(calls), 0) FROM pg_stat_xact_user_functions
 WHERE funcname = 'judging_exceeds_address_limit'
"""


def test_at_the_end_of_a_queue_only_workers_without_judgments_lose_their_leases(
    make_queue: MakeQueue,
) -> None:
    """Not everything that is held: with a thousand people that is thousands, at each judgment."""
    study = make_queue(13, raters=1, batch=13)
    desks = [begin_from(study, "one") for _ in range(4)]  # three items each
    for desk in desks:
        judging.judge(desk, key=UUID(held(desk)[0]), answers=YES)
    last = desks[0]

    assert times_asked(lambda: judging.judge(last, key=UUID(held(last)[0]), answers=YES)) == 0


def test_workers_without_a_known_address_are_not_limited(make_queue: MakeQueue) -> None:
    study = make_queue(12, raters=1, batch=10)
    for _ in range(4):
        begin(study)

    with pytest.raises(EntryRefusedError, match="Other people are already"):
        begin_from(study, "another")


def test_a_battery_beyond_the_address_limit_goes_to_others_once_none_is_left(
    make_queue: MakeQueue, make_contexts: MakeContexts, make_run: MakeRun
) -> None:
    study = make_queue(question_set="reply-impression", exclusion_rules="As declared.")
    Study.objects.filter(pk=study.pk).update(state=Study.State.DRAFT)
    study.refresh_from_db()
    asked = make_contexts(3)
    for system in ("Denies", "Confirms"):
        subjects.add_responses(study, make_run(asked, system))
    subjects.add_responses(study, make_run(make_contexts(5), "Small talk"))
    subjects.save_battery(
        Battery(plan=judging.plan_of(study), targets=["Denies", "Confirms"], workers=4,
                compared_with="Confirms", fillers_of=["Small talk"], fillers=3, repeats=0, reasons_at=[])
    )  # fmt: skip
    study = set_state(study.pk, Study.State.OPEN)
    crowd = [begin_from(study, "one") for _ in range(4)]
    before = [held(desk) for desk in crowd]

    assert admits(study)
    desk = begin_from(study, "another")

    assert set(held(desk)) == set(before[3])
    assert [held(desk) for desk in crowd[:3]] == before[:3]
    assert not admits(study)
