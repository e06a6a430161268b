"""Pages while PostgreSQL is away."""

import threading
from typing import Any

import pytest
from django.db import close_old_connections, connection
from django.test import Client

from tests.away import Away, end_session
from tests.planted import SignIn
from turnwise.accounts.models import User
from turnwise.project import middleware
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_page_waits_for_a_postgresql_that_starts_anew(
    away: Away, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(middleware, "WAIT_SECONDS", 600.0)
    assert client.get("/sign-in/").status_code == 200
    away.begin()
    threading.Timer(0.5, away.end).start()
    close_old_connections()  # as at the beginning of a request, but for those of tests

    assert client.get("/s/none/").status_code == 404


def test_whoever_asks_how_the_server_is_is_told_at_once(
    away: Away, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(middleware, "WAIT_SECONDS", 600.0)
    away.begin()

    assert client.get("/healthz").status_code == 200
    assert client.get("/readyz").status_code == 503


def test_a_page_does_not_wait_for_long(away: Away, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "WAIT_SECONDS", 0.0)
    away.begin()

    answer = client.get("/s/none/")

    assert (answer.status_code, answer["Retry-After"], answer["Refresh"]) == (503, "5", "5")
    assert "everything that was shown as saved is safe" in answer.content.decode()


def lose(execute: Any, *statement: Any) -> Any:
    """Run a statement whose session has ended."""
    end_session()
    return execute(*statement)


def test_a_form_of_staff_is_not_sent_twice_and_they_read_what_to_check(rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)
    client.raise_request_exception = False
    with connection.execute_wrapper(lose):
        answer = client.post("/tokens/", {"name": "laptop"})
        told = client.post("/api/studies", data={}, content_type="application/json")
    connection.close()

    assert answer.status_code == told.status_code == 503
    assert "check whether the change is there" in " ".join(answer.content.decode().split())
    assert "Refresh" not in answer
    assert "Check whether the change is there" in told.json()["detail"]


def test_a_page_that_loses_its_session_every_time_is_given_up(client: Client, study: Study) -> None:
    tries = []

    def count(*statement: Any) -> Any:
        tries.append(1)
        return lose(*statement)

    with connection.execute_wrapper(count):
        answer = client.get(f"/s/{study.code}/")
    connection.close()

    assert answer.status_code == 503
    assert len(tries) == middleware.MOST_TRIES
