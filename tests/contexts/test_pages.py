"""Context sets through their pages."""

import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import IntegrityError, transaction
from django.test import Client

from turnwise.accounts.models import User
from turnwise.contexts import services
from turnwise.contexts.files import parse
from turnwise.contexts.models import Context, ContextSet, ContextSetVersion
from turnwise.contexts.reading import parse_in_subprocess, parsed_from_json

SignIn = Callable[[User], Client]

FIELDS = {"title": "Mine", "name": "mine", "licence": "CC BY 4.0", "language": "en"}
LINES = (
    b'{"id": "a", "turns": ["Do you paint?"], "category": "hobbies"}\n{"id": "b", "turns": ["Hi", "Ho"]}\n'
)


def upload(client: Client, path: str = "/contexts/new/", content: bytes = LINES, **fields: str) -> Any:
    return client.post(path, FIELDS | fields | {"file": SimpleUploadedFile("contexts.jsonl", content)})


def imported(client: Client, path: str = "/contexts/new/", content: bytes = LINES, **fields: str) -> Any:
    preview = upload(client, path, content, **fields)
    assert preview.status_code == 302, preview.content.decode()
    return client.post(preview.url, follow=True)


@pytest.fixture
def version(rex: User, sign_in: SignIn) -> ContextSetVersion:
    imported(sign_in(rex))
    return ContextSetVersion.objects.get()


def test_a_set_is_previewed_before_anything_is_stored(rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)

    preview = client.get(upload(client).url)

    assert "2 contexts" in preview.content.decode()
    assert ContextSet.objects.count() == 0


def test_a_set_without_a_name_is_called_by_its_title(rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)

    for _ in range(2):
        imported(client, title="Who? Me!", name="")

    assert sorted(ContextSet.objects.values_list("name", flat=True)) == ["who-me", "who-me-2"]


def test_an_import_makes_the_set_with_its_first_version(rex: User, sign_in: SignIn) -> None:
    page = imported(sign_in(rex))

    version = ContextSetVersion.objects.get()
    assert "2 contexts are imported as version 1" in page.content.decode()
    assert (version.number, version.size, version.origin) == (1, 2, "contexts.jsonl")
    assert version.context_set.owner == rex
    assert list(version.contexts.values_list("key", "turns")) == [
        ("a", ["Do you paint?"]),
        ("b", ["Hi", "Ho"]),
    ]


def test_a_newer_upload_takes_the_place_of_an_older_preview(rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)
    older, newer = upload(client).url, upload(client, name="other").url

    page = client.post(older, follow=True)

    assert "was replaced by a newer one" in page.content.decode()
    assert client.get(newer).status_code == 200
    assert ContextSet.objects.count() == 0


def test_a_file_with_one_wrong_line_brings_nothing(rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)
    token = upload(client, content=LINES + b"{oops\n").url

    page = client.post(token)

    assert page.status_code == 422
    assert "This is not JSON" in page.content.decode()
    assert "<h1>This file cannot be imported</h1>" in page.content.decode()
    assert ContextSet.objects.count() == 0


def test_a_second_import_is_a_new_version_and_the_first_stays(
    version: ContextSetVersion, rex: User, sign_in: SignIn
) -> None:
    imported(sign_in(rex), f"/contexts/{version.context_set_id}/import/", b'{"id": "a", "turns": ["New"]}')

    numbers = ContextSetVersion.objects.order_by("number").values_list("number", "size")
    assert list(numbers) == [(1, 2), (2, 1)]
    assert version.contexts.get(key="a").turns == ["Do you paint?"]


def test_the_preview_tells_what_a_new_version_changes(
    version: ContextSetVersion, rex: User, sign_in: SignIn
) -> None:
    client = sign_in(rex)
    lines = b'{"id": "a", "turns": ["Other"]}\n{"id": "c", "turns": ["Neu"]}\n{"id": "d", "turns": ["New"]}'

    preview = client.get(upload(client, f"/contexts/{version.context_set_id}/import/", lines).url)

    assert "Against version 1: 2 new, 1 with other turns, 1 gone." in preview.content.decode()


def test_the_same_contexts_make_no_second_version(
    version: ContextSetVersion, rex: User, sign_in: SignIn
) -> None:
    page = imported(sign_in(rex), f"/contexts/{version.context_set_id}/import/")

    assert "Version 1 has exactly these contexts" in page.content.decode()
    assert ContextSetVersion.objects.count() == 1


@pytest.mark.parametrize("model", [Context, ContextSetVersion])
def test_the_database_refuses_to_change_a_version(version: ContextSetVersion, model: Any) -> None:
    field = {"category": "other"} if model is Context else {"size": 1}

    with pytest.raises(IntegrityError, match="context_version_never_changes"), transaction.atomic():
        model.objects.update(**field)


@pytest.mark.parametrize(
    ("query", "keys"),
    [
        ("", ["a", "b"]),
        ("?turns=2", ["b"]),
        ("?category=hobbies", ["a"]),
        ("?text=PAINT", ["a"]),
        ("?text=Ho", ["b"]),
        ("?consistency=yes", []),
        ("?language=en&turns=1", ["a"]),
        ("?turns=99", ["a", "b"]),
        ("?turns=%27%3B--&page=zero", ["a", "b"]),
    ],
)
def test_the_table_is_narrowed_by_the_address(
    version: ContextSetVersion, rex: User, sign_in: SignIn, query: str, keys: list[str]
) -> None:
    page = sign_in(rex).get(version.get_absolute_url() + query)

    assert [context.key for context in page.context["page"]] == keys


