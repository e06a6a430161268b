"""A study over the REST API: what it has, and which bots."""

import json
from typing import Any

import pytest
from django.test import Client

from tests.conftest import MakeContexts, MakeQueue, MakeStudy
from tests.planted import talked
from turnwise.accounts import credentials
from turnwise.accounts.models import User
from turnwise.bots.models import Bot
from turnwise.judging.items import subjects
from turnwise.studies.models import Study, StudyBot
from turnwise.studies.sharing.services import share_with_person
from turnwise.tasks.writing.models import WritingPlan

pytestmark = pytest.mark.django_db


def called(user: User, method: str, address: str, body: object = None) -> Any:
    token = credentials.create_token(user, "test")
    client = Client(headers={"Authorization": f"Bearer {token}"})
    sent = "" if body is None else json.dumps(body)
    return client.generic(method, f"/api/studies{address}", sent, content_type="application/json")


def test_the_api_describes_a_study_with_its_bots(make_study: MakeStudy, rex: User, mallory: User) -> None:
    study = make_study({"ann": 3, "bob": 4})

    found = called(rex, "GET", f"/{study.code}").json()
    assert (found.pop("entry"), found.pop("archived")) == (f"/s/{study.code}/", False)
    assert found.pop("settings")["title"] == "Small talk"
    assert found == {
        "code": study.code,
        "title": "Small talk",
        "task": "conversation",
        "protocol": "meena-interactive",
        "state": "open",
        "bots": [
            {"name": "ann", "title": "Ann", "target": 3},
            {"name": "bob", "title": "Bob", "target": 4},
        ],
        "items": None,
        "contexts": None,
    }
    assert called(mallory, "GET", f"/{study.code}").status_code == 404
    share_with_person(study, "mallory", "reader")
    assert called(mallory, "GET", f"/{study.code}").status_code == 404


def test_the_api_counts_the_items_of_a_queue(short: Study, make_queue: MakeQueue, rex: User) -> None:
    queue = make_queue(raters=2)
    assert called(rex, "GET", f"/{queue.code}").json()["items"] == 0
    talked(short, [(True, True)] * 3)

    subjects.add_turns(queue, short, language="en")

    found = called(rex, "GET", f"/{queue.code}").json()
    assert (found["items"], found["contexts"], found["bots"]) == (3, None, [])


def test_the_api_counts_the_contexts_of_a_writing_study(
    make_contexts: MakeContexts, rex: User, sign_in: Any
) -> None:
    made = called(rex, "POST", "", {"title": "W", "task": "writing"}).json()
    assert (made["items"], made["contexts"]) == (None, 0)
    study = Study.objects.get(code=made["code"])

    WritingPlan.objects.create(study=study, context_version=make_contexts(5))

    assert called(rex, "GET", f"/{study.code}").json()["contexts"] == 5


def test_the_api_creates_a_study_and_changes_its_bots(make_study: MakeStudy, rex: User) -> None:
    make_study({"ann": 1, "bob": 1})  # registers them
    sent = {"title": "By API", "preset": "meena-interactive", "bots": {"ann": 20}}

    made = called(rex, "POST", "", sent)
    code = made.json()["code"]
    changed = called(rex, "PUT", f"/{code}/bots", {"bob": 30, "ann": 5})
    replaced = called(rex, "PUT", f"/{code}/bots", {"bob": 31})

    assert made.status_code == 201
    assert made.json()["bots"] == [{"name": "ann", "title": "Ann", "target": 20}]
    assert {each["name"]: each["target"] for each in changed.json()["bots"]} == {"ann": 5, "bob": 30}
    assert replaced.json() == called(rex, "GET", f"/{code}").json()
    assert [*StudyBot.objects.filter(study__code=code).values_list("bot__name", "target")] == [("bob", 31)]


def test_a_bot_removed_from_an_open_study_gets_no_further_workers(make_study: MakeStudy, rex: User) -> None:
    study = make_study({"ann": 3, "bob": 4})

    left = called(rex, "PUT", f"/{study.code}/bots", {"ann": 3}).json()["bots"]

    assert {each["name"]: each["target"] for each in left} == {"ann": 3, "bob": 0}


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"bots": {"nobody": 3}}, "There is no bot “nobody” that you can choose."),
        ({"bots": {"secret": 3}}, "There is no bot “secret” that you can choose."),
        ({"bots": {"ann": 0}}, "The request is not as"),
        ({"bots": {"ann": 3}, "task": "judging"}, "In this study nobody talks with bots"),
        ({"bots": {"ann": 3}, "task": "two_people"}, "In this study nobody talks with bots"),
    ],
)
def test_invalid_bots_are_named_and_no_study_is_created(
    sent: dict[str, Any], said: str, make_study: MakeStudy, rex: User, mallory: User
) -> None:
    make_study({"ann": 1})
    Bot.objects.create(name="secret", title="Secret", adapter="scripted", owner=mallory)

    answer = called(rex, "POST", "", {"title": "X"} | sent)

    assert answer.status_code == 422
    assert said in answer.json()["detail"]
    assert Study.objects.count() == 1
