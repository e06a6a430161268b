import threading
import time
from collections.abc import Iterator

import pytest
from django.core.cache import cache
from django.test import Client
from pytest_django.fixtures import Settings

from project.health import Part, _ask_all
from project.tasks import HEART, beat_heart

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def no_heartbeat() -> Iterator[None]:
    cache.delete(HEART)
    yield
    cache.delete(HEART)


def test_healthz_says_ok(client: Client) -> None:
    assert client.get("/healthz").content == b"ok"


def test_readyz_is_ready_when_every_part_is(client: Client) -> None:
    beat_heart()
    answer = client.get("/readyz")
    assert answer.status_code == 200
    body = answer.json()
    assert body.pop("ready") is True
    assert {name: part["state"] for name, part in body.items()} == {
        "postgresql": "ready",
        "redis": "ready",
        "bots": "ready",
        "celery_worker": "ready",
    }


def test_readyz_names_a_worker_that_was_never_heard(client: Client) -> None:
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["celery_worker"]["state"] == "unseen"


def test_readyz_names_a_worker_that_fell_silent(client: Client) -> None:
    cache.set(HEART, time.time() - 61)
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["celery_worker"]["state"] == "silent"


def test_readyz_names_redis_when_it_is_gone_and_keeps_its_password(
    client: Client, settings: Settings
) -> None:
    location = "redis://:secret@127.0.0.1:1/0"
    settings.CACHES = {"default": {**settings.CACHES["default"], "LOCATION": location}}
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["redis"]["state"] == "failed"
    assert answer.json()["postgresql"]["state"] == "ready"
    assert "secret" not in answer.content.decode()


def test_a_part_that_hangs_is_called_late_while_the_others_answer() -> None:
    let_go = threading.Event()

    def hang() -> Part:
        let_go.wait(30)
        return Part(True, "ready")

    try:
        parts = _ask_all({"hanging": hang, "sound": lambda: Part(True, "ready")})
    finally:
        let_go.set()
    assert (parts["hanging"].state, parts["sound"].state) == ("late", "ready")


def test_a_failing_part_gives_its_kind_but_not_its_words() -> None:
    def fail() -> Part:
        raise ConnectionError("postgresql://me:secret@host/")

    part = _ask_all({"failing": fail})["failing"]
    assert (part.ready, part.state) == (False, "failed")
    assert part.detail.startswith("ConnectionError")
    assert "secret" not in part.detail
