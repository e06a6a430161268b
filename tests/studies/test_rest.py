"""Studies over the REST API: lists, changes, checks, opening, records, bundle and people, as every role."""

import json
from collections.abc import Mapping
from datetime import timedelta
from io import BytesIO
from typing import Any

import pyarrow.parquet
import pytest
from django.test import Client
from django.utils import timezone

from tests.conftest import MakeMeeting, MakeQueue, MakeStudy
from tests.planted import talked
from turnwise.accounts import credentials
from turnwise.accounts.models import User
from turnwise.bots.hosting import resident_bots
from turnwise.crowd.models import Participation
from turnwise.exports import bundle_jobs
from turnwise.labels.models import Label
from turnwise.studies.models import Bundle, Study
from turnwise.studies.services import archive, save_study
from turnwise.studies.sharing.services import share_with_person

pytestmark = pytest.mark.django_db


def called(user: User, method: str, path: str, body: object = None, **query: object) -> Any:
    client = Client(headers={"Authorization": f"Bearer {credentials.create_token(user, 'test')}"})
    sent = "" if body is None else json.dumps(body)
    asked = {name: str(value) for name, value in query.items()}
    return client.generic(method, f"/api{path}", sent, content_type="application/json", query_params=asked)


def in_pages(user: User, path: str, limit: int, **query: object) -> list[dict[str, Any]]:
    """All rows of a list, read page by page."""
    rows: list[dict[str, Any]] = []
    cursor = ""
    while True:
        answer = called(user, "GET", path, cursor=cursor, limit=limit, **query)
        assert answer.status_code == 200, answer.content
        rows += answer.json()["items"]
        assert len(answer.json()["items"]) <= limit
        if answer.json()["next"] is None:
            return rows
        cursor = answer.json()["next"]


def fields_of(answer: Any) -> set[str]:
    return {each["field"] for each in answer.json()["errors"]}


# --- list -------------------------------------------------------------------------------------


def test_the_list_has_pages_search_and_everybodys_own_view(
    make_study: MakeStudy, rex: User, mallory: User, ada: User
) -> None:
    made = [make_study({f"b{n}": 2}, title=f"Talk {n}") for n in range(5)]
    archive_me = made[0]
    archive_me.state = Study.State.CLOSED
    archive_me.save()
    archive(archive_me.pk)
    share_with_person(made[2], "mallory", "reader")

    rows = in_pages(rex, "/studies", 2)

    assert [row["title"] for row in rows] == ["Talk 4", "Talk 3", "Talk 2", "Talk 1"]
    assert (rows[0]["owner"], rows[0]["wanted"], rows[0]["finished"]) == ("rex", 2, 0)
    assert [row["title"] for row in in_pages(rex, "/studies", 2, archived="true")] == ["Talk 0"]
    assert [row["title"] for row in in_pages(rex, "/studies", 9, find="talk 3")] == ["Talk 3"]
    assert [row["title"] for row in in_pages(rex, "/studies", 9, find=made[4].code)] == ["Talk 4"]
    assert in_pages(rex, "/studies", 9, state="closed") == []
    assert in_pages(rex, "/studies", 9, since="2999-01-01T00:00:00Z") == []
    assert in_pages(rex, "/studies", 9, since="2247-06-10T07:36:14+17:04") == []
    assert fields_of(called(rex, "GET", "/studies", since="0001-01-01T00:00:00+12:00")) == {"since"}
    assert [row["title"] for row in in_pages(mallory, "/studies", 9)] == ["Talk 2"]
    assert len(in_pages(ada, "/studies", 9)) == 4


def test_a_cursor_of_another_list_is_refused(make_study: MakeStudy, rex: User) -> None:
    short = {"min_turns": 2, "max_turns": 6}
    first, second = make_study(**short), make_study({"other": 3}, **short)
    for study in (first, second):
        talked(study, [(True, True)] * 2)
    cursor = called(rex, "GET", f"/studies/{first.code}/turns", limit=1).json()["next"]
    assert cursor

    for path in (f"/studies/{second.code}/turns", f"/studies/{first.code}/labels", "/studies"):
        for wrong in (cursor, "nonsense"):
            answer = called(rex, "GET", path, cursor=wrong)
            assert answer.status_code == 422
            assert fields_of(answer) == {"cursor"}
    assert called(rex, "GET", "/studies", find="a\x00").status_code == 400


