"""The REST API with its tokens."""

import json
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test import Client

from turnwise.accounts import credentials
from turnwise.accounts.models import ApiToken, User
from turnwise.bots import operators
from turnwise.bots.hosting import resident_bots
from turnwise.bots.models import Bot, BotCopy
from turnwise.bots.services import register_bot, share

Call = Callable[..., Any]
PARROT = {
    "name": "parrot", "title": "Parrot", "adapter": "scripted", "configuration": {"replies": ["Squawk."]},
}  # fmt: skip


@pytest.fixture
def call() -> Call:
    def with_token_of(user: User) -> Call:
        bearer = {"Authorization": f"Bearer {credentials.create_token(user, 'test')}"}

        def send(method: str, path: str, body: Any = None) -> Any:
            return Client(headers=bearer).generic(
                method, f"/api{path}", data=_json(body), content_type="application/json"
            )

        return send

    return with_token_of


@pytest.mark.django_db(transaction=True)
def test_one_person_waits_for_four_replies_at_once_and_no_more(rex: User, call: Call) -> None:
    register_bot(
        name="slow",
        title="Slow",
        adapter="scripted",
        configuration={"replies": ["Zzz."], "seconds": 1},
        owner=rex,
    )
    send = call(rex)

    def ask(send: Call) -> int:
        try:
            return int(send("POST", "/bots/slow/reply", {"turns": ["Hi"]}).status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as threads:
        statuses = Counter(threads.map(ask, [send] * 10))

    assert statuses == {200: 4, 429: 6}
    assert ask(send) == 200  # the places are given back


def _json(body: Any) -> str:
    import json

    return "" if body is None else json.dumps(body)


@pytest.fixture(autouse=True)
def _nothing_is_hosted_at_the_end() -> Iterator[None]:
    yield
    resident_bots.close()


def test_a_bot_is_registered_changed_and_switched_off(rex: User, call: Call) -> None:
    send = call(rex)

    made = send("POST", "/bots", PARROT)
    assert (made.status_code, made.json()["name"]) == (201, "parrot")
    again = send("POST", "/bots", PARROT)
    assert again.status_code == 201
    changed = send("PATCH", "/bots/parrot", {"configuration": {"replies": ["Hm."]}, "active": False})

    assert send("PUT", "/bots/parrot/watch", {"watched": True}).json() == {"watched": True}
    assert send("PUT", "/bots/parrot/watch", {}).json() == {"watched": True}
    assert changed.json()["configuration"]["replies"] == ["Hm."]
    assert changed.json()["state"] == "off"
    bot = Bot.objects.get()
    assert (bot.owner, bot.title, bot.revisions.count()) == (rex, "Parrot", 2)


def test_who_answers_in_a_bot_s_place_is_set_over_the_api(rex: User, mallory: User, call: Call) -> None:
    send = call(rex)
    wizard = {"name": "wizard", "title": "Wizard", "adapter": "operator", "operators": ["mallory"]}

    made = send("POST", "/bots", wizard)
    assert (made.status_code, made.json()["operators"]) == (201, ["mallory"])
    assert [*operators.operable_bots(mallory)] == [Bot.objects.get()]
    assert send("PATCH", "/bots/wizard", {"title": "Oz"}).json()["operators"] == ["mallory"]
    unknown = send("PATCH", "/bots/wizard", {"operators": ["nobody"]})
    assert (unknown.status_code, "nobody" in unknown.json()["detail"]) == (422, True)
    assert send("PATCH", "/bots/wizard", {"operators": []}).json()["operators"] == []
    assert not operators.operable_bots(mallory).exists()

    refused = send("POST", "/bots", PARROT | {"operators": ["mallory"]})
    assert refused.status_code == 422
    assert "nobody answers in the place of “parrot”" in refused.json()["detail"]
    assert not Bot.objects.filter(name="parrot").exists()


def test_wrong_settings_name_each_field_and_its_cure(rex: User, call: Call) -> None:
    response = call(rex)("POST", "/bots", PARROT | {"configuration": {"replies": [], "colour": "red"}})

    assert response.status_code == 422
    problems = {each["field"]: each["detail"] for each in response.json()["errors"]}
    assert set(problems) == {"replies", "colour"}
    assert "unknown setting" in problems["colour"]
    assert not Bot.objects.exists()


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (PARROT | {"adapter": "skripted"}, 422, "Did you mean 'scripted'"),
        (PARROT | {"adapter": "vhred", "configuration": {"device": "foo"}}, 422, "give cpu, cuda, one of"),
        (PARROT | {"name": "no way"}, 422, "name"),
        ({"name": "x"}, 422, "title"),
        (PARROT | {"title": " "}, 422, "title"),
        (PARROT | {"title": "a\x00"}, 400, "“title” has a null character"),
        (PARROT | {"config": {}}, 422, "config"),
        (PARROT | {"configuration": {"replies": ["a\x00"]}}, 400, "“configuration.replies[0]” has"),
        (PARROT | {"name": "new"}, 409, "is the address of another page. Choose another name"),
        (["no object"], 422, "error"),
    ],
)
def test_other_wrong_requests_say_what_is_wrong(
    rex: User, call: Call, body: Any, status: int, said: str
) -> None:
    response = call(rex)("POST", "/bots", body)

    assert response.status_code == status
    assert said in json.dumps(response.json(), ensure_ascii=False)
    assert response.json()["detail"]
    assert not Bot.objects.exists()


