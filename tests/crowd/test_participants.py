"""The list by which participants are paid and helped."""

import csv
import io

import pytest
from django.test import Client
from django.utils import timezone

from tests.conftest import MakeStudy, enter
from turnwise.accounts.models import User
from turnwise.crowd.models import Outcome, Participation
from turnwise.crowd.panels import Arrival
from turnwise.crowd.places.assignment import assign
from turnwise.crowd.places.ending import complete
from turnwise.studies.models import Study

COMPLETE = Outcome.COMPLETE


@pytest.fixture
def client(rex: User) -> Client:
    client = Client()
    client.force_login(rex)
    return client


def done(study: Study, panel_id: str) -> Participation:
    participation = enter(study, Arrival("prolific", panel_id))
    complete(assign(participation.pk).pk, COMPLETE, now=timezone.now())
    return participation


def listed(client: Client, study: Study, sought: str) -> set[int]:
    page = client.get(f"/studies/{study.pk}/participants/", {"find": sought}).context["rows"]
    return {each.pk for each in page}


def test_a_submitted_completion_code_is_found(study: Study, client: Client) -> None:
    wanda, _ = done(study, "5f2c"), done(study, "77aa")

    assert listed(client, study, wanda.completion_code) == {wanda.pk}
    assert listed(client, study, f" {wanda.completion_code.lower()} ") == {wanda.pk}
    assert listed(client, study, "5f2c") == {wanda.pk}
    assert listed(client, study, wanda.pseudonym) == {wanda.pk}


def test_a_code_that_was_not_given_yet_is_not_found(study: Study, client: Client) -> None:
    wanda = enter(study)
    assign(wanda.pk)

    page = client.get(f"/studies/{study.pk}/participants/").content.decode()

    assert listed(client, study, wanda.completion_code) == set()
    assert wanda.completion_code not in page
    assert wanda.resume_code in page


def test_every_control_in_the_list_names_its_participant(study: Study, client: Client) -> None:
    wanda, gone = enter(study), done(study, "5f2c")
    assign(wanda.pk)

    page = client.get(f"/studies/{study.pk}/participants/").content.decode()

    assert f'aria-label="End the work of {wanda.pseudonym}"' in page
    assert f'aria-label="Withdraw the data of {gone.pseudonym}"' in page


def test_a_code_of_another_study_is_not_found(make_study: MakeStudy, study: Study, client: Client) -> None:
    elsewhere = done(make_study(title="Other"), "5f2c")

    assert listed(client, study, elsewhere.completion_code) == set()


def test_the_file_has_one_row_per_participant_and_no_live_formula(study: Study, client: Client) -> None:
    wanda, agreed = done(study, "@SUM"), enter(study)

    answer = client.get(f"/studies/{study.pk}/participants.csv")
    rows = list(csv.DictReader(io.StringIO(b"".join(answer).decode())))

    by_worker = {row["worker"]: row for row in rows}
    paid = by_worker[wanda.pseudonym]
    assert len(rows) == 2
    assert (paid["panel_id"], paid["outcome"]) == ("'@SUM", "complete")
    assert paid["completion_code"] == wanda.completion_code
    assert by_worker[agreed.pseudonym]["completion_code"] == ""
    assert by_worker[agreed.pseudonym]["began_at"] == ""


def test_an_empty_list_and_a_search_without_result_say_what_to_do(study: Study, client: Client) -> None:
    address = f"/studies/{study.pk}/participants/"

    assert "Nobody has taken part yet" in client.get(address).content.decode()
    assert "&lt;b&gt;" in client.get(address, {"find": "<b>"}).content.decode()
