"""Import of a judge's labels from files on the pages: preview, refusals, import, and what it counts for."""

import io
import json
from collections.abc import Callable
from hashlib import sha256
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from openpyxl import Workbook

from tests.desks import judge
from tests.judges.conftest import MakeStudyOfTwo
from tests.judges.test_pages import page
from tests.planted import SignIn, computed
from turnwise.accounts.models import User
from turnwise.judges.judge_card import card_of
from turnwise.judges.models import Judge, JudgeRun, MachineLabel
from turnwise.judging.models import Item
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)


def assisted(study: Study) -> Any:
    """The part of a new report about machine judges."""
    return (computed(study).result or {}).get("assisted")


def upload(client: Client, study: Study, content: bytes | str, name: str, title: str = "Sage") -> Any:
    data = content.encode() if isinstance(content, str) else content
    fields = {"title": title, "file": SimpleUploadedFile(name, data)}
    return client.post(f"/studies/{study.pk}/judges/import/", fields)


def keys(study: Study) -> list[str]:
    return [str(key) for key in Item.objects.filter(study=study).order_by("pk").values_list("key", flat=True)]


def csv_of(study: Study, answer: Callable[[int], str] = lambda n: "no,no" if n % 3 else "yes,yes") -> str:
    rows = [f"{key},{answer(n)},because" for n, key in enumerate(keys(study))]
    return "\n".join(["item,answer_sensible,answer_specific,reason", *rows])


def test_a_file_becomes_a_judge_of_its_own_whose_labels_are_marked(
    make_items: MakeStudyOfTwo, rex: User, sign_in: SignIn
) -> None:
    study, client = make_items(15), sign_in(rex)
    judge(study, lambda _item: {"sensible": True, "specific": False})
    content = csv_of(study)

    preview = upload(client, study, content, "labels.csv")["Location"]
    shown = page(client, preview)
    assert "<strong>30 labels</strong>" in shown
    assert not MachineLabel.objects.exists()
    answer = client.post(preview, _chosen())

    run = JudgeRun.objects.get()
    assert answer["Location"] == run.get_absolute_url()
    assert (run.judge.source, run.judge.fingerprint) == ("file", sha256(content.encode()).hexdigest())
    assert run.labels.filter(outcome="answered", text="because").count() == 30
    shown = page(client, answer["Location"])
    assert "labels.csv" in shown
    assert "They were imported" in shown
    assert "Judge what is missing" not in shown
    assert card_of(run).agreement[0].percent == "33\u00a0%"  # by hand: the judge says yes to each third item
    assert assisted(study)[0]["judge"] == "Sage"
    assert client.post(preview, _chosen())["Location"] == run.get_absolute_url()  # pressed twice
    again = upload(client, study, content, "labels.csv")["Location"]
    assert "was imported as “Sage” already" in client.post(again, _chosen()).content.decode()
    assert JudgeRun.objects.count() == Judge.objects.count() == 1


def _chosen(**columns: str) -> dict[str, str]:
    return {
        "item": "item",
        "answer-sensible": "answer_sensible",
        "answer-specific": "answer_specific",
        "reason": "reason",
        **columns,
    }


def test_a_file_with_one_wrong_line_imports_nothing(
    make_items: MakeStudyOfTwo, rex: User, sign_in: SignIn
) -> None:
    study, client = make_items(2), sign_in(rex)
    content = csv_of(study).replace(keys(study)[2], "elsewhere")

    preview = upload(client, study, content, "labels.csv")["Location"]

    shown = client.get(preview)
    assert shown.status_code == 422
    assert "“elsewhere” is no item that a machine judges here" in shown.content.decode()
    assert "Line 4" in client.post(preview, _chosen()).content.decode()
    assert not JudgeRun.objects.exists()


def test_other_columns_are_chosen_on_the_page(make_items: MakeStudyOfTwo, rex: User, sign_in: SignIn) -> None:
    study, client = make_items(1), sign_in(rex)
    content = csv_of(study).replace("item,answer_sensible,answer_specific", "ref,x,y")

    preview = upload(client, study, content, "labels.csv")["Location"]

    assert "Choose the column that names the item." in client.get(preview).content.decode()
    chosen = {"item": "ref", "answer-sensible": "x", "answer-specific": "y"}
    assert client.get(preview, chosen).status_code == 200
    client.post(preview, chosen)
    assert JudgeRun.objects.get().labels.count() == 2


def test_a_log_of_inspect_and_a_workbook_are_read_as_well(
    make_items: MakeStudyOfTwo, rex: User, sign_in: SignIn
) -> None:
    study, client = make_items(2), sign_in(rex)
    items = client.get(f"/studies/{study.pk}/judges/items-0.jsonl").content.decode().splitlines()
    assert [*json.loads(items[0])] == ["id", "input"]
    score = {"value": {"sensible": True, "specific": False}, "explanation": "Vague.", "answer": "x"}
    samples = [
        {"id": json.loads(line)["id"], "epoch": epoch, "scores": {"rubric": score}}
        for line in items
        for epoch in (1, 2)
    ]
    log = json.dumps({"version": 2, "status": "success", "samples": samples})
    book = Workbook()
    for row in csv_of(study).splitlines():
        book.active.append(row.split(","))
    saved = io.BytesIO()
    book.save(saved)

    of_log = upload(client, study, log, "log.json", "Log")["Location"]
    columns = {"answer-sensible": "rubric.sensible", "answer-specific": "rubric.specific", "draw": "epoch"}
    client.post(of_log, {"item": "id", **columns})
    of_book = upload(client, study, saved.getvalue(), "labels.xlsx", "Book")["Location"]
    client.post(of_book, _chosen())

    by_title = {run.judge.title: run for run in JudgeRun.objects.select_related("judge")}
    assert by_title["Log"].judge.draws == 2
    assert by_title["Log"].labels.filter(answers__specific=False).count() == 8
    assert by_title["Book"].labels.filter(outcome="answered").count() == 4


@pytest.mark.parametrize(
    ("name", "content", "says"),
    [
        ("log.eval", "x", "inspect log convert"),
        ("labels.txt", "x", "does not end in any of"),
        ("labels.csv", "", "is empty"),
        ("log.json", '{"a": 1}', "no log of inspect_ai"),
        ("log.json", '{"samples": [{"id": 1}]}', "has no scores"),
        ("labels.jsonl", "{", "not JSON"),
    ],
)
def test_a_file_that_cannot_be_read_says_why(
    make_items: MakeStudyOfTwo, rex: User, sign_in: SignIn, name: str, content: str, says: str
) -> None:
    study, client = make_items(1), sign_in(rex)

    answer = upload(client, study, content, name)

    if answer.status_code == 302:
        answer = client.get(answer["Location"])
    assert answer.status_code == 422
    assert says in answer.content.decode()
