import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import psutil
import psycopg2
import pytest
import redis
import yaml

from turnwise.project.supervision import embedded
from turnwise.project.supervision import embedded as passable
from turnwise.project.supervision.embedded import POSTGRESQL_VERSION, PostgreSQL, Redis, postgresql_binaries
from turnwise.project.supervision.processes import StartError


@pytest.fixture
def postgresql(folder: Path) -> Iterator[PostgreSQL]:
    server = PostgreSQL(folder / "postgresql", durable=False)
    server.start()
    yield server
    server.stop()


def run_sql(url: str, sql: str) -> list[tuple[object, ...]]:
    connection = psycopg2.connect(url)
    connection.autocommit = True
    try:
        with connection.cursor() as cursor:
            cursor.execute(sql)
            return cursor.fetchall() if cursor.description else []
    finally:
        connection.close()


def test_postgresql_stops_the_orphan_on_its_folder_and_keeps_the_data(postgresql: PostgreSQL) -> None:
    orphan = postgresql.process
    assert orphan is not None
    run_sql(postgresql.owner_url, "CREATE TABLE kept AS SELECT 7 AS number")

    heir = PostgreSQL(postgresql.folder, durable=False)
    heir.start()
    try:
        assert orphan.wait(120) == 0
        assert run_sql(heir.owner_url, "SELECT number FROM kept") == [(7,)]
    finally:
        heir.stop()


def test_postgresql_starts_although_its_pid_file_names_a_stranger(postgresql: PostgreSQL) -> None:
    assert postgresql.process is not None
    pid_file = postgresql.folder / "data" / "postmaster.pid"
    text = pid_file.read_text().replace(str(postgresql.process.pid), str(os.getpid()), 1)
    postgresql.process.kill()
    postgresql.process.wait()
    pid_file.write_text(text)

    postgresql.start()

    assert run_sql(postgresql.url, "SELECT 1") == [(1,)]


def test_containers_run_the_same_major_version_of_postgresql() -> None:
    """A backup of `make serve` goes into a server of the same major version, and back."""
    binary = postgresql_binaries() / "postgres"
    embedded = re.search(r"\(PostgreSQL\) (\d+)", subprocess.check_output([binary, "--version"], text=True))
    services = yaml.safe_load((Path(__file__).parents[2] / "docker-compose.yml").read_text())["services"]

    assert embedded
    assert services["postgresql"]["image"] == f"postgres:{embedded[1]}"
    assert embedded[1] == POSTGRESQL_VERSION


def test_an_interrupted_first_start_is_begun_anew(folder: Path) -> None:
    unfinished = folder / "postgresql" / "data.unfinished"
    unfinished.mkdir(parents=True)
    (unfinished / "PG_VERSION").write_text("18\n")
    server = PostgreSQL(folder / "postgresql", durable=False)
    server.start()
    try:
        assert not unfinished.exists()
    finally:
        server.stop()


def test_postgresql_and_redis_live_in_a_folder_whose_path_no_socket_can_have(folder: Path) -> None:
    deep = folder / ("long " * 20).strip() / "Größe %41"
    postgresql, queue = PostgreSQL(deep / "postgresql", durable=False), Redis(deep / "redis")
    postgresql.start()
    queue.start()
    try:
        assert run_sql(postgresql.url, "SHOW server_encoding") == [("UTF8",)]
        with redis.Redis.from_url(queue.url) as client:
            assert client.ping()
    finally:
        postgresql.stop()
        queue.stop()


def test_only_sockets_are_open_and_those_not_to_other_users(postgresql: PostgreSQL, folder: Path) -> None:
    queue = Redis(folder / "redis")
    queue.start()
    try:
        for socket in (postgresql.folder / ".s.PGSQL.5432", queue.folder / "redis.sock"):
            assert socket.stat().st_mode & 0o077 == 0
            assert socket.parent.stat().st_mode & 0o077 == 0
        for server in (postgresql, queue):
            assert server.process is not None
            assert psutil.Process(server.process.pid).net_connections("inet") == []
    finally:
        queue.stop()


def test_data_of_another_major_version_is_refused(folder: Path) -> None:
    data = folder / "postgresql" / "data"
    data.mkdir(parents=True)
    (data / "PG_VERSION").write_text("17\n")
    with pytest.raises(StartError, match="is from PostgreSQL version 17, but this installation runs 18"):
        PostgreSQL(folder / "postgresql").start()


def test_redis_keeps_what_it_was_given_when_killed_and_stops_the_orphan(folder: Path) -> None:
    orphan = Redis(folder / "redis")
    orphan.start()
    with redis.Redis.from_url(orphan.url) as client:
        client.set("kept", "7")

    heir = Redis(folder / "redis")
    heir.start()
    try:
        assert orphan.process is not None
        assert orphan.process.wait(120) == 0
        with redis.Redis.from_url(heir.url) as client:
            assert client.get("kept") == b"7"
    finally:
        heir.stop()


def test_a_server_that_cannot_start_says_what_its_log_says(folder: Path) -> None:
    (folder / "redis").mkdir()
    (folder / "redis" / "appendonly.aof").write_text("this is no append-only file\r\n")
    with pytest.raises(
        StartError, match=r"(?s)Redis ended with 1\. Its log .*server\.log ends:.*Bad file format"
    ):
        Redis(folder / "redis").start()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's folders are closed to the user of PostgreSQL")
def test_no_folder_of_root_is_opened_for_postgresql(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passable, "FOLDER", folder / "place")
    closed = folder / "home"
    closed.mkdir(mode=0o700)
    package = postgresql_binaries().parents[1]
    for part in (package, package.with_suffix(".libs")):
        if part.exists():
            shutil.copytree(part, closed / part.name, symlinks=True)
    installed = closed / postgresql_binaries().relative_to(package.parent)
    monkeypatch.setattr(embedded, "postgresql_binaries", lambda: installed)
    server = PostgreSQL(closed / "var" / "postgresql", durable=False)
    server.start()
    run_sql(server.owner_url, "CREATE TABLE kept AS SELECT 7 AS number")
    server.stop()

    again = PostgreSQL(closed / "var" / "postgresql", durable=False)
    again.start()
    try:
        assert run_sql(again.owner_url, "SELECT number FROM kept") == [(7,)]
        assert closed.stat().st_mode & 0o777 == 0o700
        assert (closed / "var" / "postgresql").resolve().parent == folder / "place"
    finally:
        again.stop()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root's folders are closed to the user of PostgreSQL")
def test_data_that_postgresql_cannot_reach_any_more_are_refused_with_the_cure(folder: Path) -> None:
    (folder / "home" / "postgresql" / "data").mkdir(parents=True)
    (folder / "home").chmod(0o700)

    with pytest.raises(StartError, match=r"may not pass .*/home to its data in .* name it with --data"):
        PostgreSQL(folder / "home" / "postgresql").start()


def test_a_session_that_outlived_its_killed_server_is_ended_before_the_next_one_writes(
    postgresql: PostgreSQL,
) -> None:
    busy = psycopg2.connect(postgresql.url)
    pid = busy.info.backend_pid
    session = psutil.Process(pid)
    session.suspend()  # it notices nothing, as in a long computation
    assert postgresql.process is not None
    postgresql.process.kill()
    postgresql.process.wait()

    postgresql.start()

    assert not session.is_running() or session.status() == psutil.STATUS_ZOMBIE
    assert run_sql(postgresql.url, "SELECT 1") == [(1,)]
