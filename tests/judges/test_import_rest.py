"""A judge's labels imported over the REST API."""

import io
from base64 import b64encode

import pytest
from openpyxl import Workbook

from tests.judges.conftest import MakeStudyOfTwo
from tests.judges.test_imports import csv_of, keys
from tests.studies.test_rest import called, fields_of
from turnwise.accounts.models import User
from turnwise.judges.models import JudgeRun

pytestmark = pytest.mark.django_db(transaction=True)
COLUMNS = {"answers": {"sensible": "answer_sensible", "specific": "answer_specific"}}


def test_labels_are_imported_once(make_items: MakeStudyOfTwo, rex: User, mallory: User) -> None:
    study = make_items(3)
    path = f"/studies/{study.code}/judges/labels"
    sent = {"title": "Sage", "name": "labels.csv", "text": csv_of(study), "columns": COLUMNS}

    stranger = called(mallory, "POST", path, sent)
    made = called(rex, "POST", path, sent)
    again = called(rex, "POST", path, sent)

    assert (stranger.status_code, made.status_code, again.status_code) == (404, 201, 409)
    assert (made.json()["name"], made.json()["state"], made.json()["had"]) == ("Sage", "done", 6)
    assert JudgeRun.objects.get().labels.filter(outcome="answered").count() == 6


def test_a_workbook_comes_in_base64(make_items: MakeStudyOfTwo, rex: User) -> None:
    study = make_items(1)
    book = Workbook()
    for line in csv_of(study).splitlines():
        book.active.append(line.split(","))
    file = io.BytesIO()
    book.save(file)
    packed = b64encode(file.getvalue()).decode()
    sent = {"title": "Sage", "name": "labels.xlsx", "base64": packed, "columns": COLUMNS}

    made = called(rex, "POST", f"/studies/{study.code}/judges/labels", sent)

    assert (made.status_code, made.json()["had"]) == (201, 2)


def test_wrong_files_are_refused_at_their_fields(make_items: MakeStudyOfTwo, rex: User) -> None:
    study = make_items(1)
    path = f"/studies/{study.code}/judges/labels"
    good = {"title": "Sage", "name": "labels.csv", "text": csv_of(study)}
    unknown_item = good["text"].replace(keys(study)[0], "elsewhere")

    wrong = {
        "columns.item": good | {"columns": {"item": "reference"}},
        "name": good | {"name": "labels.pdf"},
        "ask": good | {"ask": 9},
        "text": good | {"text": unknown_item},
    }

    for field, body in wrong.items():
        answer = called(rex, "POST", path, body)
        assert (answer.status_code, fields_of(answer)) == (422, {field}), answer.content
    assert not JudgeRun.objects.exists()
