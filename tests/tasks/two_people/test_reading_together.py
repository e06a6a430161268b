"""Two who are brought together read about one article; if none is left, their wait is paid."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.utils import timezone

from tests.conftest import MakeMeeting
from tests.knowledge.bases import base_file, make_base
from tests.tasks.two_people.conftest import come
from turnwise.accounts.models import User
from turnwise.crowd.models import Assignment, Outcome
from turnwise.dialogues.models import Material, ReadingSet
from turnwise.studies.models import Study
from turnwise.tasks.two_people import pairing
from turnwise.tasks.two_people.pairing import Lobby
from turnwise.tasks.two_people.task import TwoPeople


@pytest.fixture
def reading(make_meeting: MakeMeeting, rex: User) -> Study:
    study = make_meeting(conversations=4)
    Study.objects.filter(pk=study.pk).update(knowledge=make_base(rex, base_file(articles=1)))
    return Study.objects.get(pk=study.pk)


def meet(study: Study) -> tuple[Assignment, Assignment]:
    """Two who wait, are asked and answer."""
    two = come(study), come(study)
    tabs = {uuid4(): Lobby(each.pk, study.pk, study.code, timedelta(minutes=5)) for each in two}
    for tab, lobby in tabs.items():
        pairing.enter(lobby, tab)
    for tab, lobby in tabs.items():
        meeting = pairing.check_in(lobby, tab).meeting
        assert meeting
        last = pairing.answer(lobby, tab, meeting)
    assert last.is_over
    for each in two:
        each.refresh_from_db()
    return two


def keys_of(assignment: Assignment) -> list[str]:
    return list(Material.objects.filter(seat__assignment=assignment).values_list("key", flat=True))


@pytest.mark.django_db
def test_both_read_about_the_same_article(reading: Study) -> None:
    first, second = meet(reading)

    made = ReadingSet.objects.get()
    assert first.seat.dialogue == second.seat.dialogue == made.dialogue
    article = [] if made.configuration == "C" else ["AS1", "AS2", "AS3", "AS4"]
    assert keys_of(first) == keys_of(second) == ["FS1", "FS2", "FS3", *article]


@pytest.mark.django_db
def test_without_articles_nobody_enters_and_waiting_workers_are_paid(reading: Study) -> None:
    for _ in range(3):
        meet(reading)
    waiting = come(reading), come(reading)  # in the lobby before the last article is taken
    meet(reading)

    tabs = {uuid4(): Lobby(each.pk, reading.pk, reading.code, timedelta(minutes=5)) for each in waiting}
    for tab, lobby in tabs.items():
        pairing.enter(lobby, tab)
    for tab, lobby in tabs.items():
        meeting = pairing.check_in(lobby, tab).meeting
        assert meeting
        pairing.answer(lobby, tab, meeting)

    outcomes = Assignment.objects.filter(pk__in=[each.pk for each in waiting])
    assert set(outcomes.values_list("outcome", flat=True)) == {Outcome.NO_PARTNER}
    assert ReadingSet.objects.count() == 4
    assert TwoPeople().is_full(reading, timezone.now())


@pytest.mark.django_db
def test_more_conversations_than_articles_are_not_opened(reading: Study) -> None:
    assert TwoPeople().why_not_open(reading) == ""
    reading.two_people.conversations = 5
    reading.two_people.save()

    reading = Study.objects.get(pk=reading.pk)
    assert (
        "5 conversations are wanted, and the knowledge base has articles for 4"
        in TwoPeople().why_not_open(reading)
    )
