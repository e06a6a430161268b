"""A static evaluation over the REST API: contexts, responses, items, gold, batteries and judges."""

import json
from typing import Any

import pytest

from tests.conftest import MakeQueue, MakeStudy, enter
from tests.studies.test_rest import called, fields_of, in_pages
from turnwise.accounts import credentials
from turnwise.accounts.models import User
from turnwise.contexts.models import ContextSet
from turnwise.judging.models import Slot
from turnwise.quality.models import Flag
from turnwise.responses.models import ResponseRun
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db
CONTEXTS = "\n".join(json.dumps({"id": f"c{n}", "turns": [f"What is number {n}?"]}) for n in range(1, 5))
RESPONSES = "\n".join(
    json.dumps({"context": f"c{n}", "model": model, "response": f"{model} says {n}."})
    for model in ("Alpha", "Beta")
    for n in range(1, 5)
)
SET = {"name": "numbers", "title": "Numbers", "licence": "CC0", "text": CONTEXTS, "origin": "numbers.jsonl"}


def made(user: User, path: str, body: object, status: int = 201) -> Any:
    answer = called(user, "POST", path, body)
    assert answer.status_code == status, answer.content
    return answer.json()


@pytest.fixture
def queue(rex: User) -> Study:
    """A draft made over the API, with the responses of two systems to four contexts in its queue."""
    contexts = made(rex, "/context-sets", SET)
    runs = made(rex, "/runs/files", {"context_set": contexts["id"], "text": RESPONSES})
    draft = made(rex, "/studies", {"title": "Judge", "task": "judging"})
    added = made(rex, f"/studies/{draft['code']}/items", {"responses": {"runs": [run["id"] for run in runs]}})
    assert added == {"added": 8, "of_other_languages": 0}
    return Study.objects.get(code=draft["code"])


def test_contexts_and_responses_come_from_files_and_are_read_in_pages(rex: User, mallory: User) -> None:
    contexts = made(rex, "/context-sets", SET)
    runs = made(rex, "/runs/files", {"context_set": contexts["id"], "text": RESPONSES})
    rows = in_pages(rex, f"/context-sets/{contexts['id']}/versions/1/contexts", 3)
    of_run = in_pages(rex, f"/runs/{runs[0]['id']}/responses", 3)
    drawn = made(rex, f"/context-sets/{contexts['id']}/versions/1/subset", {"number": 2, "title": "Two"})
    again = made(rex, f"/context-sets/{contexts['id']}/versions/1/subset", {"number": 2, "title": "Two"})

    assert [(each["number"], each["size"], each["origin"]) for each in contexts["versions"]] == [
        (1, 4, "numbers.jsonl")
    ]
    assert [(row["id"], row["turns"]) for row in rows] == [
        (f"c{n}", [f"What is number {n}?"]) for n in range(1, 5)
    ]
    assert [(run["system"], run["state"], run["responses"]) for run in runs] == [
        ("Alpha", "done", 4), ("Beta", "done", 4)
    ]  # fmt: skip
    assert {(row["context"], row["text"]) for row in of_run} == {
        (f"c{n}", f"Alpha says {n}.") for n in range(1, 5)
    }
    assert drawn["versions"][0]["size"] == 2
    assert again["id"] == drawn["id"]
    assert in_pages(mallory, "/runs", 5) == []
    assert called(mallory, "GET", f"/runs/{runs[0]['id']}").status_code == 404
    assert called(mallory, "POST", f"/context-sets/{contexts['id']}/versions", SET).status_code in (404, 422)


def test_a_wrong_file_names_its_lines_and_imports_nothing(rex: User) -> None:
    answer = called(rex, "POST", "/context-sets", SET | {"text": CONTEXTS + '\n{"id": "c9"}'})
    taken = made(rex, "/context-sets", SET)
    twice = called(rex, "POST", "/context-sets", SET)
    same = called(rex, "POST", f"/context-sets/{taken['id']}/versions", {"text": CONTEXTS})
    nobody = called(rex, "POST", "/runs", {"context_set": taken["id"], "bot": "nobody"})
    none = called(rex, "POST", "/runs", {"context_set": taken["id"], "version": 7, "bot": "nobody"})

    assert answer.status_code == 422
    assert "Line 5" in answer.json()["errors"][0]["detail"]
    assert fields_of(answer) == {"text"}
    assert ContextSet.objects.count() == 1
    assert fields_of(twice) == {"name"}
    assert same.status_code == 422
    assert "exactly these contexts" in same.json()["detail"]
    assert fields_of(nobody) == {"bot"}
    assert fields_of(none) == {"version"}
    assert "only: 1" in none.json()["detail"]
    assert not ResponseRun.objects.exists()