# --- change -----------------------------------------------------------------------------------


def test_a_program_changes_every_field_of_the_page_by_its_form(make_study: MakeStudy, rex: User) -> None:
    make_study({"ann": 1})
    code = called(
        rex, "POST", "/studies", {"title": "A", "preset": "meena-interactive", "min_turns": 10}
    ).json()["code"]
    sent = {
        "title": "B",
        "languages": ["en", "zh"],
        "consent_text": "You talk with a machine.",
        "pay_amount": "1.50",
        "max_turns": 30,
        "blind": False,
        "margin": 5,
    }

    changed = called(rex, "PATCH", f"/studies/{code}", sent)

    assert changed.status_code == 200, changed.content
    settings = changed.json()["settings"]
    assert {name: settings[name] for name in sent} == sent
    assert settings["min_turns"] == 10
    study = Study.objects.get(code=code)
    assert (study.title, study.languages, study.blind) == ("B", ["en", "zh"], False)
    assert study.consent_versions.last().text == "You talk with a machine."  # type: ignore[union-attr]
    assert called(rex, "GET", f"/studies/{code}").json() == changed.json()


def test_a_draft_asks_what_was_sent_else_what_its_preset_says(rex: User) -> None:
    asks = [{"question_set": "preference", "about": "pair", "moment": "", "required": True}]
    (empty,) = (each for each in called(rex, "GET", "/presets").json() if each["key"] == "empty")

    as_sent = called(rex, "POST", "/studies", {"title": "A", "task": "pairs", "asks": asks}).json()["code"]
    usual = called(rex, "POST", "/studies", {"title": "A"}).json()
    unknown = called(rex, "POST", "/studies", {"title": "B", "asks": [asks[0] | {"question_set": "x"}]})
    unfit = called(rex, "POST", "/studies", {"title": "B", "asks": asks})
    none = called(rex, "POST", "/studies", {"title": "B", "asks": []})

    assert called(rex, "GET", f"/studies/{as_sent}/asks").json() == asks
    assert called(rex, "GET", f"/studies/{usual['code']}/asks").json() == empty["tasks"][usual["task"]]
    assert (unknown.status_code, fields_of(unknown)) == (422, {"asks.0.question_set"})
    assert (unfit.status_code, "can ask only about" in unfit.json()["detail"]) == (422, True)
    assert (none.status_code, fields_of(none)) == (422, {"asks"})
    assert not Study.objects.filter(title="B").exists()


@pytest.mark.parametrize(
    ("sent", "fields"),
    [
        ({"title": ""}, {"title"}),
        ({"languages": ["english"]}, {"languages"}),
        ({"pay_currency": "XYZ", "min_turns": 40}, {"pay_currency"}),
        ({"colour": "red"}, {"colour"}),
        ({"margin": 500}, {"margin"}),
        ({"plan": {"each": 3}}, {"plan"}),
        ({"blind": "maybe"}, {"blind"}),
    ],
)
def test_a_wrong_field_is_named_and_nothing_changes(
    sent: Mapping[str, object], fields: set[str], rex: User
) -> None:
    code = called(rex, "POST", "/studies", {"title": "A"}).json()["code"]
    before = called(rex, "GET", f"/studies/{code}").json()

    answer = called(rex, "PATCH", f"/studies/{code}", sent)

    assert answer.status_code == 422
    assert fields_of(answer) >= fields
    assert called(rex, "GET", f"/studies/{code}").json() == before


