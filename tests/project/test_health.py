import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.db.models.functions import Now
from django.test import Client
from pytest_django.fixtures import Settings

from bots.models import BotCopy
from bots.services import register_bot
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


def announced(name: str, state: str, **health: Any) -> None:
    bot = register_bot(name=name, title=name, adapter="generic")
    BotCopy.objects.create(bot=bot, channel="x", host="gpu 7", state=state, seen_at=Now(), health=health)


@pytest.mark.django_db(transaction=True)
def test_readyz_says_how_each_bot_is_in_each_process_but_no_address_and_no_error(client: Client) -> None:
    beat_heart()
    figures = {"queued": 3, "late": 2, "memory_bytes": 5_000_000, "batches": {"8": 4}, "latencies": [1, 0]}
    announced("idle", "ready", computing=0)
    announced("talker", "ready", computing=8, last_error="sk-7 refused", **figures)

    answer = client.get("/readyz")

    bots = answer.json()["bots"]
    assert (answer.status_code, bots["state"]) == (200, "ready")
    assert bots["each"]["idle"] == [{"state": "ready", "computing": 0}]
    assert bots["each"]["talker"] == [{"state": "busy", "computing": 8, **figures}]
    assert "sk-7" not in answer.content.decode()
    assert "gpu" not in answer.content.decode()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("state", "status", "said"),
    [("failed", 200, "failing"), ("failing", 200, "failing"), ("loading", 503, "not ready")],
)
def test_readyz_waits_for_bots_that_load_and_not_for_one_that_fails(
    client: Client, state: str, status: int, said: str
) -> None:
    beat_heart()
    announced("good", "ready")
    announced("other", state)

    answer = client.get("/readyz")

    assert (answer.status_code, answer.json()["bots"]["state"]) == (status, said)
    assert answer.json()["bots"]["detail"] == f"other: {state}"


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
