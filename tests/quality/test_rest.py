"""Qualifications over the REST API: made, read, changed, deleted and put back."""

from typing import Any

import pytest

from tests.conftest import MakeStudy
from tests.studies.test_rest import called, fields_of
from turnwise.accounts.models import User
from turnwise.quality.models import Qualification
from turnwise.quality.qualification_tests import set_requirement

pytestmark = pytest.mark.django_db
TEXT = "Which reply makes sense?\n* Fine, thanks.\n- The train leaves at nine.\n> Only it answers."


@pytest.fixture
def own(rex: User) -> dict[str, Any]:
    made = called(rex, "POST", "/qualifications", {"title": "Sense", "text": TEXT, "pass_mark": 1})
    assert made.status_code == 201
    return dict(made.json())


def test_a_qualification_is_read_and_changed(own: dict[str, Any], rex: User, mallory: User) -> None:
    path = f"/qualifications/{own['id']}"

    read = called(rex, "GET", path).json()
    changed = called(rex, "PATCH", path, {"title": "Good sense", "tries": 3}).json()
    wrong = called(rex, "PATCH", path, {"pass_mark": 9})
    not_a_test = called(rex, "PATCH", path, {"text": "No choices"})

    assert read["text"] == TEXT
    assert (changed["title"], changed["tries"], changed["text"]) == ("Good sense", 3, TEXT)
    assert (fields_of(wrong), fields_of(not_a_test)) == ({"pass_mark"}, {"text"})
    for method, body in (("GET", None), ("PATCH", {"title": "Mine"}), ("DELETE", None)):
        assert called(mallory, method, path, body).status_code == 404
    assert Qualification.objects.get().title == "Good sense"


def test_a_deleted_qualification_can_be_put_back(own: dict[str, Any], rex: User) -> None:
    deleted = called(rex, "DELETE", f"/qualifications/{own['id']}").json()

    assert not Qualification.objects.exists()
    assert called(rex, "POST", f"/deletions/{deleted['id']}/undo").status_code == 200
    assert called(rex, "GET", f"/qualifications/{own['id']}").json()["text"] == TEXT


def test_a_required_qualification_is_kept(own: dict[str, Any], make_study: MakeStudy, rex: User) -> None:
    set_requirement(make_study(), Qualification.objects.get())

    refused = called(rex, "DELETE", f"/qualifications/{own['id']}")

    assert refused.status_code == 409
    assert Qualification.objects.exists()


def test_attention_checks_are_added_changed_and_removed(
    make_study: MakeStudy, rex: User, mallory: User
) -> None:
    path = f"/studies/{make_study().code}/attention-checks"
    asked = {"question_set": "ssa", "question": "sensible", "right": True}

    made = called(rex, "POST", path, asked)
    changed = called(rex, "POST", path, asked | {"right": False}).json()
    no_choice = called(rex, "POST", path, asked | {"right": 1})  # which equals True
    no_question = called(rex, "POST", path, asked | {"question": "funny"})

    assert (made.status_code, made.json()["right"]) == (201, True)
    assert (changed["id"], changed["right"]) == (made.json()["id"], False)
    assert called(rex, "GET", path).json() == [changed]
    assert (fields_of(no_choice), fields_of(no_question)) == ({"right"}, {"question"})
    assert "ssa sensible" in no_question.json()["detail"]
    assert called(mallory, "GET", path).status_code == 404
    assert called(rex, "DELETE", f"{path}/{changed['id']}").json() == []
