"""Rehearsals that are started with a button."""

from datetime import timedelta

import pytest
from django.core.management import CommandError
from django.utils import timezone

from tests.conftest import MakeQueue, MakeStudy
from tests.planted import SignIn
from tests.rehearsals.conftest import rehearsed
from turnwise.accounts.models import User
from turnwise.crowd.entry.practice import practice_asks
from turnwise.live.jobs import REHEARSALS, exclusive_lock
from turnwise.rehearsals.models import Attempt
from turnwise.rehearsals.run import create_attempt, refresh_attempt
from turnwise.rehearsals.services import copy_study
from turnwise.rehearsals.tasks import start_process
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.mark.usefixtures("_same_database")
def test_the_page_shows_progress_and_outcome_of_a_rehearsal(
    make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    study = make_study({"scripty": 9}, min_turns=2, max_turns=4)
    client, address = sign_in(rex), f"/studies/{study.pk}/rehearsal/"
    assert "are enough to find every injected score" in client.get(address).content.decode()

    page = client.post(f"{address}start/", {"workers": "2"}, follow=True).content.decode()
    before = client.get(f"{address}stamp/").json()["stamp"]

    assert "The rehearsal is about to start." in page
    assert "already" in client.post(f"{address}start/", {"workers": "2"}, follow=True).content.decode()

    rehearsed(study, "--workers", "2", "--noted", own_server=True)

    attempt = Attempt.objects.get()
    page = client.get(address).content.decode()
    assert (attempt.state, attempt.done, attempt.reason) == ("done", 2, "")
    assert attempt.said == "Computing the report."
    assert client.get(f"{address}stamp/").json()["stamp"] != before
    assert f"/studies/{study.rehearsal.pk}/report/" in page
    assert study.rehearsal.outcome.verdict in page
    assert "Rehearse again" in page


@pytest.mark.usefixtures("_same_database")
def test_a_failed_process_stores_its_reason(make_queue: MakeQueue, rex: User, sign_in: SignIn) -> None:
    queue = make_queue(2)
    create_attempt(queue, 1, by=rex)

    assert start_process(queue.pk, 1).wait(timeout=120) == 1

    attempt = Attempt.objects.get()
    assert attempt.state == "failed"
    assert "Each item wants 5 different raters" in attempt.reason
    page = sign_in(rex).get(f"/studies/{queue.pk}/rehearsal/").content.decode()
    assert "The rehearsal stopped early." in page
    assert create_attempt(queue, 40, by=rex).reason == ""


def test_a_process_without_a_request_is_refused(study: Study) -> None:
    with pytest.raises(CommandError, match="is not waiting for a rehearsal"):
        rehearsed(study, "--workers", "2", "--noted")

    assert not Study.objects.exclude(pk=study.pk)


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ("0", "0 simulated workers cannot come. Use a number from 1 to 500."),
        ("501", "from 1 to 500"),
        ("many", "“many” is not a number of simulated workers"),
        ("", "is not a number"),
        ("٣", "is not a number"),
    ],
)
def test_an_impossible_number_of_workers_is_refused(
    study: Study, rex: User, sign_in: SignIn, sent: str, said: str
) -> None:
    page = sign_in(rex).post(f"/studies/{study.pk}/rehearsal/start/", {"workers": sent}, follow=True)

    assert said in page.content.decode()
    assert not Attempt.objects.exists()


def test_rehearsals_are_limited_and_need_workers(make_study: MakeStudy, rex: User, sign_in: SignIn) -> None:
    for name in ("a", "b"):
        create_attempt(make_study({name: 9}), 5, by=rex)
    third, played = make_study({"c": 9}), make_study({"d": 9})
    Study.objects.filter(pk=played.pk).update(task="self_play")
    client = sign_in(rex)

    def said(study: Study) -> str:
        return client.post(
            f"/studies/{study.pk}/rehearsal/start/", {"workers": "5"}, follow=True
        ).content.decode()

    assert "2 rehearsals are in progress" in said(third)
    assert "nothing to rehearse" in said(played)
    assert Attempt.objects.count() == 2


def test_an_attempt_fails_when_its_process_is_gone(study: Study, rex: User) -> None:
    create_attempt(study, 5, by=rex)
    Attempt.objects.update(told_at=timezone.now() - timedelta(minutes=5))

    with exclusive_lock(REHEARSALS, study.pk):
        assert refresh_attempt(Attempt.objects.get()).is_in_progress
    assert "ended unexpectedly" in refresh_attempt(Attempt.objects.get()).reason
    create_attempt(study, 5, by=rex)


def test_simulated_workers_skip_the_practice(make_study: MakeStudy) -> None:
    study = make_study(practice=True)

    copy = copy_study(study, {})

    assert practice_asks(study)
    assert not practice_asks(copy)
