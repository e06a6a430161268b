"""Languages over the REST API."""

import csv
import io
from typing import Any

import pytest

from tests.studies.test_rest import called, fields_of
from turnwise.accounts.models import User
from turnwise.languages.models import Language, Translation

pytestmark = pytest.mark.django_db


@pytest.fixture
def swahili(rex: User) -> dict[str, Any]:
    made = called(rex, "POST", "/languages", {"code": "sw"})
    assert made.status_code == 201, made.content
    return dict(made.json())


def test_a_language_is_added_once_and_changed_by_who_added_it(
    swahili: dict[str, Any], rex: User, mallory: User
) -> None:
    path = f"/languages/{swahili['id']}"

    again = called(rex, "POST", "/languages", {"code": "sw"})
    wrong = called(rex, "POST", "/languages", {"code": "swahili!"})
    changed = called(rex, "PATCH", path, {"local_name": "Kiswahili cha Kenya", "editors": ["mallory"]})
    unknown = called(rex, "PATCH", path, {"editors": ["nobody"]})
    by_editor = called(mallory, "PATCH", path, {"active": False})

    assert (swahili["name"], swahili["translated"]) == ("Swahili", 0)
    assert swahili["total"] > 100
    assert again.status_code == 422
    assert fields_of(wrong) == {"code"}
    assert changed.json()["local_name"] == "Kiswahili cha Kenya"
    assert (fields_of(unknown), by_editor.status_code) == ({"editors"}, 404)
    assert list(Language.objects.get(code="sw").editors.values_list("username", flat=True)) == ["mallory"]


def test_translations_go_out_and_in_as_a_file(swahili: dict[str, Any], rex: User, mallory: User) -> None:
    path = f"/languages/{swahili['id']}/texts"
    table = called(rex, "GET", path).content.decode()
    rows = list(csv.reader(io.StringIO(table)))
    written = io.StringIO()
    column = next(n for n, name in enumerate(rows[0]) if "translation" in name.lower())
    row = next(each for each in rows[1:] if "%" not in each[0] and each[0])
    row[column] = "Karibu"
    csv.writer(written).writerows([rows[0], row])

    saved = called(rex, "POST", path, {"name": "sw.csv", "text": written.getvalue()})
    broken = called(rex, "POST", path, {"name": "sw.csv", "text": "nothing"})
    other = called(rex, "POST", path, {"name": "sw.txt", "text": written.getvalue()})
    stranger = called(mallory, "POST", path, {"name": "sw.csv", "text": written.getvalue()})

    assert saved.json() == {"changed": 1}, saved.content
    assert (fields_of(broken), fields_of(other), stranger.status_code) == ({"text"}, {"text"}, 404)
    assert Translation.objects.get().forms == ["Karibu"]
    assert "msgid" in called(rex, "GET", path, format="po").content.decode()
    assert called(rex, "GET", "/languages").status_code == 200
