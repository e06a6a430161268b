"""Gold items: mixed in, never counted, and how well workers judge them."""

from collections.abc import Callable
from io import BytesIO
from uuid import UUID, uuid4

import pytest
from django.core.exceptions import ValidationError
from django.test import Client

from evaluation.files.writing import csv_text
from tests.conftest import MakeQueue, enter
from tests.desks import begin, held
from turnwise.accounts.models import User
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.judging.gold import gold_items
from turnwise.judging.gold.gold_items import Gold
from turnwise.judging.items import subjects
from turnwise.judging.models import Item, Slot
from turnwise.judging.queries import system_counts
from turnwise.judging.queue import services as judging
from turnwise.judging.queue.services import plan_of
from turnwise.studies.models import Study
from turnwise.studies.queries import counts_of
from turnwise.tasks.judging.results import judged_items

YES = {"sensible": True, "specific": True}
NO = {"sensible": False}

pytestmark = pytest.mark.django_db


def with_gold(study: Study, number: int, *, each: int) -> list[Item]:
    """The first items become gold, to be judged “no”; every worker gets so many."""
    items = list(study.items.order_by("pk")[:number])
    gold_items.declare_gold(study, {item.key: Gold({"sensible": [False]}) for item in items})
    gold_items.set_gold_per_worker(study, each)
    return items


def judge_all(study: Study, answer: Callable[[bool], dict[str, bool]]) -> list[bool]:
    """Somebody judges until nothing is before them; whether each item was gold, in their order."""
    desk, order = begin(study), []
    while keys := held(desk):
        order.append(Item.objects.get(key=keys[0]).right_answers is not None)
        judging.judge(desk, key=UUID(keys[0]), answers=answer(order[-1]))
    judging.finish(desk)
    return order


def test_gold_items_are_mixed_in_and_count_nowhere(make_queue: MakeQueue) -> None:
    study = make_queue(8, raters=2, batch=5)
    with_gold(study, 3, each=2)

    orders = [judge_all(study, lambda is_gold: YES if not is_gold else NO) for _ in range(2)]

    assert [(len(order), sum(order)) for order in orders] == [(7, 2)] * 2
    items = judged_items(study, study.work_asks[0])
    assert items.items == 5
    assert items.judged.answers["sensible"].tolist() == [1.0] * 10
    assert counts_of([study]) == {study.pk: (10, 10)}
    assert [(row.items, row.judged, row.wanted) for row in system_counts(study)] == [(5, 10, 10)]


def test_a_worker_with_only_gold_items_left_has_nothing_to_judge(make_queue: MakeQueue) -> None:
    study = make_queue(4, raters=1, batch=2)
    with_gold(study, 2, each=2)
    judge_all(study, lambda _gold: YES)

    with pytest.raises(EntryRefusedError, match="nothing left"):
        begin(study)


def test_abandoned_gold_items_go_to_no_other_worker(make_queue: MakeQueue) -> None:
    study = make_queue(3, raters=2, batch=1)
    with_gold(study, 1, each=1)
    left = begin(study)
    held(left)
    Slot.objects.filter(study=study).update(leased_until="2020-01-01T00:00Z")

    order = judge_all(study, lambda _gold: YES)

    assert sum(order) == 1
    assert sorted(Slot.objects.filter(is_gold=True).values_list("number", flat=True)) == [1, 2]


def test_the_page_shows_each_workers_share_with_its_interval(
    make_queue: MakeQueue, sign_in: Callable[[User], Client], rex: User
) -> None:
    study = make_queue(6, raters=2, batch=2)
    with_gold(study, 3, each=2)
    judge_all(study, lambda _gold: NO)
    judge_all(study, lambda _gold: YES)

    good, careless = sorted(gold_items.gold_counts(study), key=lambda row: -row.right)
    page = sign_in(rex).get(f"/studies/{study.pk}/queue/gold/").content.decode()
    assert "Pages of this study" in page

    assert (good.right, good.judged, careless.right, len(careless.wrong)) == (2, 2, 0, 2)
    # Wilson by hand for 2 of 2: lower end 1/(1 + z²/2) = 1/(1 + 1.9207) = 0.342
    assert "2 of 2: 100\u00a0% (34 to 100)" in page
    assert "0 of 2: 0\u00a0% (0 to 66)" in page


