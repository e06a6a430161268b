"""What every call of the REST API has in common: scopes, problem documents, keys and rate limits."""

import json
import re
from collections import Counter
from collections.abc import Callable
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.core.cache import cache
from django.test import Client
from django.utils import timezone
from ninja import Schema
from pytest_django.fixtures import Settings

from tests.conftest import MakeStudy
from turnwise.accounts import credentials
from turnwise.accounts.audit_actions import AUDIT_ACTIONS
from turnwise.accounts.audit_log import LEFT_OUT
from turnwise.accounts.models import ApiToken, Event, RepeatableRequest, Scope, User
from turnwise.project.api import api
from turnwise.project.rest.description import operations, scope_of
from turnwise.studies.models import Study
from turnwise.studies.rest import calls

pytestmark = pytest.mark.django_db
DRAFT = {"title": "By a program"}


def program(user: User, *scopes: str, **fields: Any) -> Client:
    token = credentials.create_token(user, "script", scopes=scopes or None, **fields)
    return Client(headers={"Authorization": f"Bearer {token}"}, raise_request_exception=False)


def send(client: Client, method: str, path: str, body: object = None, **headers: str) -> Any:
    sent = "" if body is None else json.dumps(body)
    return client.generic(method, f"/api{path}", sent, content_type="application/json", headers=headers)


def is_problem(answer: Any, status: int, slug: str) -> dict[str, Any]:
    assert answer.headers["Content-Type"] == "application/problem+json"
    document: dict[str, Any] = answer.json()
    assert (answer.status_code, document["status"], document["type"]) == (
        status,
        status,
        f"/manual/api/#{slug}",
    )
    assert document["title"]
    assert document["detail"]
    return document


# --- scopes -----------------------------------------------------------------------------------


def test_a_token_without_the_scope_is_refused_with_its_name(rex: User) -> None:
    reader = program(rex, "read")

    document = is_problem(send(reader, "POST", "/studies", DRAFT), 403, "no-scope")

    assert document["scope"] == "studies"
    assert "“studies”" in document["detail"]
    assert "it has “read”" in document["detail"]
    assert not Study.objects.exists()
    assert send(reader, "GET", "/bots").status_code == 200
    assert send(program(rex, "studies"), "POST", "/studies", DRAFT).status_code == 201
    assert is_problem(send(program(rex, "studies"), "GET", "/bots"), 403, "no-scope")["scope"] == "read"


def test_every_operation_refuses_every_token_that_lacks_its_scope(rex: User) -> None:
    """With all other scopes: none of these helps."""
    clients = {
        scope: program(rex, *(other for other in Scope.values if other != scope)) for scope in Scope.values
    }

    for (path, method), operation in operations(api).items():
        address = re.sub(
            "{(pk|sweep|webhook|delivery|context_set|number|run|judge|decision|group|person|transfer|member|invitation|act|qualification|upload|expert|base|language|pack|check|message|redacted)}",
            "1",
            path,
        )
        address = (
            address.replace("{item}", str(UUID(int=1)))
            .replace("{dialogue}", str(UUID(int=1)))
            .replace("{", "")
            .replace("}", "")
        )
        scope = scope_of(operation, method)
        answer = send(clients[scope.value], method, address.removeprefix("/api"))
        assert is_problem(answer, 403, "no-scope")["scope"] == scope, path


def test_an_expired_or_revoked_token_is_refused(rex: User) -> None:
    late = program(rex, expires_at=timezone.now() - timedelta(seconds=1))
    early = program(rex, expires_at=timezone.now() + timedelta(days=1))

    is_problem(send(late, "GET", "/bots"), 401, "no-token")
    assert send(early, "GET", "/bots").status_code == 200
    credentials.revoke_token(rex, ApiToken.objects.order_by("pk").last().pk)  # type: ignore[union-attr]
    is_problem(send(early, "GET", "/bots"), 401, "no-token")