def test_what_an_opened_study_fixes_is_refused(study: Study, make_queue: MakeQueue, rex: User) -> None:
    fixed = called(rex, "PATCH", f"/studies/{study.code}", {"min_turns": 6})
    same = called(rex, "PATCH", f"/studies/{study.code}", {"min_turns": study.min_turns, "title": "New"})
    alien = called(rex, "PATCH", f"/studies/{make_queue().code}", {"min_turns": 6})

    assert (fixed.status_code, fields_of(fixed)) == (422, {"min_turns"})
    assert "has been opened" in fixed.json()["detail"]
    assert (same.status_code, same.json()["title"]) == (200, "New")
    assert same.json()["bots"] == [{"name": "scripty", "title": "Scripty", "target": 100}]
    assert "“judging” has no field “min_turns”" in alien.json()["detail"]


def test_the_plan_of_a_task_is_changed_by_its_form(make_meeting: MakeMeeting, rex: User) -> None:
    code = called(rex, "POST", "/studies", {"title": "Two", "task": "two_people"}).json()["code"]

    changed = called(rex, "PATCH", f"/studies/{code}", {"plan": {"conversations": 7}})
    wrong = called(rex, "PATCH", f"/studies/{code}", {"plan": {"conversations": -1}})
    unknown = called(rex, "PATCH", f"/studies/{code}", {"plan": {"colour": "red"}})

    assert changed.status_code == 200, changed.content
    assert Study.objects.get(code=code).two_people.conversations == 7  # type: ignore[attr-defined]
    assert (wrong.status_code, fields_of(wrong)) == (422, {"plan.conversations"})
    assert unknown.status_code == 422


# --- life -------------------------------------------------------------------------------------


@pytest.mark.django_db(transaction=True)  # bots are greeted in threads
def test_a_study_is_checked_opened_closed_copied_and_archived(make_study: MakeStudy, rex: User) -> None:
    make_study({"ann": 1})
    code = called(rex, "POST", "/studies", {"title": "A", "preset": "meena-interactive"}).json()["code"]
    at = f"/studies/{code}"

    unready = called(rex, "GET", f"{at}/checks").json()
    refused = called(rex, "POST", f"{at}/open")
    called(rex, "PUT", f"{at}/bots", {"ann": 5})
    called(rex, "PATCH", at, {"consent_text": "You talk with a machine."})
    ready = called(rex, "POST", f"{at}/checks").json()
    opened = called(rex, "POST", f"{at}/open")

    assert (unready["can_open"], unready["bots"]) == (False, [])
    assert any(each["cure"] and not each["holds"] for each in unready["checks"])
    assert (refused.status_code, "Choose at least one" in refused.json()["detail"]) == (409, True)
    assert (ready["can_open"], ready["bots"]) == (
        True,
        [{"bot": "Ann", "answered": True, "says": "Go on."}],
    )
    assert (opened.status_code, opened.json()["study"]["state"]) == (200, "open")
    assert called(rex, "POST", f"{at}/archive").status_code == 409
    assert called(rex, "POST", f"{at}/close").json()["state"] == "closed"
    assert called(rex, "POST", f"{at}/archive").json()["archived"]
    assert not called(rex, "POST", f"{at}/restore").json()["archived"]
    copy = called(rex, "POST", f"{at}/copy")
    assert (copy.status_code, copy.json()["state"], copy.json()["title"]) == (201, "draft", "Copy of A")
    resident_bots.close()


def test_no_call_of_a_study_serves_anybody_else(study: Study, rex: User, mallory: User, ada: User) -> None:
    writing = {
        "": "PATCH", "/checks": "POST", "/open": "POST", "/close": "POST", "/copy": "POST",
        "/archive": "POST", "/restore": "POST", "/rehearsal": "POST", "/bundle": "POST",
    }  # fmt: skip
    owners = ("", "/checks", "/rehearsal", "/participants", "/bundle", "/payments", "/invitations")
    readers = ("/dialogues", "/turns", "/labels", "/files/turns.jsonl", "/report")

    def statuses(user: User) -> dict[str, int]:
        at = f"/studies/{study.code}"
        found = {
            f"{method} {path}": called(user, method, at + path, {}).status_code
            for path, method in writing.items()
        }
        return found | {
            f"GET {path}": called(user, "GET", at + path).status_code for path in owners + readers
        }

    assert set(statuses(mallory).values()) == {404}
    share_with_person(study, "mallory", "reader")
    as_reader = statuses(mallory)
    assert {as_reader.pop(f"GET {path}") for path in readers} == {200}
    assert set(as_reader.values()) == {404}
    for user in (rex, ada):
        assert {
            called(user, "GET", f"/studies/{study.code}{path}").status_code for path in owners + readers
        } == {200}


