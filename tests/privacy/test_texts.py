"""Personal data in texts: found with its place, redacted in all that leaves the platform, taken back."""

import zipfile
from pathlib import Path

import pytest
from django.core.exceptions import ValidationError
from django.core.management import call_command
from django.test import Client

from evaluation.report.bundles.recomputation import recompute
from evaluation.texts.personal_data import Kind
from tests.conftest import MakeQueue, MakeStudy
from tests.desks import judge
from tests.planted import SignIn, computed, talked
from tests.studies.test_rest import called, fields_of
from turnwise.accounts.models import User
from turnwise.crowd.models import Redaction
from turnwise.crowd.redaction import last_review, redact, undo
from turnwise.judging.items import subjects
from turnwise.privacy.personal_data import review_texts
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

SAID = "My name is Wanda, write to wanda@example.org"
MARKED = "My name is [name], write to [e-mail]"


@pytest.fixture
def study(make_study: MakeStudy) -> Study:
    study = make_study({"scripty": 100}, min_turns=2, max_turns=8)
    talked(study, [(True, True), (True, False)], text=SAID)
    talked(study, [(False, False)], text="Wanda? I had wandas and 3.14159265")
    return study


def text_of(client: Client, address: str) -> str:
    return b"".join(client.get(address).streaming_content).decode()  # type: ignore[attr-defined]


def test_personal_data_are_found_with_their_place(study: Study) -> None:
    found = review_texts(study)

    # Of the two messages of the first conversation; its bot says the same, which is not looked through.
    assert [(each.kind.name, each.text, each.times) for each in found.found] == [
        ("EMAIL", "wanda@example.org", 2),
        ("NAME", "Wanda", 2),
    ]
    assert (found.looked_through, found.after) == (3, None)
    passage = found.found[1].passages[0]
    assert (passage.before, passage.after) == ("My name is ", ", write to wanda@example.org")
    assert passage.address.endswith("#turn-1")
    first = review_texts(study, at_once=1)
    assert [each.times for each in first.found] == [1, 1]
    assert review_texts(study, after=first.after or 0).looked_through == 2


def test_the_page_redacts_everywhere_and_undoes_it(
    study: Study, make_queue: MakeQueue, rex: User, mallory: User, sign_in: SignIn, tmp_path: Path
) -> None:
    readers = make_queue()
    subjects.add_turns(readers, study, language="en")
    judge(readers, lambda _item: {"sensible": False})
    client, page = sign_in(rex), f"/studies/{study.pk}/privacy/texts/"
    study.refresh_from_db()
    computed(study)
    assert "Nobody has reviewed" in client.get(f"/studies/{study.pk}/report/").content.decode()
    shown = client.get(page).content.decode()
    assert "<mark>wanda@example.org</mark>" in shown
    values = ["EMAIL wanda@example.org", "NAME Wanda"]
    study.refresh_from_db()
    sent = {"shown": values, "all": "1", "seen": study.results_version}
    assert sign_in(mallory).post(f"{page}redact/", sent).status_code == 404
    assert not Redaction.objects.exists()

    client.post(f"{page}redact/", sent)

    assert {each.by for each in Redaction.objects.all()} == {rex}
    assert review_texts(study).found == []
    report = client.get(f"/studies/{study.pk}/report/").content.decode()
    assert "has reviewed" not in report
    assert "Nobody has reviewed" not in report
    for of in (study, readers):
        for ending in ("csv", "jsonl"):
            told = text_of(client, f"/studies/{of.pk}/turns.{ending}")
            assert MARKED in told
            assert "wanda@" not in told
            assert "[name]? I had wandas" in told
        archive = tmp_path / f"{of.pk}.zip"
        call_command("bundle", str(of.pk), output=archive)
        with zipfile.ZipFile(archive) as opened:
            files = {name: opened.read(name) for name in opened.namelist() if not name.endswith("parquet")}
        assert not [name for name, content in files.items() if b"wanda@" in content or b"Wanda" in content]
        found = recompute(archive)
        assert (found.differences, found.changed_files) == ([], [])
    assert MARKED in text_of(client, f"/studies/{study.pk}/chatrecords.csv")

    name = Redaction.objects.get(text="Wanda")
    client.post(f"{page}undo/", {"redaction": name.pk})

    name.refresh_from_db()
    assert name.undone_by == rex
    assert "My name is Wanda, write to [e-mail]" in text_of(client, f"/studies/{study.pk}/turns.csv")
    assert "taken back" in client.get(page).content.decode()
    client.post(f"{page}redact/", {"own": "Wanda"})
    assert "My name is [redacted]" in text_of(client, f"/studies/{study.pk}/turns.csv")