def test_the_audit_log_names_token_and_operation(rex: User) -> None:
    send(program(rex), "POST", "/studies", DRAFT)

    event = Event.objects.get()
    assert (event.name, event.token, event.description) == ("rex", "script", "made a study")


def test_no_two_schemas_of_the_description_have_one_name() -> None:
    """Else the one that comes last describes the answers of both."""

    def below(kind: type) -> set[type]:
        return {kind}.union(*(below(each) for each in kind.__subclasses__()))

    names = Counter(each.__name__ for each in below(Schema) if each.__module__.startswith("turnwise."))

    assert [name for name, number in names.items() if number > 1] == []


def test_the_audit_log_has_words_for_every_operation_that_changes_something() -> None:
    done = {
        f"api-1:{op.view_func.__name__}" for (_, method), op in operations(api).items() if method != "GET"
    }

    assert not done - {*AUDIT_ACTIONS} - LEFT_OUT


def test_the_page_of_tokens_shows_scopes_end_and_revocation(
    rex: User, sign_in: Callable[[User], Client]
) -> None:
    client = sign_in(rex)

    none = client.post("/tokens/", {"title": "laptop", "days": "90"})
    made = client.post("/tokens/", {"title": "laptop", "scopes": ["read", "people"], "days": "7"})

    assert (none.status_code, "Choose at least one." in none.content.decode()) == (422, True)
    token = ApiToken.objects.get()
    assert token.scopes == ["read", "people"]
    assert token.expires_at
    assert timedelta(days=6) < token.expires_at - timezone.now() <= timedelta(days=7)
    assert "read, people" in made.content.decode()
    client.post(f"/tokens/{token.pk}/take-back/")
    assert "Revoked tokens" in client.get("/tokens/").content.decode()


# --- problem documents ------------------------------------------------------------------------


def test_every_refusal_is_a_problem_document(rex: User) -> None:
    client = program(rex)

    is_problem(send(Client(), "GET", "/bots"), 401, "no-token")
    is_problem(client.post("/api/studies", "{", content_type="application/json"), 400, "not-json")
    wrong = is_problem(send(client, "POST", "/studies", {"title": "", "colour": "red"}), 422, "invalid")
    assert {each["field"] for each in wrong["errors"]} == {"title", "colour"}
    assert all(each["detail"] for each in wrong["errors"])


def test_an_unknown_address_and_a_wrong_method_say_what_there_is(rex: User) -> None:
    client = program(rex)

    nowhere = is_problem(send(client, "GET", "/studies/abc/nowhere"), 404, "not-found")
    wrong = send(client, "DELETE", "/question-sets")

    assert "/api/studies/{code}/report" in nowhere["detail"]
    gone = is_problem(send(client, "POST", "/deletions/77/undo"), 404, "not-found")["detail"]
    audit = is_problem(send(client, "GET", "/bots/eliza/audits/77"), 404, "not-found")["detail"]
    assert "GET /api/deletions lists" in gone
    assert "GET /api/bots, then GET /api/bots/{name}/audits lists" in audit
    assert "it takes" in is_problem(wrong, 405, "wrong-method")["detail"]
    assert {each.strip() for each in wrong.headers["Allow"].split(",")} == {"GET", "POST"}


def test_an_unknown_query_parameter_is_refused_with_the_known_ones(rex: User) -> None:
    client = program(rex)

    misspelt = is_problem(send(client, "GET", "/studies?stat=open&limit=5"), 422, "invalid")
    none_known = is_problem(send(client, "GET", "/studies/x/checks?deep=1"), 422, "invalid")

    assert [each["field"] for each in misspelt["errors"]] == ["stat"]
    assert "find, tag, state" in misspelt["detail"]
    assert "has none" in none_known["detail"]
    assert send(client, "GET", "/studies?state=open&limit=5").status_code == 200


