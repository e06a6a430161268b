"""Question sets over the REST API."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client

from evaluation.questions.schema import json_schema
from tests.questions.conftest import TONE
from turnwise.accounts import credentials
from turnwise.accounts.models import User
from turnwise.questions.models import SetVersion
from turnwise.questions.services import create_set

pytestmark = pytest.mark.django_db

Call = Callable[..., Any]


@pytest.fixture
def call() -> Call:
    def send(user: User, method: str, path: str, body: Any = None) -> Any:
        bearer = {"Authorization": f"Bearer {credentials.create_token(user, 'test')}"}
        data = "" if body is None else json.dumps(body)
        return Client(headers=bearer).generic(
            method, f"/api{path}", data=data, content_type="application/json"
        )

    return send


def test_a_set_is_made_read_and_changed(rex: User, call: Call) -> None:
    made = call(rex, "POST", "/question-sets", TONE)
    assert (made.status_code, made.json()["key"]) == (201, "tone-v1")
    declaration = made.json()["declaration"]

    again = call(rex, "POST", "/question-sets/tone/versions", declaration | {"title": "Tone, again"})
    assert (again.status_code, again.json()["key"]) == (201, "tone-v2")

    listed = {each["name"]: each for each in call(rex, "GET", "/question-sets").json()}
    assert listed["tone"] == {
        "name": "tone", "key": "tone-v2", "title": "Tone, again", "subjects": ["response", "turn"],
        "owner": "rex", "shared": False, "versions": 2,
    }  # fmt: skip
    assert listed["ssa"]["owner"] is None
    titles = [
        call(rex, "GET", f"/question-sets/{key}").json()["declaration"]["title"]
        for key in ("tone", "tone-v1", "ssa")
    ]
    changed = call(rex, "PATCH", "/question-sets/tone", {"shared": True, "archived": True})
    assert (changed.status_code, changed.json()["shared"]) == (200, True)
    assert SetVersion.objects.get(key="tone-v1").own_set.archived_at
    assert titles == ["Tone, again", "Tone of a reply", "Sensibleness and specificity"]


def test_what_cannot_be_is_refused_with_field_and_cure(rex: User, call: Call) -> None:
    twice = TONE | {"questions": [TONE["questions"][0]] * 2, "translations": {}}

    answer = call(rex, "POST", "/question-sets", twice)

    assert answer.status_code == 422
    assert answer.json()["errors"] == [
        {
            "field": "questions[1].key",
            "detail": "“polite” is declared twice. Give each question a key of its own.",
        }
    ]
    assert call(rex, "POST", "/question-sets", [1]).status_code == 422
    assert not SetVersion.objects.exists()


def test_the_api_describes_declarations_by_the_schema_that_checks_them() -> None:
    description = Client().get("/api/openapi.json").json()
    parts = description["components"]["schemas"]
    body = description["paths"]["/api/question-sets"]["post"]["requestBody"]["content"]["application/json"]

    assert body["schema"] == {"$ref": "#/components/schemas/Declaration"}
    assert (
        parts["QuestionSetVersionOut"]["properties"]["declaration"]["$ref"]
        == "#/components/schemas/Declaration"
    )
    schema = json_schema()
    for name, part in (schema["$defs"] | {"Declaration": schema}).items():
        assert _stated(parts[name]) == _stated(part)


def _stated(part: dict[str, Any]) -> Any:
    """What a schema says of each field of a part, or the values that it lists."""
    said = (
        "title",
        "description",
        "type",
        "maxLength",
        "pattern",
        "minimum",
        "maximum",
        "minItems",
        "maxItems",
    )
    fields = part.get("properties", {}).items()
    return part.get("enum"), [(name, [of.get(each) for each in said]) for name, of in fields]


def test_a_private_set_is_nobody_elses_to_read_or_change(rex: User, mallory: User, call: Call) -> None:
    create_set(TONE, owner=rex)

    for method, path, body in (
        ("GET", "/question-sets/tone", None),
        ("GET", "/question-sets/tone-v1", None),
        ("POST", "/question-sets/tone/versions", TONE),
    ):
        answer = call(mallory, method, path, body)
        assert (answer.status_code, "GET /api/question-sets" in answer.json()["detail"]) == (404, True)
    assert "tone" not in [each["name"] for each in call(mallory, "GET", "/question-sets").json()]
    assert SetVersion.objects.count() == 1
