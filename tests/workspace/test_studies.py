"""The list of studies: how far each is, and as quick for many as for one."""

from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from tests.conftest import MakeStudy, enter
from turnwise.accounts.models import User
from turnwise.crowd.models import Outcome
from turnwise.crowd.places.assignment import assign
from turnwise.crowd.places.ending import complete


def queries_of(client: Client, path: str) -> int:
    with CaptureQueriesContext(connection) as captured:
        assert client.get(path).status_code == 200
    return len(captured)


def test_the_list_of_studies_asks_the_database_as_often_for_many_as_for_one(
    make_study: MakeStudy, rex: User
) -> None:
    client = Client()
    client.force_login(rex)
    make_study()
    for_one = queries_of(client, "/studies/")
    for n in range(5):
        make_study(title=f"Study {n}")

    assert queries_of(client, "/studies/") == for_one


def test_the_list_of_studies_sums_over_the_bots(make_study: MakeStudy, rex: User) -> None:
    study = make_study({"one": 3, "two": 4})
    make_study({"one": 9}, title="Another")
    for outcome in ("complete", "complete", "bot_failed", None):
        assignment = assign(enter(study).pk)
        if outcome:
            complete(assignment.pk, Outcome(outcome), now=timezone.now())
    client = Client()
    client.force_login(rex)

    page = client.get("/studies/").content.decode()

    assert "2 of 7" in page
    assert "0 of 9" in page