def test_a_wrong_choice_lists_the_choices_once(rex: User, make_study: MakeStudy) -> None:
    study = make_study()
    client = program(rex)

    preset = send(client, "POST", "/studies", DRAFT | {"preset": "meena"}).json()["detail"]
    analysis = send(client, "POST", "/studies", DRAFT | {"primary_analysis": "some"}).json()
    ask = {"question_set": "ssa", "about": "response", "moment": "never"}
    moment = send(client, "PUT", f"/studies/{study.code}/asks", [ask]).json()

    assert preset.count("meena-static") == 1
    assert str(analysis).count("without_excluded") == 1
    assert [each["field"] for each in moment["errors"]] == ["0.moment"]
    assert str(moment).count("each_turn") == 1


def test_a_body_that_is_too_long_says_how_much_its_call_takes(rex: User) -> None:
    client = program(rex)
    contexts = {"name": "long", "title": "Long", "licence": "CC0", "origin": "long.txt", "format": "txt"}
    lines = "\n".join(f"What is number {n} of those that I told you yesterday?" for n in range(60_000))
    assert 2_621_440 < len(lines) < 5_000_000

    plain = is_problem(send(client, "POST", "/studies", DRAFT | {"instructions": lines}), 413, "too-long")
    repeated = send(client, "POST", "/studies", {"title": lines}, **{"Idempotency-Key": "one"})
    too_large = is_problem(
        send(client, "POST", "/context-sets", contexts | {"text": lines * 3}), 413, "too-long"
    )
    beyond = send(client, "POST", "/context-sets", contexts | {"text": lines + lines[:2_000_000]})

    assert "this call takes at most 2,621,440" in plain["detail"]
    assert is_problem(repeated, 413, "too-long")
    assert "this call takes at most 6,732,202" in too_large["detail"]
    assert "more than 5,000,000" in is_problem(beyond, 422, "invalid")["detail"]
    assert send(client, "POST", "/context-sets", contexts | {"text": lines}).status_code in (201, 422)
    assert not Study.objects.exists()


# --- idempotency keys -------------------------------------------------------------------------


def test_a_repeated_request_gets_the_same_answer_and_does_nothing(rex: User) -> None:
    client = program(rex)

    first = send(client, "POST", "/studies", DRAFT, **{"Idempotency-Key": "one"})
    again = send(client, "POST", "/studies", DRAFT, **{"Idempotency-Key": "one"})
    other = send(client, "POST", "/studies", DRAFT, **{"Idempotency-Key": "two"})

    assert (first.status_code, again.status_code, again.json()) == (201, 201, first.json())
    assert again.headers["Idempotent-Replayed"] == "true"
    assert other.json()["code"] != first.json()["code"]
    assert (Study.objects.count(), Event.objects.count()) == (2, 2)


def test_a_key_with_another_body_is_refused_and_nothing_is_done(rex: User) -> None:
    client = program(rex)
    send(client, "POST", "/studies", DRAFT, **{"Idempotency-Key": "one"})

    body = send(client, "POST", "/studies", {"title": "Other"}, **{"Idempotency-Key": "one"})
    place = send(client, "POST", "/bots", DRAFT, **{"Idempotency-Key": "one"})

    for answer in (body, place):
        assert "“one” came with another address or body" in is_problem(answer, 422, "key-reused")["detail"]
    assert Study.objects.count() == 1
    assert send(program(rex), "POST", "/studies", DRAFT, **{"Idempotency-Key": "one"}).status_code == 201


def test_a_refused_request_may_be_repeated_with_its_key(rex: User) -> None:
    client = program(rex)
    wrong = send(client, "POST", "/studies", {"title": ""}, **{"Idempotency-Key": "one"})

    right = send(client, "POST", "/studies", DRAFT, **{"Idempotency-Key": "one"})

    assert (wrong.status_code, right.status_code) == (422, 201)


