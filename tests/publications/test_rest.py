"""Publishing a report over the REST API."""

import hashlib

import pytest
from django.test import Client

from tests.planted import computed, talked
from tests.studies.test_rest import called, fields_of
from turnwise.accounts.models import Event, User
from turnwise.studies.models import Study
from turnwise.studies.sharing.services import share_with_person

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_report_is_previewed_published_again_listed_and_revoked(
    judged: Study, rex: User, mallory: User
) -> None:
    path = f"/studies/{judged.code}/publications"
    wanted = {"title": "Two bots", "authors": ["Ada Lovelace", "Alan Turing"], "address": "two-bots"}
    share_with_person(judged, mallory.username, "editor")

    preview = called(rex, "POST", f"{path}/preview", wanted).json()
    unread = called(rex, "POST", path, wanted | {"title": "Other", "previewed": preview["digest"]})
    forbidden = called(mallory, "POST", path, wanted | {"previewed": preview["digest"]})
    assert (preview["version"], preview["results"]["authors"]) == (1, wanted["authors"])
    assert (unread.status_code, forbidden.status_code) == (409, 404)
    assert called(rex, "GET", path).json() == []
    assert fields_of(called(rex, "POST", f"{path}/preview", wanted | {"address": "No!"})) == {"address"}
    texts = called(rex, "POST", f"{path}/preview", wanted | {"rows": "all_texts"})
    assert fields_of(texts) == {"consents"}

    first = called(rex, "POST", path, wanted | {"previewed": preview["digest"]})
    talked(judged, [(True, True), (True, True)])
    computed(judged)
    again = {"title": "Two bots again", "rows": "answers"}
    moved = called(rex, "POST", f"{path}/preview", again | {"address": "elsewhere"})
    second = called(rex, "POST", f"{path}/preview", again).json()
    newer = called(rex, "POST", path, again | {"previewed": second["digest"]}).json()
    listed = called(rex, "PATCH", f"{path}/listing", {"in_leaderboard": True}).json()

    assert (first.status_code, first.json()["address"]) == (201, "http://testserver/published/two-bots/")
    results = Client().get("/published/two-bots/v1/results.json").content
    assert first.json()["versions"][0]["sha256"] == hashlib.sha256(results).hexdigest()
    assert fields_of(moved) == {"address"}
    assert [(each["number"], each["has_rows"]) for each in newer["versions"]] == [(2, True), (1, False)]
    assert (listed["in_leaderboard"], listed["is_indexed"]) == (True, False)
    revoked = called(rex, "POST", f"{path}/revoke").json()
    assert revoked["revoked_at"]
    assert not any(each["has_rows"] for each in revoked["versions"])
    assert Client().get("/published/two-bots/").status_code == 410
    assert called(rex, "POST", f"{path}/revoke").status_code == 404
    assert [each["slug"] for each in called(rex, "GET", path).json()] == ["two-bots"]
    assert Event.objects.filter(action="api-1:publish_report").count() == 2