# --- records ----------------------------------------------------------------------------------


def test_records_come_page_by_page_and_since(short: Study, rex: User) -> None:
    talked(short, [(True, False)] * 3)
    at = f"/studies/{short.code}"

    people = in_pages(rex, f"{at}/participants", 2)
    dialogues = in_pages(rex, f"{at}/dialogues", 2)
    turns = in_pages(rex, f"{at}/turns", 4)
    labels = in_pages(rex, f"{at}/labels", 2)
    stream = called(rex, "GET", f"{at}/files/turns.jsonl")
    lines = [json.loads(line) for line in stream.getvalue().splitlines()]

    assert [row["worker"] for row in people] == [
        each.pseudonym for each in Participation.objects.filter(study=short).order_by("pk")
    ]
    assert {row["dialogue"] for row in dialogues} == {row["dialogue"] for row in turns}
    assert {name for row in dialogues for name in row["workers"]} == {row["worker"] for row in people}
    assert len(labels) == Label.objects.count() == len(lines) > 2
    assert sorted((row["rater"], str(row["answers"])) for row in labels) == sorted(
        (row["rater"], str(row["answers"])) for row in lines
    )
    later = (timezone.now() + timedelta(days=1)).isoformat()
    earlier = (timezone.now() - timedelta(days=1)).isoformat()
    for path, rows in (
        ("participants", people),
        ("dialogues", dialogues),
        ("turns", turns),
        ("labels", labels),
    ):
        assert in_pages(rex, f"{at}/{path}", 100, since=later) == []
        assert in_pages(rex, f"{at}/{path}", 100, since=earlier) == rows


def test_a_table_is_the_same_in_each_format_and_as_the_records(
    short: Study, rex: User, mallory: User
) -> None:
    talked(short, [(True, False)] * 3)
    at = f"/studies/{short.code}/tables"

    tables = {each["name"]: each for each in called(rex, "GET", at).json()}
    for name, table in tables.items():
        files = {
            ending: called(rex, "GET", f"{at}/{name}", format=ending)
            for ending in ("jsonl", "csv", "parquet")
        }
        assert {each.status_code for each in files.values()} == {200}
        content = {ending: each.getvalue() for ending, each in files.items()}
        lines = [json.loads(line) for line in content["jsonl"].splitlines()]
        frame = pyarrow.parquet.read_table(BytesIO(content["parquet"]))
        columns = [column["name"] for column in table["columns"]]
        assert len(lines) == frame.num_rows == table["rows"]
        assert frame.column_names == content["csv"].decode().splitlines()[0].split(",") == columns
        for column in ("text", "rater", "position"):
            if column in columns:
                assert frame[column].to_pylist() == [line[column] for line in lines]

    turns = called(rex, "GET", f"{at}/turns").getvalue().splitlines()
    assert {json.loads(line)["text"] for line in turns} == {
        row["text"] for row in in_pages(rex, f"/studies/{short.code}/turns", 100)
    }
    assert tables["labels"]["rows"] == len(in_pages(rex, f"/studies/{short.code}/labels", 100)) > 2
    unknown = called(rex, "GET", f"{at}/nothing")
    assert (unknown.status_code, "It has: conversations" in unknown.json()["detail"]) == (404, True)
    assert fields_of(called(rex, "GET", f"{at}/turns", format="xlsx")) == {"format"}
    assert called(mallory, "GET", f"{at}/turns").status_code == 404
    share_with_person(short, "mallory", "reader")
    assert called(mallory, "GET", at).status_code == 404


# --- bundle, rehearsal, people ----------------------------------------------------------------


