"""Pages while PostgreSQL is away."""

import threading

import pytest
from django.db import OperationalError, close_old_connections
from django.test import Client

from tests.away import Away
from turnwise.project import middleware


def test_a_page_waits_for_a_postgresql_that_starts_anew(
    away: Away, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(middleware, "BACK_WITHIN_SECONDS", 600.0)
    assert client.get("/sign-in/").status_code == 200
    away.begin()
    threading.Timer(0.5, away.end).start()
    close_old_connections()  # as at the beginning of a request, but for those of tests

    assert client.get("/s/none/").status_code == 404


def test_whoever_asks_how_the_server_is_is_told_at_once(
    away: Away, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(middleware, "BACK_WITHIN_SECONDS", 600.0)
    away.begin()

    assert client.get("/healthz").status_code == 200
    assert client.get("/readyz").status_code == 503


def test_a_page_does_not_wait_for_long(away: Away, client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(middleware, "BACK_WITHIN_SECONDS", 0.0)
    away.begin()

    with pytest.raises(OperationalError):
        client.get("/s/none/")
