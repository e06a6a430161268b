"""Messages that a researcher keeps, and what fills them in."""

import pytest
from django.test import Client
from django.utils import timezone

from tests.conftest import enter
from tests.studies.test_rest import called, fields_of
from turnwise.accounts.models import User
from turnwise.crowd.models import Participation
from turnwise.quality.models import Flag, MessageTemplate
from turnwise.studies.models import Study


@pytest.fixture
def staff(rex: User) -> Client:
    client = Client()
    client.force_login(rex)
    return client


def test_a_saved_message_fills_in_the_reason(study: Study, staff: Client, mallory: User) -> None:
    own: Participation = enter(study)
    figures = {"marked": 3, "messages": 4}
    Flag.objects.create(participation=own, kind="machine", figures=figures, found_at=timezone.now())
    text = "Dear {worker}, in “{study}”: {reasons}"
    staff.post("/messages/", {"kind": "rejection", "title": "Sorry", "text": text})
    kept = MessageTemplate.objects.get()
    at = f"/studies/{study.pk}/quality/"

    page = staff.get(at, {"message": kept.pk}).text

    assert f"Dear {own.pseudonym}, in “Small talk”: 3 of 4 messages carry marks" in page
    for odd in ("x", "9" * 10_000, "-1"):
        assert "We are sorry that we cannot accept" in staff.get(at, {"message": odd}).text
    other = Client()
    other.force_login(mallory)
    assert other.post(f"/messages/{kept.pk}/remove/").status_code == 404
    staff.post(f"/messages/{kept.pk}/remove/")
    assert not MessageTemplate.objects.exists()


def test_an_invalid_message_is_refused(staff: Client) -> None:
    sent = {"kind": "thanks", "title": "Thanks", "text": "Thank you, {worker}."}
    staff.post("/messages/", sent)

    again = staff.post("/messages/", sent)
    unknown = staff.post("/messages/", sent | {"title": "Other", "text": "{email}"})

    assert "You have a message of this name." in again.text
    assert "{email} is none of {worker}" in unknown.text
    assert MessageTemplate.objects.count() == 1


def test_messages_are_saved_listed_removed_and_put_back_over_the_api(rex: User, mallory: User) -> None:
    sent = {"kind": "thanks", "title": "Thanks", "text": "Thank you, {worker}."}

    made = called(rex, "POST", "/saved-messages", sent).json()
    again = called(rex, "POST", "/saved-messages", sent)
    unknown = called(rex, "POST", "/saved-messages", sent | {"title": "Other", "text": "{email}"})
    path = f"/saved-messages/{made['id']}"

    assert called(rex, "GET", "/saved-messages").json() == [made]
    assert called(mallory, "GET", "/saved-messages").json() == []
    assert (fields_of(again), fields_of(unknown)) == ({"title"}, {"text"})
    assert called(mallory, "DELETE", path).status_code == 404
    deleted = called(rex, "DELETE", path).json()
    assert not MessageTemplate.objects.exists()
    assert called(rex, "POST", f"/deletions/{deleted['id']}/undo").status_code == 200
    assert called(rex, "GET", "/saved-messages").json() == [made]
