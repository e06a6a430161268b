"""The list by which participants are paid and helped."""

import csv
import io
from decimal import Decimal

import pytest
from django.test import Client
from django.utils import timezone

from tests.conftest import MakeStudy, enter
from turnwise.accounts.models import User
from turnwise.crowd.models import Outcome, Participation, PayEntry
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


def act_on(client: Client, study: Study, people: list[Participation], action: str, **details: str) -> str:
    """Post an action on several participants; returns its message."""
    keys = [str(each.pk) for each in people]
    sent = {"participation": keys, "action": action, "query": "state=complete&page=1&next=//evil", **details}
    answer = client.post(f"/studies/{study.pk}/participants/act/", sent)
    assert answer["Location"] == f"/studies/{study.pk}/participants/?state=complete&page=1"
    return " ".join(str(message) for message in client.get(answer["Location"]).context["messages"])


def test_several_workers_are_excluded_with_a_reason_and_taken_back_in(study: Study, client: Client) -> None:
    people = [done(study, "a1"), done(study, "b2")]

    assert "Give a reason" in act_on(client, study, people, "exclude", note=" ")
    assert not study.participations.exclude(excluded_at=None).exists()
    assert "2 workers are excluded" in act_on(client, study, people, "exclude", note="careless")
    assert set(study.participations.values_list("excluded_reason", flat=True)) == {"careless"}
    assert "undone" in act_on(client, study, people, "include")
    assert not study.participations.exclude(excluded_at=None).exists()


def test_the_work_of_several_is_ended_and_what_had_ended_stays(study: Study, client: Client) -> None:
    wanda, gone = enter(study), done(study, "5f2c")
    assign(wanda.pk)

    said = act_on(client, study, [wanda, gone], "end-timed_out")

    assert "The work of 1 participant is ended" in said
    assert {each.assignment.outcome for each in study.participations.select_related("assignment")} == {
        Outcome.TIMED_OUT,
        COMPLETE,
    }


def test_a_bonus_is_given_to_all_who_are_ticked_or_to_none(make_study: MakeStudy, client: Client) -> None:
    study = make_study(pay_amount="1.00")
    first, second, working = done(study, "a1"), done(study, "b2"), enter(study)
    assign(working.pk)

    assert "not an amount" in act_on(client, study, [first], "bonus", amount="much")
    assert "Type the bonus" in act_on(client, study, [first], "bonus")
    assert "still at work" in act_on(client, study, [first, working], "bonus", amount="0.50")
    assert not PayEntry.objects.filter(reason=PayEntry.Reason.BONUS).exists()
    assert "2 participants" in act_on(client, study, [first, second], "bonus", amount="0,50")
    given = PayEntry.objects.filter(reason=PayEntry.Reason.BONUS).values_list("worker", "amount")
    assert set(given) == {(each.pseudonym, Decimal("0.50")) for each in (first, second)}


def test_nothing_happens_to_participants_of_another_study(
    make_study: MakeStudy, study: Study, client: Client
) -> None:
    elsewhere = done(make_study(title="Other"), "5f2c")

    assert "Tick at least one" in act_on(client, study, [elsewhere], "exclude", note="careless")
    assert "Choose what to do" in act_on(client, study, [done(study, "a1")], "burn")
    elsewhere.refresh_from_db()
    assert elsewhere.excluded_at is None


def test_a_message_that_cannot_reach_everyone_is_sent_to_none(study: Study, client: Client) -> None:
    assert "cannot be reached" in act_on(client, study, [done(study, "a1")], "write", note="Thank you!")


def test_the_list_is_filtered_and_ordered(study: Study, client: Client) -> None:
    first, second, working = done(study, "a1"), done(study, "b2"), enter(study)
    assign(working.pk)

    def rows(query: str) -> list[int]:
        return [each.pk for each in client.get(f"/studies/{study.pk}/participants/?{query}").context["rows"]]

    assert rows("sort=oldest") == [first.pk, second.pk, working.pk]
    assert rows("") == rows("sort=unknown&state=unknown") == [working.pk, second.pk, first.pk]
    assert rows("state=working") == [working.pk]
    assert rows("state=complete&sort=worker") == sorted(
        [first.pk, second.pk], key=lambda pk: names(study)[pk]
    )


def names(study: Study) -> dict[int, str]:
    return dict(study.participations.values_list("pk", "pseudonym"))
