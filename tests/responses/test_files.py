"""Responses of systems that cannot run here, from files."""

from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from tests.conftest import MakeVersion
from turnwise.accounts.limits import limit_concurrency
from turnwise.accounts.models import User
from turnwise.contexts.models import ContextSetVersion
from turnwise.responses import files
from turnwise.responses.files import parse_in_subprocess, parsed_from_json
from turnwise.responses.models import Response, ResponseRun

SignIn = Callable[[User], Client]
pytestmark = pytest.mark.django_db

CSV = 'context,response\nc1,"Sure, why not?"\nc2,\'=1+1\n'


@pytest.fixture
def version(make_version: MakeVersion) -> ContextSetVersion:
    return make_version(2)


def upload(client: Client, version: ContextSetVersion, content: str, name: str = "responses.csv") -> Any:
    file = SimpleUploadedFile(name, content.encode())
    fields = {"context_version": version.pk, "system": "Cleverbot", "file": file}
    return client.post("/responses/upload/", fields)


def test_a_file_becomes_a_complete_run_after_its_preview(
    version: ContextSetVersion, rex: User, sign_in: SignIn
) -> None:
    client = sign_in(rex)
    preview = upload(client, version, CSV).url
    assert "2 responses" in client.get(preview).content.decode()
    assert ResponseRun.objects.count() == 0

    client.post(preview)

    run = ResponseRun.objects.get()
    assert (run.system, run.source, run.state, run.repetitions) == ("Cleverbot", "file", "done", 1)
    assert dict(run.responses.values_list("context__key", "text")) == {"c1": "Sure, why not?", "c2": "=1+1"}
    assert client.get(f"/responses/{run.pk}/").status_code == 200


def test_a_button_pressed_twice_imports_once(version: ContextSetVersion, rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)
    preview = upload(client, version, CSV).url

    for _ in range(2):
        client.post(preview)

    assert ResponseRun.objects.count() == 1


@pytest.mark.parametrize(
    ("content", "line", "part"),
    [
        ("context,response\nc1,Hi\n", 2, "Repetition 1 lacks 1 of 2 contexts: c2"),
        ("context,response\nc1,Hi\nc9,Hi\nc2,Ho\n", 3, "no context “c9” in this version"),
        ("context,response\nc1,Hi\nc2,Ho\nc1,Ha\n", 4, "has a response in line 2 already"),
        ("context,response\nc1,Hi\nc2,Ho\nc1,\n", 4, "response is empty"),
        ("context,response,repetition\nc1,Hi,1\nc2,Ho,1\nc1,Ha,0\n", 4, "repetition is “0”"),
        ("context,response,repetition\nc1,Hi,1\nc2,Ho,1\nc1,Ha,two\n", 4, "repetition is “two”"),
        ("context,response,repetition\nc1,Hi,1\nc2,Ho,1\nc1,Ha,2\n", 4, "Repetition 2 lacks 1 of 2"),
        ("response\nHi\n", 1, "There is no column “context”. The first line must name the columns; it says"),
        (
            "id,answer\n1,a\n2,b\n",
            1,
            "“context” and no column “response”. The first line must name the columns",
        ),
        ("context,response\n", 1, "There is nothing below the header. Choose a file with at least one row."),
        (f"context,response\nc1,Hi\nc2,Ho\nc1,{'x' * 32_001}\n", 4, "32,001 characters, more than 32,000"),
    ],
)
def test_a_wrong_line_is_named_and_nothing_comes_in(
    version: ContextSetVersion, rex: User, sign_in: SignIn, content: str, line: int, part: str
) -> None:
    parsed = files.parse(content, "csv", dict(version.contexts.values_list("key", "pk")))
    assert [(problem.line, part in problem.say) for problem in parsed.problems] == [(line, True)]

    client = sign_in(rex)
    page = client.post(upload(client, version, content).url)
    assert page.status_code == 422
    assert "<h1>This file cannot be imported</h1>" in page.content.decode()
    assert Response.objects.count() == 0


def test_what_is_exported_comes_in_again(version: ContextSetVersion, rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)
    client.post(upload(client, version, CSV).url)
    first = ResponseRun.objects.get()

    for ending in ("csv", "jsonl"):
        exported = client.get(f"/responses/{first.pk}/responses.{ending}").content.decode()
        client.post(upload(client, version, exported, f"responses.{ending}").url)

    texts = [dict(run.responses.values_list("context__key", "text")) for run in ResponseRun.objects.all()]
    assert texts == [texts[0]] * 3