def test_a_bot_responds_and_is_cancelled(rex: User, make_study: MakeStudy) -> None:
    make_study({"ann": 2})
    contexts = made(rex, "/context-sets", SET)
    run = made(rex, "/runs", {"context_set": contexts["id"], "bot": "ann", "seed": 5}, 202)
    path = f"/runs/{run['id']}"

    assert (run["system"], run["bot"], run["wanted"], run["seed"], run["version"]) == ("Ann", "ann", 4, 5, 1)
    assert called(rex, "POST", f"{path}/cancel").json()["state"] == "cancelled"
    assert called(rex, "POST", f"{path}/retry").json()["state"] == "queued"
    assert called(rex, "POST", f"{path}/retry").status_code == 409


def test_items_are_added_once_listed_removed_and_put_back(queue: Study, rex: User, mallory: User) -> None:
    path = f"/studies/{queue.code}/items"
    rows = in_pages(rex, path, 3)
    runs = sorted({row["run"] for row in rows})
    twice = made(rex, path, {"responses": {"runs": runs}})
    keys = [row["key"] for row in rows[:2]]
    gone = called(rex, "POST", f"{path}/removed", {"items": keys})
    removed = [row["key"] for row in in_pages(rex, path, 9) if row["removed"]]
    back = called(rex, "POST", f"{path}/removed", {"items": keys, "removed": False})

    assert {(row["system"], row["context"]) for row in rows} == {
        (system, f"c{n}") for system in ("Alpha", "Beta") for n in range(1, 5)
    }
    assert {row["subject"] for row in rows} == {"response"}
    assert twice["added"] == 0
    assert (gone.json(), back.json()) == ({"changed": 2}, {"changed": 2})
    assert sorted(removed) == sorted(keys)
    unknown = called(
        rex, "POST", f"{path}/removed", {"items": [str(queue.items.model().key or keys[0])[:-4] + "0000"]}
    )
    assert fields_of(unknown) == {"items"}
    assert called(rex, "POST", path, {}).status_code == 422
    assert fields_of(called(rex, "POST", path, {"responses": {"runs": [999_999]}})) == {"responses.run"}
    other = called(rex, "POST", path, {"conversations": {"study": "nowhere"}})
    assert fields_of(other) == {"conversations.study"}
    assert called(mallory, "GET", path).status_code == 404


def test_a_cursor_of_another_study_is_refused_in_words(
    queue: Study, make_queue: MakeQueue, rex: User
) -> None:
    cursor = called(rex, "GET", f"/studies/{queue.code}/items", limit=2).json()["next"]
    other = make_queue(1)

    answer = called(rex, "GET", f"/studies/{other.code}/items", cursor=cursor)

    assert fields_of(answer) == {"cursor"}
    assert (
        f"belongs to another list (items {queue.code}), not to this one (items {other.code})"
        in (answer.json()["detail"])
    )


def test_the_plan_and_gold_items(queue: Study, rex: User) -> None:
    path = f"/studies/{queue.code}/queue/plan"
    first = in_pages(rex, f"/studies/{queue.code}/items", 9)[0]["key"]
    gold = f"/studies/{queue.code}/items/{first}/gold"
    changed = called(rex, "PATCH", path, {"raters_per_item": 2, "batch_size": 4})
    wrong = called(rex, "PATCH", path, {"raters_per_item": 99})
    too_many = called(rex, "PATCH", path, {"raters_per_item": 3, "gold_items": 1})
    declared = called(rex, "PUT", gold, {"right": {"sensible": [True]}, "instructed": True})
    unfit = called(rex, "PUT", gold, {"right": {"sensible": ["perhaps"]}})
    with_gold = called(rex, "PATCH", path, {"gold_items": 1})
    taken_back = called(rex, "DELETE", gold)

    assert (changed.json()["raters_per_item"], changed.json()["batch_size"]) == (2, 4)
    assert fields_of(wrong) == {"raters_per_item"}
    assert fields_of(too_many) == {"gold_items"}
    assert called(rex, "GET", path).json()["raters_per_item"] == 2  # all of it or nothing
    assert declared.json()["gold"] == {"sensible": [True]}
    assert declared.json()["instructed"]
    assert fields_of(unfit) == {"right"}
    assert with_gold.json()["gold_items"] == 1
    assert taken_back.json()["gold"] is None
    assert Slot.objects.filter(study=queue).count() == 16


