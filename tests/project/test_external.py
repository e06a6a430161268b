from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import quote

import psycopg2
import pytest
import redis

from turnwise.project.supervision.embedded import PostgreSQL, Redis
from turnwise.project.supervision.installation import check_database, check_redis
from turnwise.project.supervision.processes import StartError


@pytest.fixture(scope="module")
def guarded(new_folder: Callable[[], Path]) -> Iterator[str]:
    """The socket folder of a PostgreSQL that asks everyone but its owner for a password."""
    folder = new_folder()
    server = PostgreSQL(folder / "postgresql", durable=False)
    server.start()
    rules = "local all turnwise trust\nlocal all all scram-sha-256\n"
    (folder / "postgresql" / "data" / "pg_hba.conf").write_text(rules)
    connection = psycopg2.connect(server.owner_url)
    connection.autocommit = True
    with connection.cursor() as cursor:
        cursor.execute("CREATE ROLE researcher LOGIN PASSWORD 'right'")
        cursor.execute("SELECT pg_reload_conf()")
    connection.close()
    yield quote(server.url.partition("?host=")[2])
    server.stop()


def test_a_right_database_address_passes(guarded: str) -> None:
    check_database(f"postgresql://researcher:right@/turnwise?host={guarded}")


@pytest.mark.parametrize(
    ("address", "reason", "cure"),
    [
        (
            "researcher:wrong-secret@/turnwise",
            "password authentication failed",
            "Correct the user or the password",
        ),
        ("researcher@/turnwise", "no password supplied", "Correct the user or the password"),
        ("turnwise@/nowhere", 'database "nowhere" does not exist', "Create it with createdb"),
    ],
)
def test_a_wrong_database_address_is_refused_with_the_cure(
    guarded: str, address: str, reason: str, cure: str
) -> None:
    with pytest.raises(StartError) as refused:
        check_database(f"postgresql://{address}?host={guarded}")
    message = str(refused.value)
    assert reason in message
    assert cure in message
    assert "secret" not in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("url", "cure"),
    [
        ("postgresql://me:secret@no.such.host.invalid/x", "Correct the host"),
        ("postgresql://me:secret@127.0.0.1:1/x", "Check the host and port"),
        ("postgresql://me:secret@127.0.0.1:port/x", "Write DATABASE_URL as"),
        ("postgresql://me:secret@127.0.0.1/x?nonsense=1", "cannot be read"),
        ("mysql://me:secret@127.0.0.1/x", "not the address of a PostgreSQL database"),
    ],
)
def test_an_unreachable_or_unreadable_database_address_is_refused(url: str, cure: str) -> None:
    with pytest.raises(StartError) as refused:
        check_database(url)
    assert cure in str(refused.value)
    assert "secret" not in str(refused.value)
    assert "\n" not in str(refused.value)


@pytest.mark.parametrize(
    ("url", "cure"),
    [
        ("redis://:secret@127.0.0.1:1/0", "Check the host and port in REDIS_URL"),
        ("unix:///nowhere/redis.sock", "Check the host and port in REDIS_URL"),
        ("http://127.0.0.1/0", "REDIS_URL cannot be read"),
        ("redis://127.0.0.1:port/0", "REDIS_URL cannot be read"),
    ],
)
def test_a_wrong_redis_address_is_refused_with_the_cure(url: str, cure: str) -> None:
    with pytest.raises(StartError) as refused:
        check_redis(url)
    assert cure in str(refused.value)
    assert "secret" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_wrong_redis_password_is_refused_with_the_cure(folder: Path) -> None:
    server = Redis(folder / "redis")
    server.start()
    try:
        check_redis(server.url)
        with redis.Redis.from_url(server.url) as client:
            client.config_set("requirepass", "right")
        with pytest.raises(StartError, match="Correct the user or the password in REDIS_URL"):
            check_redis(server.url)
        with pytest.raises(StartError, match="Correct the user or the password in REDIS_URL"):
            check_redis(server.url.replace("unix://", "unix://:wrong@"))
    finally:
        server.stop()
