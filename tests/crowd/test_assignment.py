"""Places with bots, under concurrency: real threads, real transactions."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import IntegrityError, connection
from django.utils import timezone

from tests.conftest import MakeStudy, enter
from turnwise.crowd.entry.enrolment import consent
from turnwise.crowd.models import Assignment, Outcome, Participation, Worker
from turnwise.crowd.places.assignment import assign
from turnwise.crowd.places.ending import complete
from turnwise.crowd.places.reservation import (
    HOLD,
    LOADING,
    MOST_HELD_FROM_AN_ADDRESS,
    keep_place,
    occupied_places,
)
from turnwise.crowd.queries import progress
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.studies.models import Study
from turnwise.studies.services import set_state

# Threads, or transactions of their own, must see what the test has written.
pytestmark = pytest.mark.django_db(transaction=True)


def assign_at_once(participations: list[Participation]) -> list[str]:
    """Assign all of them at the same moment; the names of their bots, or the reason for having none."""

    def one(participation: Participation) -> str:
        try:
            return assign(participation.pk).study_bot.bot.name
        except EntryRefusedError as refusal:
            return refusal.reason
        finally:
            connection.close()

    with ThreadPoolExecutor(len(participations)) as pool:
        return list(pool.map(one, participations))


def test_fifty_simultaneous_workers_are_spread_exactly_by_target(make_study: MakeStudy) -> None:
    study = make_study({"big": 20, "middle": 10, "small": 5})

    outcome = Counter(assign_at_once([enter(study) for _ in range(50)]))

    assert outcome == {"big": 20, "middle": 10, "small": 5, "study_full": 15}


def test_bots_fill_evenly_while_places_are_free(make_study: MakeStudy) -> None:
    study = make_study({"one": 100, "two": 100})

    outcome = Counter(assign_at_once([enter(study) for _ in range(20)]))

    assert outcome == {"one": 10, "two": 10}


def test_one_worker_who_starts_many_times_at_once_has_one_place(study: Study) -> None:
    participation = enter(study)

    assign_at_once([participation] * 10)

    assert Assignment.objects.count() == 1


def test_an_abandoned_place_returns_to_the_pool_and_its_worker_may_still_finish(
    make_study: MakeStudy,
) -> None:
    study = make_study({"only": 1})
    abandoned = assign(enter(study).pk)
    keep_place(abandoned.pk)
    later = timezone.now() + HOLD + timedelta(minutes=1)

    with pytest.raises(EntryRefusedError, match="what is left"):
        assign(enter(study).pk)
    second = assign(enter(study).pk, now=later)
    for assignment in (abandoned, second):
        complete(assignment.pk, Outcome.COMPLETE, now=later)

    assert [(bot.finished, bot.target) for bot in progress(study)] == [(2, 1)]


def test_a_worker_without_messages_holds_a_place_for_seconds_only(
    make_study: MakeStudy,
) -> None:
    study = make_study({"only": 2})
    idle, busy = [assign(enter(study).pk) for _ in range(2)]
    keep_place(busy.pk)
    soon = timezone.now() + LOADING + timedelta(seconds=1)

    assign(enter(study).pk, now=soon)  # that of the idle one
    with pytest.raises(EntryRefusedError, match="what is left"):
        assign(enter(study).pk, now=soon)
    complete(idle.pk, Outcome.COMPLETE, now=soon)  # they may still finish

    assert [(bot.finished, bot.open) for bot in progress(study, now=soon)] == [(1, 2)]


def test_a_conversation_that_the_bot_ended_does_not_count(make_study: MakeStudy) -> None:
    study = make_study({"only": 1})
    failed = assign(enter(study).pk)
    complete(failed.pk, Outcome.BOT_FAILED, now=timezone.now())

    assert assign(enter(study).pk).pk != failed.pk


def test_a_closed_study_assigns_no_new_places_but_keeps_existing_ones(study: Study) -> None:
    inside, outside = enter(study), enter(study)
    place = assign(inside.pk)
    set_state(study.pk, Study.State.CLOSED)

    assert assign(inside.pk) == place
    with pytest.raises(EntryRefusedError, match="no new participants"):
        assign(outside.pk)


def test_one_person_without_cookies_cannot_fill_the_last_places(make_study: MakeStudy) -> None:
    study = make_study({"only": 19})
    version = study.consent_versions.get()

    def started(address: str) -> Assignment:
        return assign(consent(study, version, known=None, arrival=None, address=address).pk)

    places = [started("198.51.100.7") for _ in range(25)]
    places += [started("203.0.113.5") for _ in range(2)]
    assert occupied_places(study.study_bots.all(), timezone.now()).total() == MOST_HELD_FROM_AN_ADDRESS + 2

    for place in places[:17]:  # each by a message now
        keep_place(place.pk)

    with pytest.raises(EntryRefusedError, match="what is left"):
        started("203.0.113.6")


def test_workers_behind_one_address_are_spread_evenly(make_study: MakeStudy) -> None:
    study = make_study({"one": 100, "two": 100})
    Participation.objects.bulk_create(
        [
            Participation(
                worker=Worker.objects.create(),
                study=study,
                consent=study.consent_versions.get(),
                address="same",
            )
            for _ in range(20)
        ]
    )

    outcome = Counter(assign_at_once(list(Participation.objects.all())))

    assert outcome == {"one": 10, "two": 10}


def test_a_place_belongs_to_the_study_of_its_worker(make_study: MakeStudy) -> None:
    here, elsewhere = make_study(), make_study(title="Another")
    place = assign(enter(here).pk)
    assert place.study_id == here.pk
    with pytest.raises(IntegrityError, match="assignment_of_its_study"):
        Assignment.objects.filter(pk=place.pk).update(study=elsewhere)
