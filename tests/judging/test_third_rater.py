"""An item that its raters have judged differently goes to one more, and to no more than one."""

import threading
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client

from tests.conftest import MakePairs, MakeQueue
from tests.desks import begin
from tests.planted import SignIn
from turnwise.accounts.models import User
from turnwise.judging.items import subjects
from turnwise.judging.models import JudgingPlan, Slot
from turnwise.judging.queue import services as judging
from turnwise.judging.queue.rater_session import RaterSession
from turnwise.studies.models import Study

DENIES = {"group": "denial"}
PLAIN = {"group": "confirms", "confirms": "clear"}
VAGUE = {"group": "confirms", "confirms": "unclear"}


@pytest.fixture
def queue(make_queue: MakeQueue) -> Study:
    """Of one item, with two raters, and a third where they differ."""
    study = make_queue(1, raters=2, question_set="identity-reply", protocol="r-u-a-robot-audit")
    change(study, third_rater=True)
    return study


def change(study: Study, **fields: object) -> None:
    plan = JudgingPlan.objects.get(study=study)
    for name, value in fields.items():
        setattr(plan, name, value)
    subjects.save_plan(plan)


def judge(desk: RaterSession, answers: Mapping[str, object]) -> None:
    [key] = Slot.objects.filter(study__code=desk.study_code).values_list("key", flat=True).distinct()
    judging.judge(desk, key=key, answers=answers)


def slots(study: Study) -> tuple[int, int]:
    """How many there are, and how many are judged."""
    mine = Slot.objects.filter(study=study)
    return mine.count(), mine.exclude(label=None).count()


@pytest.mark.django_db
@pytest.mark.parametrize("second", [DENIES, VAGUE], ids=["another group", "another kind"])
def test_two_differing_raters_get_a_third_and_never_a_fourth(
    queue: Study, second: Mapping[str, object]
) -> None:
    judge(begin(queue), PLAIN)
    assert slots(queue) == (2, 1)

    judge(begin(queue), second)
    assert slots(queue) == (3, 2)

    judge(begin(queue), {"group": "unhandled", "unhandled": "declines"})
    assert slots(queue) == (3, 3)


@pytest.mark.django_db
def test_two_agreeing_raters_suffice_also_after_a_changed_answer(queue: Study) -> None:
    first, second = begin(queue), begin(queue)
    judge(first, PLAIN)
    judge(second, DENIES)
    assert slots(queue) == (3, 2)

    judge(second, PLAIN)

    assert slots(queue) == (2, 2)


@pytest.mark.django_db
def test_a_third_rater_who_has_started_stays_even_if_the_others_agree_now(queue: Study) -> None:
    first, second = begin(queue), begin(queue)
    judge(first, PLAIN)
    judge(second, DENIES)
    third = begin(queue)

    judge(second, PLAIN)
    judge(third, DENIES)

    assert slots(queue) == (3, 3)


@pytest.mark.django_db
def test_the_plan_decides_about_third_raters(make_queue: MakeQueue) -> None:
    study = make_queue(1, raters=2, question_set="identity-reply", protocol="r-u-a-robot-audit")
    judge(begin(study), PLAIN)
    judge(begin(study), DENIES)
    assert slots(study) == (2, 2)

    change(study, third_rater=True)
    assert slots(study) == (3, 2)

    change(study, third_rater=False)
    assert slots(study) == (2, 2)


@pytest.mark.django_db
def test_different_free_texts_call_for_no_third_rater(make_queue: MakeQueue) -> None:
    study = make_queue(1, raters=2, question_set="reply-impression")
    change(study, third_rater=True)
    rated = {"appropriate": 4, "trustworthy": 4, "friendly": 4}

    judge(begin(study), rated | {"reason": "It is short."})
    judge(begin(study), rated | {"reason": "I like it."})
    assert slots(study) == (2, 2)


@pytest.mark.django_db(transaction=True)
def test_two_concurrent_judgments_call_for_one_third_rater(queue: Study) -> None:
    key = Slot.objects.filter(study=queue).values_list("key", flat=True).first()
    assert isinstance(key, UUID)
    desks, together = [begin(queue), begin(queue)], threading.Barrier(2)

    def save(desk: RaterSession, answers: Mapping[str, object]) -> None:
        try:
            together.wait(30)
            judging.judge(desk, key=key, answers=answers)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as threads:
        list(threads.map(save, desks, [PLAIN, DENIES]))

    assert slots(queue) == (3, 2)


@pytest.mark.django_db
def test_the_queue_offers_third_raters_but_not_for_swapped_pairs(
    queue: Study, make_pairs: MakePairs, rex: User, sign_in: SignIn
) -> None:
    browser: Client = sign_in(rex)

    assert 'name="third_rater"' in browser.get(f"/studies/{queue.pk}/queue/").content.decode()
    pairs = browser.get(f"/studies/{make_pairs(1).pk}/queue/").content.decode()
    assert 'name="raters_per_item"' in pairs
    assert 'name="third_rater"' not in pairs
