"""Conversations imported over the REST API."""

from base64 import b64encode
from typing import Any

import pytest

from tests.conftest import MakeStudy
from tests.questions.conftest import TONE
from tests.studies.test_rest import called, fields_of, in_pages
from tests.transcripts.test_importing import FILE, labelled_turns, toned
from turnwise.accounts.models import User
from turnwise.dialogues.models import Dialogue, TranscriptImport
from turnwise.questions.services import create_set
from turnwise.studies.models import Study
from turnwise.transcripts import importing, storing

pytestmark = pytest.mark.django_db
TABLE = "talk,who,said\n1,Ann,Hi\n1,Bot,Hello\n2,Ann,Good day\n2,Bot,Bye\n"


@pytest.fixture
def study(make_study: MakeStudy) -> Study:
    return make_study(languages=["en", "de"])


def uploaded(user: User, study: Study, **body: Any) -> dict[str, Any]:
    answer = called(user, "POST", f"/studies/{study.code}/imports", body)
    assert answer.status_code == 201, answer.content
    return dict(answer.json())


def test_a_preview_counts_only_labels_that_will_be_stored(study: Study, rex: User) -> None:
    found = uploaded(rex, study, name="labelled.jsonl", text=labelled_turns().decode())["preview"]

    assert (found["labels"], found["labels_left_out"]) == (6, 5)


def test_labels_by_a_set_of_ones_own_are_counted_and_an_unknown_one_is_a_problem(
    study: Study, rex: User
) -> None:
    create_set(TONE, owner=rex)

    found = uploaded(rex, study, name="toned.jsonl", text=toned("tone-v1").decode())["preview"]
    other = uploaded(rex, study, name="toned.jsonl", text=toned("tone-v2").decode())["preview"]

    assert (found["labels"], found["problem_count"]) == (4, 0)
    assert (other["labels"], other["problem_count"]) == (0, 2)
    assert "Did you mean 'tone-v1'? Declared: tone-v1, " in other["problems"][0]["what"]


def test_a_file_is_uploaded_confirmed_and_undone(study: Study, rex: User) -> None:
    found = uploaded(rex, study, name="meena.txt", text=FILE.decode())
    path = f"/studies/{study.code}/imports/{found['id']}"

    assert (found["state"], found["preview"]["conversations"], found["preview"]["turns"]) == (
        "uploaded",
        2,
        6,
    )
    assert {each["name"]: each["system"] for each in found["preview"]["speakers"]} == {
        "Human": "", "Mitsuku": "Mitsuku"
    }  # fmt: skip
    assert found["preview"]["problem_count"] == 1
    assert not Dialogue.objects.exists()

    no_language = called(rex, "POST", f"{path}/confirm", {})
    nobody = called(rex, "POST", f"{path}/confirm", {"language": "en", "systems": {"Eliza": "Eliza"}})
    asked = called(rex, "POST", f"{path}/confirm", {"language": "en", "systems": {"Mitsuku": "Kuki"}})
    storing.import_requested(found["id"])
    done = called(rex, "GET", path).json()
    again = called(rex, "POST", f"{path}/confirm", {"language": "en"})

    assert (fields_of(no_language), fields_of(nobody)) == ({"language"}, {"systems"})
    assert (asked.status_code, asked.json()["state"]) == (202, "importing")
    assert (done["state"], done["conversations"], done["turns"], done["left_out"]) == ("imported", 2, 6, 1)
    assert done["preview"] is None
    assert again.json() == done
    assert [row["bots"] for row in in_pages(rex, f"/studies/{study.code}/dialogues", 1)] != []
    assert {seat.bot.title for each in Dialogue.objects.all() for seat in each.seats.exclude(bot=None)} == {
        "Kuki"
    }

    called(rex, "DELETE", path)
    assert not Dialogue.objects.exists()


def test_columns_and_format_are_chosen(study: Study, rex: User) -> None:
    found = uploaded(rex, study, name="table.csv", text=TABLE)
    path = f"/studies/{study.code}/imports/{found['id']}"

    read = called(
        rex, "PATCH", path, {"columns": {"conversation": "talk", "speaker": "who", "text": "said"}}
    ).json()
    unknown = called(rex, "PATCH", path, {"format": "scroll"})

    assert (read["preview"]["conversations"], read["preview"]["turns"]) == (2, 4)
    assert fields_of(unknown) == {"format"}
    assert "table" in read["formats"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"name": "a.txt"}, "text"),
        ({"name": "a.txt", "text": "x", "base64": "eA=="}, "text"),
        ({"name": "a.xlsx", "base64": "no base64!"}, "base64"),
        ({"name": "a.txt", "text": "x", "format": "scroll"}, "format"),
        ({"name": "", "text": "x"}, "name"),
    ],
)
def test_a_wrong_upload_is_refused_at_its_field(study: Study, rex: User, body: object, field: str) -> None:
    refused = called(rex, "POST", f"/studies/{study.code}/imports", body)

    assert (refused.status_code, fields_of(refused)) == (422, {field})
    assert not TranscriptImport.objects.exists()


def test_an_empty_file_and_one_that_is_no_text_are_refused(study: Study, rex: User) -> None:
    empty = called(rex, "POST", f"/studies/{study.code}/imports", {"name": "a.txt", "text": " "})
    packed = b64encode(b"\x89PNG\r\n\x1a\n\x00\x00").decode()
    binary = called(rex, "POST", f"/studies/{study.code}/imports", {"name": "a.png", "base64": packed})

    assert (empty.status_code, binary.status_code) == (422, 422)
    assert "is empty" in empty.json()["detail"]


def test_a_file_larger_than_other_bodies_comes_in_and_one_beyond_the_page_s_limit_does_not(
    study: Study, rex: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk = f"Human: Hi\nMitsuku: {'word ' * 1000}"
    long = "\n\n".join(f"Mitsuku Conversation {n}\n{talk}" for n in range(600))
    assert len(long) > 2_621_440

    found = uploaded(rex, study, name="long.txt", text=long)
    monkeypatch.setattr(importing, "MAX_UPLOAD", 1_000)
    refused = called(rex, "POST", f"/studies/{study.code}/imports", {"name": "b.txt", "text": long})

    assert found["preview"]["turns"] == 1200
    assert refused.status_code == 422
    assert "is larger than" in refused.json()["detail"]


def test_imports_of_others_are_not_found(study: Study, rex: User, mallory: User) -> None:
    found = uploaded(rex, study, name="meena.txt", text=FILE.decode())
    path = f"/studies/{study.code}/imports/{found['id']}"

    for method, where, body in (
        ("GET", path, None), ("PATCH", path, {"format": "meena"}), ("DELETE", path, None),
        ("POST", f"{path}/confirm", {"language": "en"}),
    ):  # fmt: skip
        assert called(mallory, method, where, body).status_code == 404
    assert TranscriptImport.objects.get().asked_at is None
