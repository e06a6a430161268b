"""Knowledge bases over the REST API."""

import json
from typing import Any

import pytest

from tests.knowledge.bases import base_file
from tests.studies.test_rest import called, fields_of, in_pages
from turnwise.accounts.models import User
from turnwise.knowledge.models import KnowledgeBase

pytestmark = pytest.mark.django_db
NEW = {"title": "Small base", "licence": "CC0", "origin": "small.json"}


def imported(user: User, **file: Any) -> dict[str, Any]:
    answer = called(user, "POST", "/knowledge", NEW | {"text": json.dumps(base_file(**file))})
    assert answer.status_code == 201, answer.content
    return dict(answer.json())


def test_a_base_is_imported_read_and_imported_again(rex: User) -> None:
    made = imported(rex)
    path = f"/knowledge/{made['id']}"
    content = called(rex, "GET", f"{path}/versions/1").json()
    same = called(rex, "POST", f"{path}/versions", {"text": json.dumps(content)})
    larger = called(rex, "POST", f"{path}/versions", {"text": json.dumps(base_file(entities=5))}).json()

    assert (made["name"], made["versions"][0]["entities"], made["versions"][0]["articles"]) == (
        "small-base", 4, 2
    )  # fmt: skip
    assert [each["name"] for each in content["entities"]] == [f"Thing {n}" for n in range(1, 5)]
    assert same.status_code == 422
    assert "exactly this content" in same.json()["detail"]
    assert [(each["number"], each["entities"]) for each in larger["versions"]] == [(2, 5), (1, 4)]


def test_a_wrong_file_is_refused_and_leaves_nothing(rex: User) -> None:
    no_json = called(rex, "POST", "/knowledge", NEW | {"text": "{"})
    empty = called(rex, "POST", "/knowledge", NEW | {"text": "{}"})

    assert (fields_of(no_json), fields_of(empty)) == ({"text"}, {"text"})
    assert not KnowledgeBase.objects.filter(owner=rex).exists()


def test_a_base_is_shared_by_its_owner(rex: User, mallory: User) -> None:
    path = f"/knowledge/{imported(rex)['id']}"
    everyone = {"open_to_all": False, "shared_with": ["mallory"]}

    assert called(mallory, "GET", path).status_code == 404
    assert called(mallory, "PUT", f"{path}/sharing", everyone).status_code == 404
    unknown = called(rex, "PUT", f"{path}/sharing", {"open_to_all": False, "shared_with": ["nobody"]})
    shared = called(rex, "PUT", f"{path}/sharing", everyone).json()

    assert fields_of(unknown) == {"shared_with"}
    assert shared["shared_with"] == ["mallory"]
    assert [each["id"] for each in in_pages(mallory, "/knowledge", 1)] == [shared["id"]]
    assert called(mallory, "POST", f"{path}/versions", {"text": "{}"}).status_code == 404