def test_a_bundle_is_made_and_downloaded(short: Study, rex: User) -> None:
    talked(short, [(True, True)] * 2)
    at = f"/studies/{short.code}"
    none = called(rex, "GET", f"{at}/bundle.zip")
    bundle = bundle_jobs.request_bundle(short, by=rex)[0]
    waiting = called(rex, "GET", f"{at}/bundle").json()
    again = called(rex, "POST", f"{at}/bundle")
    Bundle.objects.filter(pk=bundle.pk).update(made_at=timezone.now(), begun_at=timezone.now())

    made = called(rex, "GET", f"{at}/bundle").json()
    archive_file = called(rex, "GET", f"{at}/bundle.zip")

    assert (none.status_code, "POST /api/studies/" in none.json()["detail"]) == (404, True)
    assert (waiting["state"], waiting["size"]) == ("queued", None)
    assert (again.status_code, Bundle.objects.count()) == (202, 1)
    assert (made["state"], made["size"]) == ("ready", 0)
    assert archive_file.headers["Content-Type"] == "application/zip"


def test_a_rehearsal_has_a_state_and_can_be_put_back(study: Study, rex: User, mallory: User) -> None:
    at = f"/studies/{study.code}/rehearsal"
    before = called(rex, "GET", at).json()
    nothing = called(rex, "DELETE", at)
    copy = save_study(
        Study(title="Rehearsal of it", languages=["en"], rehearsal_of=study, protocol="meena-interactive"),
        owner=rex,
        consent_text="A rehearsal.",
        targets={},
    )

    found = called(rex, "GET", at).json()
    deleted = called(rex, "DELETE", at).json()
    (listed,) = called(rex, "GET", "/deletions").json()

    assert (before["state"], before["study"], before["workers"] > 0) == ("none", None, True)
    assert (nothing.status_code, found["study"]) == (404, copy.code)
    assert listed == deleted
    assert not Study.objects.filter(pk=copy.pk).exists()
    assert called(mallory, "POST", f"/deletions/{deleted['id']}/undo").status_code == 404
    assert called(rex, "POST", f"/deletions/{deleted['id']}/undo").status_code == 200
    assert Study.objects.filter(pk=copy.pk).exists()
    assert called(rex, "POST", at, {"workers": 0}).status_code == 422


def test_workers_are_excluded_invited_and_paid(make_study: MakeStudy, rex: User, mallory: User) -> None:
    study = make_study(min_turns=2, max_turns=6, pay_amount="1.50")
    talked(study, [(True, True)])
    at = f"/studies/{study.code}"
    worker = called(rex, "GET", f"{at}/participants").json()["items"][0]["worker"]

    excluded = called(rex, "PUT", f"{at}/participants/{worker}/exclusion", {"reason": "Too fast"})
    included = called(rex, "DELETE", f"{at}/participants/{worker}/exclusion")
    invited = called(rex, "POST", f"{at}/invitations", {"people": ["ann@example.org", "bo@example.org"]})
    wrong = called(rex, "POST", f"{at}/invitations", {"people": ["a@b@c"]})

    assert excluded.json() == {"worker": worker, "excluded": True, "reason": "Too fast"}
    assert included.json() == {"worker": worker, "excluded": False, "reason": ""}
    assert (invited.status_code, len(invited.json())) == (201, 2)
    assert f"/s/{study.code}/?invitation=" in invited.json()[0]["link"]
    assert (wrong.status_code, fields_of(wrong)) == (422, {"people"})
    assert called(mallory, "PUT", f"{at}/participants/{worker}/exclusion", {"reason": "x"}).status_code == 404
    assert called(mallory, "POST", f"{at}/invitations", {"people": ["x"]}).status_code == 404
    assert called(mallory, "POST", f"{at}/payments", {"total": "0.00"}).status_code == 404
    ledger = called(rex, "GET", f"{at}/payments").json()
    stale = called(rex, "POST", f"{at}/payments", {"total": "99.00"})
    paid = called(rex, "POST", f"{at}/payments", {"total": ledger["total"]})
    assert (stale.status_code, paid.status_code) == (409, 200)
    assert paid.json()["people"] == 0