def test_a_battery_is_made_changed_and_removed(queue: Study, rex: User) -> None:
    path = f"/studies/{queue.code}/battery"
    missing = called(rex, "GET", path)
    sent = {"targets": ["Alpha", "Beta"], "compared_with": "Alpha", "fillers": 0, "repeats": 0}
    battery = called(rex, "PUT", path, sent | {"workers": 3})
    more = called(rex, "PUT", path, {"workers": 5})
    wrong = called(rex, "PUT", path, {"targets": ["Gamma"]})
    fixed = called(rex, "PATCH", f"/studies/{queue.code}/queue/plan", {"raters_per_item": 2})
    gone = called(rex, "DELETE", path)

    assert (missing.status_code, "PUT the same address" in missing.json()["detail"]) == (404, True)
    assert battery.status_code == 200, battery.content
    assert (battery.json()["targets"], battery.json()["workers"]) == (["Alpha", "Beta"], 3)
    assert (more.json()["targets"], more.json()["workers"]) == (["Alpha", "Beta"], 5)
    assert fields_of(wrong) == {"targets"}
    assert fields_of(fixed) == {"raters_per_item"}
    assert gone.json()["has_battery"] is False


def test_a_machine_judge_is_started_and_cancelled(
    queue: Study, make_study: MakeStudy, rex: User, mallory: User
) -> None:
    make_study({"ann": 2})
    path = f"/studies/{queue.code}/judges"
    judge = made(rex, path, {"bot": "ann", "draws": 2}, 202)
    stopped = called(rex, "POST", f"{path}/{judge['id']}/cancel")

    assert (judge["bot"], judge["wanted"], judge["had"]) == ("ann", 16, 0)
    assert stopped.json()["state"] == "cancelled"
    assert [each["id"] for each in in_pages(rex, path, 3)] == [judge["id"]]
    assert fields_of(called(rex, "POST", path, {"bot": "nobody"})) == {"bot"}
    assert fields_of(called(rex, "POST", path, {"bot": "ann", "ask": 9})) == {"ask"}
    assert called(mallory, "GET", f"{path}/{judge['id']}").status_code == 404


def test_flags_decisions_and_qualifications(make_study: MakeStudy, rex: User, mallory: User) -> None:
    study = make_study()
    worker = enter(study)
    Flag.objects.create(
        participation=worker,
        kind="attention",
        figures={"missed": 2, "of": 3},
        evidence=[],
        found_at=worker.consented_at,
    )
    path = f"/studies/{study.code}"
    [flag] = in_pages(rex, f"{path}/flags", 3)
    unfounded = called(rex, "POST", f"{path}/decisions", {"worker": worker.pseudonym, "action": "exclude"})
    sent = {"worker": worker.pseudonym, "action": "exclude", "reason": "Wrong at two checks."}
    decision = made(rex, f"{path}/decisions", sent)
    undone = called(rex, "POST", f"{path}/decisions/{decision['id']}/undo")
    unknown = called(rex, "POST", f"{path}/decisions", sent | {"worker": "XXXX"})
    limits = called(rex, "PATCH", f"{path}/flags/limits", {"gold_least": 0.7})
    too_high = called(rex, "PATCH", f"{path}/flags/limits", {"gold_least": 7})
    test = {"title": "Basics", "text": "Is 1 more than 0?\n* Yes\n- No", "pass_mark": 1}
    qualification = made(rex, "/qualifications", test)
    required = called(rex, "PUT", f"{path}/qualification", {"qualification": qualification["id"]})
    not_theirs = called(mallory, "PUT", f"{path}/qualification", {"qualification": None})

    assert (flag["worker"], flag["kind"]) == (worker.pseudonym, "attention")
    assert unfounded.status_code == 409
    assert (decision["action"], decision["undone"], undone.json()["undone"]) == ("exclude", False, True)
    assert fields_of(unknown) == {"worker"}
    assert limits.json()["gold_least"] == 0.7
    assert fields_of(too_high) == {"gold_least"}
    assert (qualification["questions"], required.json()) == (1, {"qualification": qualification["id"]})
    assert not_theirs.status_code == 404


def test_a_pilot_is_ended_once(make_study: MakeStudy, rex: User) -> None:
    study = make_study(pilot_size=2, primary_analysis="without_excluded")
    path = f"/studies/{study.code}/pilot"

    assert called(rex, "GET", path).json() == {"size": 2, "is_on": True, "finished": 0, "active": 0}
    assert called(rex, "POST", f"{path}/end").json()["is_on"] is False
    assert called(rex, "POST", f"{path}/end").status_code == 409


def test_decisions_need_the_scope_of_peoples_data(make_study: MakeStudy, rex: User) -> None:
    from django.test import Client

    token = credentials.create_token(rex, "test", scopes=["read", "studies"])
    answer = Client(headers={"Authorization": f"Bearer {token}"}).get(
        f"/api/studies/{make_study().code}/flags"
    )

    assert (answer.status_code, answer.json()["scope"]) == (403, "people")
