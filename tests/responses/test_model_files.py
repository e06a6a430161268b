"""Responses of several models in one file, from the upload to their runs."""

from io import BytesIO

import openpyxl
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from tests.conftest import MakeVersion
from turnwise.accounts.models import User
from turnwise.contexts.models import ContextSet
from turnwise.responses.model_files import names_models, parse_models
from turnwise.responses.models import ResponseRun

KEYS = {"p1": 1, "p2": 2}
PROMPTS = {"Why?": "p1", "How?": "p2"}
LONG = "prompt,model,response\nWhy?,a,So.\nHow?,a,Thus.\nWhy?,b,Hm.\nHow?,b,Well.\n"
WIDE = "prompt;model a;model b\nWhy?;So.;Hm.\nHow?;Thus.;Well.\n"


@pytest.mark.parametrize(("text", "models"), [(LONG, ["a", "b"]), (WIDE, ["model a", "model b"])])
def test_a_file_gives_each_model_its_responses(text: str, models: list[str]) -> None:
    found = parse_models(text, "csv", KEYS, PROMPTS)

    assert names_models(text, "csv")
    assert list(found.models) == models
    assert [each.responses for each in found.models.values()] == [
        {(1, 1): "So.", (2, 1): "Thus."}, {(1, 1): "Hm.", (2, 1): "Well."},
    ]  # fmt: skip
    assert (found.problems, found.may_be_imported, found.responses) == ([], True, 4)


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ("prompt,model,response\nWhy?,a,So.\n", 2, "a: Repetition 1 lacks 1 of 2 contexts: p2"),
        (LONG + "Who?,a,Me.\n", 6, "a: There is no context “Who?” in this version."),
        (LONG + "Why?,,So.\n", 6, "The row names no model. Put its name in “model”."),
        (LONG + "Why?,a,So.\n", 6, "a: This context has a response in line 2 already."),
        ("prompt,model,model\nWhy?,a,b\n", 1, "Two columns are called “model”."),
    ],
)
def test_what_is_wrong_is_told_with_its_line_and_model(text: str, line: int, says: str) -> None:
    found = parse_models(text, "csv", KEYS, PROMPTS)

    assert not found.may_be_imported
    assert found.problems[0].line == line
    assert says in found.problems[0].say


def workbook(rows: list[list[str]]) -> bytes:
    book, file = openpyxl.Workbook(), BytesIO()
    for row in rows:
        book.active.append(row)
    book.save(file)
    return file.getvalue()


def test_fifty_prompts_and_four_models_come_in_from_two_files_with_four_buttons(
    client: Client, rex: User, mallory: User
) -> None:
    """Count of buttons: preview and import of the prompts, preview and import of the responses."""
    client.force_login(rex)
    prompts = [f"Explain the word number {number} to a child" for number in range(50)]
    file = SimpleUploadedFile("prompts.xlsx", workbook([["prompt"], *([prompt] for prompt in prompts)]))
    about = {"title": "Prompts", "name": "prompts", "licence": "CC0", "description": "", "language": "en"}

    preview = client.post("/contexts/new/", {**about, "file": file}, follow=True)
    client.post(preview.redirect_chain[-1][0])
    version = ContextSet.objects.get(name="prompts").versions.get()
    assert version.contexts.count() == 50
    rows = [
        ["prompt", *"abcd"],
        *([prompt, *(f"{prompt}: {model}" for model in "abcd")] for prompt in prompts),
    ]
    answers = SimpleUploadedFile("answers.xlsx", workbook(rows))
    sent = {"context_version": version.pk, "system": "", "file": answers}
    preview = client.post("/responses/upload/", sent, follow=True)
    assert b"200 responses" in preview.content
    page = client.post(preview.redirect_chain[-1][0], follow=True).content.decode()

    runs = ResponseRun.objects.filter(context_version=version).order_by("pk")
    assert [(run.system, run.responses.count()) for run in runs] == [(model, 50) for model in "abcd"]
    keys = ",".join(str(run.pk) for run in runs)
    assert f"?protocol=prompts-by-models&amp;runs={keys}" in page
    client.force_login(mallory)
    for path in (f"/responses/?imported={keys},x,{'9' * 30}", f"/studies/new/?task=judging&runs={keys}"):
        answer = client.get(path)
        assert answer.status_code == 200
        assert b"Judge these responses" not in answer.content
        assert b"Saving adds" not in answer.content


def test_a_file_without_models_needs_the_name_of_its_system(
    client: Client, rex: User, make_version: MakeVersion
) -> None:
    client.force_login(rex)
    version = make_version(1)
    file = SimpleUploadedFile("answers.csv", b"context,response\np1,So.\n")

    answer = client.post("/responses/upload/", {"context_version": version.pk, "system": "", "file": file})

    assert answer.status_code == 422
    assert "Name the system: the file has no column" in answer.content.decode()