def test_a_file_made_from_the_list_of_items_declares_gold_items(
    make_queue: MakeQueue, sign_in: Callable[[User], Client], rex: User
) -> None:
    study, client = make_queue(3), sign_in(rex)
    sheet = client.get(f"/studies/{study.pk}/queue/items.csv").getvalue().decode()
    assert sheet.count("\r\n") == 4
    first, second, _ = study.items.order_by("pk")
    rows = [
        ("item", "question", "right", "instructed"),
        (str(first.key), "sensible", "Yes", ""),
        (str(first.key), "specific", "no", ""),
        (str(first.key), "specific", "true", ""),
        (str(second.key), "sensible", "no", "yes"),
    ]

    file = BytesIO(csv_text(rows).encode())
    answer = client.post(f"/studies/{study.pk}/queue/gold/", {"by_file": "1", "file": file}, follow=True)

    assert "2 items are gold now." in answer.content.decode()
    first.refresh_from_db()
    second.refresh_from_db()
    assert first.right_answers == {"sensible": [True], "specific": [False, True]}
    assert (second.right_answers, second.is_instructed) == ({"sensible": [False]}, True)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("item,question\n", "no column “right”"),
        ("item,question,right\n", "names no item with a right answer"),
        ("item,question,right\nKEY,sensible,\n", "Line 2: The right answer is missing."),
        ("item,question,right\nKEY,sensible,perhaps\n", "“perhaps” is not an answer to “sensible”"),
        ("item,question,right\nKEY,clever,Yes\n", "“clever” is not a question"),
        ("item,question,right\nturn 7,sensible,Yes\n", "“turn 7” is not the name of an item"),
        (f"item,question,right\n{UUID(int=7)},sensible,Yes\n", "This queue has no item"),
    ],
)
def test_an_invalid_gold_file_is_refused_with_the_reason(
    make_queue: MakeQueue, sign_in: Callable[[User], Client], rex: User, text: str, says: str
) -> None:
    study = make_queue(1)
    file = BytesIO(text.replace("KEY", str(study.items.get().key)).encode())

    answer = sign_in(rex).post(f"/studies/{study.pk}/queue/gold/", {"by_file": "1", "file": file})

    assert answer.status_code == 422
    assert says in answer.content.decode()
    assert not study.items.filter(right_answers__isnull=False).exists()


def test_gold_without_an_answer_or_judged_already_is_refused(
    make_queue: MakeQueue, sign_in: Callable[[User], Client], rex: User
) -> None:
    study = make_queue(4, raters=1, batch=1)
    begin(study)
    given = Slot.objects.exclude(batch=None).first()
    assert given
    client = sign_in(rex)
    free = study.items.exclude(pk=given.item_id).first()
    assert free

    nothing = client.post(f"/studies/{study.pk}/items/{free.key}/gold/", {}, follow=True)
    with pytest.raises(ValidationError, match="already been given to workers"):
        gold_items.declare_gold(study, {given.item.key: Gold({"sensible": [True]})})
    with pytest.raises(ValidationError, match="there are 0"):
        gold_items.set_gold_per_worker(study, 1)
    with pytest.raises(ValidationError, match="has no item"):
        gold_items.declare_gold(study, {uuid4(): Gold({"sensible": [True]})})

    assert "has no right answer" in nothing.content.decode()
    assert not study.items.filter(right_answers__isnull=False).exists()
    assert plan_of(study).gold_items == 0


def test_an_item_page_declares_gold_until_workers_had_the_item(
    make_queue: MakeQueue, sign_in: Callable[[User], Client], rex: User
) -> None:
    study, client = make_queue(3, raters=1, batch=2), sign_in(rex)
    item = study.items.order_by("pk")[0]
    here = f"/studies/{study.pk}/items/{item.key}/gold/"

    client.post(here, {"right-sensible": "0"})
    assert study.items.get(pk=item.pk).right_answers == {"sensible": [True]}
    client.post(here, {"take_back": "1"})
    assert study.items.get(pk=item.pk).right_answers is None
    assert item.slots.count() == 1

    client.post(here, {"right-sensible": "0"})
    gold_items.set_gold_per_worker(study, 1)
    judge_all(study, lambda _gold: YES)
    kept = client.post(here, {"take_back": "1"}, follow=True)
    assert "so it stays gold" in kept.content.decode()


def test_a_copy_of_the_study_has_the_same_gold(make_queue: MakeQueue) -> None:
    study, copy = make_queue(3), make_queue(0)
    with_gold(study, 1, each=1)

    subjects.add_all_items_of(copy, study)

    assert [item.right_answers for item in gold_items.gold_items_of(copy)] == [{"sensible": [False]}]
    assert Slot.objects.filter(study=copy).count() == 10


def test_re_entry_gives_no_second_set_of_gold_items(make_queue: MakeQueue) -> None:
    study = make_queue(5, raters=1, batch=3)
    with_gold(study, 2, each=1)
    participation = enter(study)
    for _ in range(3):
        held(begin(study, participation))
    desk = begin(study, participation)
    while keys := held(desk):
        judging.judge(desk, key=UUID(keys[0]), answers=YES)

    assert Slot.objects.filter(is_gold=True).count() == 1