def test_a_preview_is_its_uploaders_only(
    version: ContextSetVersion, rex: User, mallory: User, sign_in: SignIn
) -> None:
    preview = upload(sign_in(rex), version, CSV).url

    assert sign_in(mallory).post(preview).headers["Location"] == "/responses/"
    assert sign_in(rex).get(preview.replace("responses", "contexts")).headers["Location"] == "/contexts/"
    assert ResponseRun.objects.count() == 0


@pytest.mark.parametrize(
    ("name", "content", "part"),
    [
        ("r.pdf", CSV, "does not end in any of"),
        ("r.xlsx", CSV, "The file is damaged"),
        ("r.csv", "", "empty"),
        ("r.csv", "\n\n", "The file is empty"),
        ("r.csv", "x" * 5_000_001, "more than 5,000,000. Leave out all columns but context, repetition"),
    ],
)
def test_a_file_that_cannot_be_read_is_said_at_once(
    version: ContextSetVersion, rex: User, sign_in: SignIn, name: str, content: str, part: str
) -> None:
    page = upload(sign_in(rex), version, content, name)

    assert page.status_code == 422
    assert part in page.content.decode()


def test_no_file_is_read_by_the_process_that_serves_workers(
    version: ContextSetVersion, rex: User, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is it read again for each look at its preview."""

    def read_here(*_: Any, **__: Any) -> None:
        raise AssertionError("read here")

    monkeypatch.setattr("turnwise.responses.files.parse", read_here)
    client = sign_in(rex)
    preview = upload(client, version, CSV).url
    monkeypatch.setattr("turnwise.contexts.reading.run_module", read_here)

    assert [client.get(preview).status_code for _ in range(2)] == [200, 200]
    client.post(preview)
    assert ResponseRun.objects.count() == 1


@pytest.mark.usefixtures("one_minute")
def test_previews_of_responses_are_limited(version: ContextSetVersion, rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)
    preview = upload(client, version, CSV).url

    assert [client.get(preview).status_code for _ in range(60)][-2:] == [200, 429]


@pytest.mark.parametrize("content", [CSV, "context,response,repetition\nc1,Hé,1\nc2,Ho,2\nc9,Ha,1\n"])
def test_another_process_reads_responses_as_this_one_does(version: ContextSetVersion, content: str) -> None:
    keys = dict(version.contexts.values_list("key", "pk"))
    languages = dict.fromkeys(keys, "zh")

    found = parsed_from_json(parse_in_subprocess(content, "csv", keys, languages))
    assert found == files.parse(content, "csv", keys, languages)


def test_responses_that_are_not_in_the_language_of_their_context_are_announced(
    version: ContextSetVersion, rex: User, sign_in: SignIn
) -> None:
    client = sign_in(rex)
    first, *others = version.contexts.order_by("position").values_list("key", flat=True)
    rows = [f"{first},我刚从公园回来", *(f"{key},A park." for key in others)]

    page = client.get(upload(client, version, "\n".join(["context,response", *rows])).url).text

    assert "1 response is mostly in Chinese script, though the language of the context is “en”" in page


def test_a_preview_that_another_version_kept_is_gone_in_words(
    version: ContextSetVersion, rex: User, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = sign_in(rex)
    monkeypatch.setattr("turnwise.responses.views._UPLOAD_KIND", "responses as they were")
    preview = upload(client, version, CSV).url
    monkeypatch.undo()

    for method in (client.get, client.post):
        assert (
            "or Turnwise was updated meanwhile. Choose the file again." in method(preview, follow=True).text
        )
    assert not ResponseRun.objects.exists()


def test_a_second_press_leads_to_what_the_first_one_made(
    version: ContextSetVersion, rex: User, sign_in: SignIn
) -> None:
    client = sign_in(rex)
    preview = upload(client, version, CSV).url

    first, second = client.post(preview), client.post(preview)

    assert first.url == second.url == f"/responses/?imported={ResponseRun.objects.get().pk}"


def test_a_press_while_the_first_one_is_under_way_goes_on_by_itself(
    version: ContextSetVersion, rex: User, sign_in: SignIn
) -> None:
    client = sign_in(rex)
    preview = upload(client, version, CSV).url

    with limit_concurrency(1, "imports", rex.pk):
        waits = client.post(preview)
        refused = upload(client, version, CSV)

    assert (waits.status_code, waits["Refresh"]) == (202, f"2; url={preview}")
    assert "Your file is being read" in waits.text
    assert (refused.status_code, "then choose this file again" in refused.text) == (429, True)
    assert not ResponseRun.objects.exists()
