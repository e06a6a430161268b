"""Many raters at the pairs at once, through the functions of the real queue."""

import threading
from collections import Counter
from uuid import UUID

import pytest
from django.db import connections
from django.db.models import Count
from django.utils import timezone

from tests.conftest import MakePairs, enter
from tests.desks import begin
from turnwise.crowd.models import Participation
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.judging.models import Slot
from turnwise.judging.queue import services as judging
from turnwise.labels.models import Label, Pair

pytestmark = pytest.mark.django_db(transaction=True)


def work(participation: Participation, leaves: bool, refused: list[str]) -> None:
    try:
        desk = begin(participation.study, participation)
        done = 0
        while items := judging.state(desk)["items"]:
            judging.judge(desk, key=UUID(items[0]["key"]), answers={"better": "first"})
            done += 1
            if leaves and done == 3:
                return
    except EntryRefusedError as error:
        refused.append(str(error))
    finally:
        connections.close_all()


def test_every_pair_gets_its_raters_and_either_side_first_as_often(make_pairs: MakePairs) -> None:
    """Twelve raters at once, three of whom leave; what they held goes to those who come later."""
    study = make_pairs(10, ("Alpha", "Beta", "Gamma"), raters=4, batch=30)
    people = [enter(study) for _ in range(12)]
    refused: list[str] = []
    threads = [
        threading.Thread(target=work, args=(person, number % 4 == 0, refused))
        for number, person in enumerate(people)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    Slot.objects.filter(study=study, label=None).update(leased_until=timezone.now())
    for _ in range(4):
        if Slot.objects.filter(study=study, label=None).exists():
            work(enter(study), False, refused)

    counted = Pair.objects.annotate(n=Count("labels"), raters=Count("labels__rater", distinct=True))
    assert Counter(counted.values_list("n", "raters")) == {(4, 4): 30}
    sides = Label.objects.values_list("pair", "slot__is_swapped")
    assert Counter(Counter(sides).values()) == {2: 60}