@pytest.mark.parametrize(
    ("method", "path", "body", "status", "said"),
    [
        ("GET", "/bots/nobody", None, 404, "GET /api/bots lists all"),
        ("POST", "/bots/nobody/reply", {"turns": ["Hi"]}, 404, "GET /api/bots lists all"),
        ("POST", "/bots", {"title": "x" * 3_000_000}, 413, "at most 2,621,440"),
    ],
)
def test_every_error_is_a_sentence_in_the_same_place(
    rex: User, call: Call, method: str, path: str, body: Any, status: int, said: str
) -> None:
    response = call(rex)(method, path, body)

    assert response.status_code == status
    assert said in response.json()["detail"]


def test_a_request_that_is_no_json_and_one_without_a_token_are_told_so(rex: User) -> None:
    bearer = {"Authorization": f"Bearer {credentials.create_token(rex, 'test')}"}
    no_json = Client(headers=bearer).post("/api/bots", "[" * 100_000, content_type="application/json")

    assert (no_json.status_code, no_json.json()["detail"]) == (400, "The request is not JSON.")
    assert "Make one on the page Tokens" in Client().get("/api/bots").json()["detail"]


def test_a_name_of_another_bot_is_a_conflict(rex: User, mallory: User, call: Call) -> None:
    call(rex)("POST", "/bots", PARROT)

    assert call(mallory)("POST", "/bots", PARROT).status_code == 409


def test_only_the_owner_changes_a_bot(rex: User, mallory: User, ada: User, call: Call) -> None:
    call(rex)("POST", "/bots", PARROT | {"shared_with": ["mallory"]})

    assert call(mallory)("PATCH", "/bots/parrot", {"title": "Mine"}).status_code == 404
    assert call(mallory)("GET", "/bots/parrot").json()["title"] == "Parrot"
    assert call(ada)("PATCH", "/bots/parrot", {"title": "Polly"}).json()["title"] == "Polly"


@pytest.mark.django_db(transaction=True)
def test_a_reply_through_the_api(rex: User, call: Call) -> None:
    send = call(rex)
    send("POST", "/bots", PARROT)

    reply = send("POST", "/bots/parrot/reply", {"turns": ["Hi"]}).json()
    versions = send("GET", "/bots/parrot/versions").json()

    assert reply["text"] == "Squawk."
    assert [version["id"] for version in versions] == [reply["version"]]
    assert send("POST", "/bots/parrot/reply", {"turns": []}).status_code == 422
    assert send("POST", "/bots/nobody/reply", {"turns": ["Hi"]}).status_code == 404