def test_a_request_that_was_cut_off_is_not_carried_out_twice(rex: User) -> None:
    client = program(rex)
    send(client, "POST", "/studies", DRAFT, **{"Idempotency-Key": "one"})
    RepeatableRequest.objects.update(status=None, body=None)

    is_problem(send(client, "POST", "/studies", DRAFT, **{"Idempotency-Key": "one"}), 409, "conflict")

    assert Study.objects.count() == 1
    is_problem(send(client, "POST", "/studies", DRAFT, **{"Idempotency-Key": "é"}), 422, "invalid")


def test_after_a_failure_of_the_server_the_key_is_refused(rex: User, monkeypatch: pytest.MonkeyPatch) -> None:
    client = program(rex)

    def fail(_study: Study) -> None:
        raise RuntimeError("after the study was made")

    with monkeypatch.context() as broken:
        broken.setattr(calls, "study_out", fail)
        is_problem(send(client, "POST", "/studies", DRAFT, **{"Idempotency-Key": "one"}), 500, "failed")

    is_problem(send(client, "POST", "/studies", DRAFT, **{"Idempotency-Key": "one"}), 409, "conflict")
    assert Study.objects.count() == 1


def test_keys_are_forgotten_after_a_day(rex: User) -> None:
    client = program(rex)
    send(client, "POST", "/studies", DRAFT, **{"Idempotency-Key": "one"})
    RepeatableRequest.objects.update(created_at=timezone.now() - timedelta(days=1, minutes=1))

    send(client, "POST", "/studies", DRAFT, **{"Idempotency-Key": "one"})

    assert Study.objects.count() == 2
    assert RepeatableRequest.objects.count() == 1


# --- rate limits ------------------------------------------------------------------------------


def test_requests_beyond_the_limit_are_refused_with_headers(rex: User, settings: Settings) -> None:
    settings.API_RATE = "3/d"
    client = program(rex)

    answers = [send(client, "GET", "/bots") for _ in range(4)]

    assert [each.status_code for each in answers] == [200, 200, 200, 429]
    assert [each.headers["RateLimit"].split(";")[1] for each in answers] == ["r=2", "r=1", "r=0", "r=0"]
    assert answers[0].headers["RateLimit-Policy"] == '"token";q=3;w=86400'
    assert int(answers[3].headers["Retry-After"]) > 0
    assert "more than 3 requests" in is_problem(answers[3], 429, "too-many")["detail"]
    assert send(program(rex), "GET", "/bots").status_code == 200  # another token counts for itself
    cache.clear()


def test_each_answer_has_the_headers_of_the_rate_limit(rex: User, settings: Settings) -> None:
    settings.API_RATE = "5/d"
    cache.clear()
    nobody, client = Client(), program(rex)

    without_token = [
        send(nobody, "GET", "/bots"),
        send(nobody, "GET", "/openapi.json"),
        send(client, "GET", "/nowhere"),
        send(client, "DELETE", "/question-sets"),
        send(client, "GET", "/studies?find=%00"),
    ]
    refused = send(nobody, "GET", "/bots")
    of_token = [
        send(program(rex, "bots"), "GET", "/bots"),
        send(client, "GET", "/bots/nobody"),
        send(client, "POST", "/studies", {}),
        send(client, "GET", "/studies"),
    ]

    assert [each.status_code for each in without_token] == [401, 200, 404, 405, 400]
    assert [each.headers["RateLimit"].split(";")[:2] for each in without_token] == [
        ['"address"', f"r={left}"] for left in (4, 3, 2, 1, 0)
    ]
    assert (
        "Your address, without a token, has sent more than 5"
        in is_problem(refused, 429, "too-many")["detail"]
    )
    assert int(refused.headers["Retry-After"]) > 0
    assert [each.status_code for each in of_token] == [403, 404, 422, 200]
    assert [each.headers["RateLimit"].split(";")[:2] for each in of_token] == [
        ['"token"', f"r={left}"] for left in (4, 4, 3, 2)
    ]
    cache.clear()