@pytest.mark.parametrize("ending", ["jsonl", "csv", "txt"])
def test_an_export_comes_in_as_the_same_turns(
    version: ContextSetVersion, rex: User, sign_in: SignIn, ending: str
) -> None:
    exported = sign_in(rex).get(f"{version.get_absolute_url()}contexts.{ending}").content.decode()

    rows = parse(exported, ending, language="en").rows
    assert [row.turns for row in rows] == [("Do you paint?",), ("Hi", "Ho")]


def test_others_see_neither_a_set_nor_its_preview(
    version: ContextSetVersion, rex: User, mallory: User, sign_in: SignIn
) -> None:
    token = upload(sign_in(rex), name="other").url
    stranger = sign_in(mallory)
    address = version.get_absolute_url()

    for path in (address, f"{address}contexts.csv", version.context_set.get_absolute_url()):
        assert stranger.get(path).status_code == 404
    assert upload(stranger, f"/contexts/{version.context_set_id}/import/").status_code == 404
    assert stranger.get(token).headers["Location"] == "/contexts/"
    assert Client().get(address).headers["Location"].startswith("/sign-in/")


def test_the_shipped_set_is_everybodys_to_use_and_nobodys_to_change(
    mallory: User, ada: User, sign_in: SignIn
) -> None:
    for person in (mallory, ada):
        sign_in(person).post("/contexts/open-mtb/")
    version = ContextSetVersion.objects.get()
    assert version.size == 1477

    for person in (mallory, ada):
        client = sign_in(person)
        assert "Open MTB" in client.get("/contexts/").content.decode()
        assert client.get(version.get_absolute_url()).status_code == 200
        assert upload(client, f"/contexts/{version.context_set_id}/import/").status_code == 404


def test_an_admin_sees_the_sets_of_all(version: ContextSetVersion, ada: User, sign_in: SignIn) -> None:
    services.load_open_mtb()

    page = sign_in(ada).get("/contexts/")

    assert [found.title for found in page.context["sets"]] == ["Mine", "Open MTB"]


def test_two_sets_of_one_owner_have_two_names(version: ContextSetVersion, rex: User, sign_in: SignIn) -> None:
    page = upload(sign_in(rex))

    assert page.status_code == 422
    assert "already have a context set of the name" in page.content.decode()


def test_no_file_is_read_by_the_process_that_serves_workers(
    rex: User, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor is it read again for each look at its preview."""

    def read_here(*_: Any, **__: Any) -> None:
        raise AssertionError("read here")

    monkeypatch.setattr("turnwise.contexts.files.parse", read_here)
    client = sign_in(rex)
    preview = upload(client).url
    monkeypatch.setattr("turnwise.contexts.reading.run_module", read_here)

    assert [client.get(preview).status_code for _ in range(2)] == [200, 200]
    assert "2 contexts are imported" in client.post(preview, follow=True).content.decode()


def test_contexts_that_take_too_long_to_read_are_refused_in_words(
    rex: User, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: Any) -> bytes:
        raise subprocess.TimeoutExpired("python", 60)

    monkeypatch.setattr("turnwise.contexts.reading.run_module", never)
    page = sign_in(rex).post(
        "/contexts/new/", FIELDS | {"file": SimpleUploadedFile("c.jsonl", LINES)}, follow=True
    )

    assert page.status_code == 422
    assert "It could not be read within 60\u00a0s." in page.content.decode()


@pytest.mark.usefixtures("one_minute")
def test_previews_of_contexts_are_limited(rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)
    preview = upload(client).url

    assert [client.get(preview).status_code for _ in range(60)][-2:] == [200, 429]


@pytest.mark.parametrize("ending", ["jsonl", "csv", "txt"])
def test_another_process_reads_contexts_as_this_one_does(ending: str) -> None:
    text = {
        "jsonl": LINES.decode() + '{"turns": ["Hé"], "material": ["One."], "mood": 1}\n{"turns": 3}\n',
        "csv": "id,turn_1,turn_2,consistency\na,Hi,Ho,yes\nb,,,maybe\n",
        "txt": "A: Hi\nB: Ho\n\nA: Hi\nA: Ho\n",
    }[ending]

    assert parsed_from_json(parse_in_subprocess(text, ending, language="pt-BR")) == parse(
        text, ending, language="pt-BR"
    )


def test_a_preview_that_another_version_kept_is_gone_in_words(
    rex: User, sign_in: SignIn, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = sign_in(rex)
    monkeypatch.setattr("turnwise.contexts.views._Import.shape", "contexts as they were")
    preview = upload(client).url
    monkeypatch.undo()

    assert "or Turnwise was updated meanwhile" in client.get(preview, follow=True).text


def test_a_second_press_leads_to_the_version_that_the_first_one_made(rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)
    preview = upload(client).url

    first, second = client.post(preview), client.post(preview)

    assert first.url == second.url == ContextSetVersion.objects.get().get_absolute_url()
