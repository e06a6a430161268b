import asyncio
import subprocess
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg2
import pytest
from asgiref.sync import sync_to_async
from channels.layers import get_channel_layer
from django.conf import settings
from django.core.cache import cache
from django.db import OperationalError
from django.db.models.functions import Now
from django.test import Client
from pytest_django.fixtures import Settings

from turnwise.accounts.models import User
from turnwise.bots.models import BotCopy
from turnwise.bots.services import register_bot
from turnwise.project.celery import beat_heart, heart_key
from turnwise.project.health import Part, _ask_all, write_probe
from turnwise.project.supervision.embedded import PostgreSQL, Redis

SignIn = Callable[[User], Client]
pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine a check that works may need more than the second that /readyz gives it."""
    monkeypatch.setattr("turnwise.project.health.TIMEOUT_SECONDS", 30.0)


@pytest.fixture(autouse=True)
def no_heartbeat() -> Iterator[None]:
    hearts = [heart_key(queue) for queue in settings.JOB_QUEUES]
    cache.delete_many(hearts)
    yield
    cache.delete_many(hearts)


def beat_all_hearts() -> None:
    for queue in settings.JOB_QUEUES:
        beat_heart(queue)


def test_healthz_says_ok(client: Client) -> None:
    assert client.get("/healthz").content == b"ok"


def test_readyz_is_ready_when_every_part_is(client: Client) -> None:
    beat_all_hearts()
    answer = client.get("/readyz")
    assert answer.status_code == 200
    body = answer.json()
    assert body.pop("ready") is True
    assert {name: part["state"] for name, part in body.items()} == {
        "postgresql": "ready",
        "disk": "ready",
        "redis": "ready",
        "line": "ready",
        "bots": "ready",
        "celery_worker": "ready",
    }


def announced(name: str, state: str, **health: Any) -> None:
    bot = register_bot(name=name, title=name, adapter="generic")
    BotCopy.objects.create(bot=bot, channel="x", host="gpu 7", state=state, seen_at=Now(), health=health)


@pytest.mark.django_db(transaction=True)
def test_readyz_says_how_each_bot_is_in_each_process_but_no_address_and_no_error(
    sign_in: SignIn, rex: User
) -> None:
    client = sign_in(rex)
    beat_all_hearts()
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
def test_readyz_tells_nobody_who_has_not_signed_in_which_bot_answered(client: Client) -> None:
    beat_all_hearts()
    announced("talker", "ready", computing=1, served=7)

    before = client.get("/readyz")
    BotCopy.objects.update(health={"computing": 0, "served": 8})
    after = client.get("/readyz")

    assert before.json()["bots"] == {"ready": True, "state": "ready"}
    assert before.content == after.content


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("states", "status", "said"),
    [
        ({"good": "ready", "other": "failed"}, 200, "failing"),
        ({"good": "ready", "other": "failing"}, 200, "failing"),
        ({"good": "ready", "other": "loading"}, 200, "incomplete"),
        ({"other": "loading"}, 503, "not ready"),
        ({"other": "failed"}, 200, "failing"),
    ],
)
def test_readyz_waits_for_the_first_bot_and_not_for_every_one(
    sign_in: SignIn, rex: User, states: dict[str, str], status: int, said: str
) -> None:
    beat_all_hearts()
    for name, state in states.items():
        announced(name, state)

    answer = sign_in(rex).get("/readyz")

    assert (answer.status_code, answer.json()["bots"]["state"]) == (status, said)
    assert answer.json()["bots"]["detail"] == f"other: {states['other']}"


def test_readyz_answers_while_sessions_cannot_be_read(
    client: Client, sign_in: SignIn, rex: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: object) -> None:
        raise OperationalError("server closed the connection")

    signed_in = sign_in(rex)
    monkeypatch.setattr("django.contrib.auth.models.UserManager.get_queryset", down)

    assert "detail" not in signed_in.get("/readyz").json()["redis"]


@pytest.fixture
def small_disk() -> Iterator[Path]:
    """120 MB where the database's user may go, which pytest's own folders are not."""
    folder = Path(tempfile.mkdtemp(prefix="turnwise-disk-"))
    folder.chmod(0o711)
    mount = ["mount", "-t", "tmpfs", "-o", "size=120m,mode=711", "tmpfs", str(folder)]
    if subprocess.run(mount, check=False).returncode:
        folder.rmdir()
        pytest.skip("No disk of its own can be mounted here.")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)
    folder.rmdir()


def test_a_full_disk_is_noticed_though_reading_goes_on(small_disk: Path) -> None:
    server = PostgreSQL(small_disk / "postgresql", durable=False)
    try:
        server.start()
        cursor = _autocommitting(server)
        write_probe(cursor)
        with suppress(OSError), (small_disk / "filler").open("wb", buffering=0) as filler:
            while True:
                filler.write(bytes(1 << 16))

        with pytest.raises(psycopg2.errors.DiskFull):
            write_probe(cursor)
        cursor.execute("ROLLBACK; SELECT 1")
    finally:
        server.stop()


def _autocommitting(server: PostgreSQL) -> Any:
    connected = psycopg2.connect(server.url)
    connected.autocommit = True
    return connected.cursor()


def test_a_disk_that_is_nearly_full_is_said_in_time(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("turnwise.project.health.LEAST_FREE_BYTES", 1 << 60)

    answer = client.get("/readyz")

    assert (answer.status_code, answer.json()["disk"]["state"]) == (503, "full")


def test_readyz_names_a_worker_that_was_never_heard(client: Client) -> None:
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert answer.json()["celery_worker"]["state"] == "unseen"


@pytest.mark.parametrize(
    ("queue", "seconds", "state"),
    [("housekeeping", 61, "silent"), ("computing", 61, "ready"), ("computing", 601, "silent")],
)
def test_readyz_names_a_worker_that_fell_silent(
    client: Client, queue: str, seconds: float, state: str
) -> None:
    beat_all_hearts()
    cache.set(heart_key(queue), time.time() - seconds)
    answer = client.get("/readyz")
    assert answer.status_code == (200 if state == "ready" else 503)
    assert answer.json()["celery_worker"]["state"] == state


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


@pytest.fixture
def other_redis(tmp_path: Path, settings: Settings) -> Iterator[Redis]:
    """One for the messages between processes alone."""
    server = Redis(tmp_path / "redis")
    server.start()
    settings.CHANNEL_LAYERS = {
        "default": {
            "BACKEND": "turnwise.live.sockets.layer.RedisPubSubLayer",
            "CONFIG": {"address": server.url},
        }
    }
    yield server
    server.stop()


@pytest.mark.django_db(transaction=True)
async def test_a_process_whose_own_line_to_the_others_is_gone_is_not_ready(
    client: Client, other_redis: Redis
) -> None:
    """Though Redis answers those who ask it."""
    ask = sync_to_async(client.get)
    layer = get_channel_layer()
    await sync_to_async(beat_all_hearts)()
    assert await layer.is_connected()
    before = await ask("/readyz")

    other_redis.stop()
    while await layer.is_connected():
        await asyncio.sleep(0.02)
    cut_off = await ask("/readyz")
    await asyncio.to_thread(other_redis.start)
    while not await layer.is_connected():
        await asyncio.sleep(0.02)

    assert before.status_code == 200
    assert (cut_off.status_code, cut_off.json()["redis"]["state"]) == (503, "ready")
    assert cut_off.json()["line"] == {"ready": False, "state": "down"}
    assert (await ask("/readyz")).status_code == 200


def test_a_part_that_hangs_is_called_late_while_the_others_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    let_go = threading.Event()

    def hang() -> Part:
        let_go.wait(30)
        return Part(True, "ready")

    checks = {"hanging": hang, "sound": lambda: Part(True, "ready")}
    monkeypatch.setattr("turnwise.project.health.TIMEOUT_SECONDS", 0.05)
    try:
        for _ in range(70):  # more requests than there are threads
            parts = _ask_all(checks)
    finally:
        let_go.set()
    assert (parts["hanging"].state, parts["sound"].state) == ("late", "ready")
    time.sleep(0.05)
    assert _ask_all(checks)["hanging"].state == "ready"


def test_a_failing_part_gives_its_kind_but_not_its_words() -> None:
    def fail() -> Part:
        raise ConnectionError("postgresql://me:secret@host/")

    part = _ask_all({"failing": fail})["failing"]
    assert (part.ready, part.state) == (False, "failed")
    assert part.detail.startswith("ConnectionError")
    assert "secret" not in part.detail