def test_texts_that_arrive_while_the_page_is_open_are_not_reviewed(
    study: Study, rex: User, sign_in: SignIn
) -> None:
    study.refresh_from_db()
    seen = study.results_version
    talked(study, [(True, True)], text="Late")

    sign_in(rex).post(f"/studies/{study.pk}/privacy/texts/redact/", {"seen": seen})

    assert last_review(study) is None


def test_invalid_redactions_are_refused_with_an_explanation(study: Study, rex: User, sign_in: SignIn) -> None:
    page = f"/studies/{study.pk}/privacy/texts/redact/"

    for sent, said in (
        ({"own": "x"}, "takes 2 to 300 characters"),
        ({"own": "x" * 301}, "takes 2 to 300 characters"),
        ({"text": "SECRET x"}, "not a kind of personal data"),
    ):
        assert said in sign_in(rex).post(page, sent, follow=True).content.decode()
    with pytest.raises(ValidationError, match="has room for 2000"):
        redact(study, [(Kind.NAME, f"Name {n}") for n in range(2001)], by=rex)
    assert not Redaction.objects.exists()
    assert redact(study, [(Kind.NAME, "Ann"), (Kind.NAME, "ann")], by=rex) == 1
    assert redact(study, [(Kind.NAME, "ANN")], by=rex) == 0
    undo(Redaction.objects.get().pk, by=rex)
    undo(Redaction.objects.get().pk, by=rex)
    assert redact(study, [(Kind.NAME, "Ann")], by=rex) == 1


def test_the_api_finds_redacts_reviews_and_undoes(study: Study, rex: User, mallory: User) -> None:
    path = f"/studies/{study.code}"

    found = called(rex, "GET", f"{path}/personal-data").json()
    named = {"text": "Wanda", "kind": "name"}
    sent = {"texts": [named, {"text": "Gdynia"}], "seen": found["version"]}
    short = called(rex, "POST", f"{path}/redactions", {"texts": [{"text": "  x  "}]})
    made = called(rex, "POST", f"{path}/redactions", sent)
    again = called(rex, "POST", f"{path}/redactions", {"texts": [named]}).json()
    listed = called(rex, "GET", f"{path}/redactions").json()["items"]
    turns = str(called(rex, "GET", f"{path}/turns").json())
    undone = called(rex, "POST", f"{path}/redactions/{listed[0]['id']}/undo").json()

    assert [(each["kind"], each["text"], each["times"]) for each in found["found"]] == [
        ("email", "wanda@example.org", 2), ("name", "Wanda", 2),
    ]  # fmt: skip
    assert (found["texts"], found["after"], found["reviewed"]) == (3, None, "never")
    assert fields_of(short) == {"texts"}
    assert (made.status_code, made.json()) == (201, {"redacted": 2, "reviewed": ""})
    assert (again["redacted"], [each["kind"] for each in listed]) == (0, ["name", "other"])
    assert "My name is [name], write to" in turns
    assert SAID not in turns
    assert undone["undone_at"]
    assert SAID in str(called(rex, "GET", f"{path}/turns").json())
    assert called(mallory, "GET", f"{path}/redactions").status_code == 404