@pytest.mark.django_db(transaction=True)
def test_a_bot_that_fails_is_a_503_with_its_own_words(rex: User, call: Call) -> None:
    send = call(rex)
    send("POST", "/bots", PARROT | {"configuration": {"fail_on": [1]}})

    response = send("POST", "/bots/parrot/reply", {"turns": ["Hi"]})

    assert response.status_code == 503
    assert "Turn 1 was configured to fail" in response.json()["detail"]


def test_without_a_genuine_token_nothing_is_told(rex: User) -> None:
    register_bot(name="quiet", title="Quiet", adapter="generic")
    taken = credentials.create_token(rex, "old")
    credentials.revoke_token(rex, ApiToken.objects.get().pk)

    for header in ({}, {"Authorization": "Bearer turnwise_no"}, {"Authorization": f"Bearer {taken}"}):
        response = Client(headers=header).get("/api/bots")
        assert response.status_code == 401
        assert "quiet" not in response.content.decode()


def test_a_token_of_somebody_who_may_no_longer_sign_in_is_refused(rex: User, call: Call) -> None:
    send = call(rex)
    assert send("GET", "/bots").status_code == 200
    rex.is_active = False
    rex.save()

    assert send("GET", "/bots").status_code == 401


def test_a_session_cookie_does_not_open_the_api(rex: User, sign_in: Callable[[User], Client]) -> None:
    assert sign_in(rex).get("/api/bots").status_code == 401


def test_a_token_is_shown_once_and_stored_as_a_hash(rex: User, sign_in: Callable[[User], Client]) -> None:
    client = sign_in(rex)

    made = client.post("/tokens/", {"title": "laptop", "scopes": ["read"], "days": "90"}).content.decode()
    later = client.get("/tokens/").content.decode()

    assert credentials.PREFIX in made
    assert credentials.PREFIX not in later
    assert "laptop" in later
    assert not ApiToken.objects.get().digest.startswith(credentials.PREFIX)
    client.post(f"/tokens/{ApiToken.objects.get().pk}/take-back/")
    assert not ApiToken.objects.get().is_valid


def test_nobody_takes_back_anothers_token(
    rex: User, mallory: User, sign_in: Callable[[User], Client]
) -> None:
    credentials.create_token(rex, "laptop")

    sign_in(mallory).post(f"/tokens/{ApiToken.objects.get().pk}/take-back/")

    assert ApiToken.objects.get().is_valid


def test_the_api_describes_itself(db: None) -> None:
    described = Client().get("/api/openapi.json").json()

    assert {"/api/bots", "/api/bots/{name}", "/api/bots/{name}/reply", "/api/adapters"} <= set(
        described["paths"]
    )


def test_where_a_bot_failed_in_its_code_is_told_to_its_owner_alone(
    rex: User, mallory: User, call: Call
) -> None:
    bot = register_bot(**PARROT, owner=rex)  # type: ignore[arg-type]
    share(bot, named=[mallory], open_to_all=False)
    where = '2026-11-22T08:00:00+00:00, asked “Hi”:\n  File "/srv/lab/parrot.py", line 3'
    why = f"{where}\nfailed: KeyError: 'hi'"
    BotCopy.objects.create(
        bot=bot, channel="x", host="gpu", state="failing", seen_at=Now(), health={"last_error": why}
    )

    assert call(rex)("GET", "/bots/parrot/health").json()[0]["health"]["last_error"] == why
    told = call(mallory)("GET", "/bots/parrot/health").json()[0]["health"]["last_error"]
    assert told == "failed: KeyError: 'hi'"


def test_registering_again_under_another_title_is_a_conflict_and_not_a_silent_loss(
    rex: User, call: Call
) -> None:
    send = call(rex)
    send("POST", "/bots", PARROT)

    assert send("POST", "/bots", PARROT | {"title": "Another"}).status_code == 409
