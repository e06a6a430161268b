"""The connection that the event loop waits for, against a real PostgreSQL."""

import asyncio
import hashlib
from collections.abc import AsyncIterator

import psycopg2
import pytest
from django.conf import settings

from turnwise.live.database import LoopConnection

pytestmark = pytest.mark.django_db


@pytest.fixture
async def line() -> AsyncIterator[LoopConnection]:
    line = await LoopConnection.open(lock_timeout="321ms")
    yield line
    line.close()


async def test_a_row_has_values_of_python_and_times_of_utc(line: LoopConnection) -> None:
    rows = await line.rows("SELECT %s, ARRAY[1, 2]::smallint[], timestamptz '2026-02-03 04:05+01'", ("é'\\",))

    assert rows[0][:2] == ("é'\\", [1, 2])
    assert rows[0][2].isoformat() == "2026-02-03T03:05:00+00:00"


async def test_settings_of_the_session_are_the_callers(line: LoopConnection) -> None:
    assert await line.rows("SHOW lock_timeout") == [("321ms",)]


async def test_a_statement_that_does_not_fit_the_socket_arrives_whole(line: LoopConnection) -> None:
    text = "0123456789" * 400_000

    rows = await line.rows("SELECT md5(%s), length(%s)", (text, text))

    assert rows == [(hashlib.md5(text.encode()).hexdigest(), 4_000_000)]


async def test_a_statement_that_fails_leaves_the_line_usable(line: LoopConnection) -> None:
    with pytest.raises(psycopg2.errors.DivisionByZero):
        await line.rows("SELECT 1 / 0")

    assert not line.is_closed
    assert await line.rows("SELECT 2") == [(2,)]


async def test_a_caller_who_stops_waiting_closes_it(line: LoopConnection) -> None:
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.1):
            await line.rows("SELECT pg_sleep(60)")

    assert line.is_closed


@pytest.mark.parametrize("is_busy", [False, True])
async def test_a_line_that_the_server_ends_is_closed(line: LoopConnection, is_busy: bool) -> None:
    [(process,)] = await line.rows("SELECT pg_backend_pid()")
    sleep = asyncio.create_task(line.rows("SELECT pg_sleep(60)")) if is_busy else None
    await asyncio.sleep(0)
    other = await LoopConnection.open()

    await other.rows("SELECT pg_terminate_backend(%s, 5000)", (process,))

    async with asyncio.timeout(120):
        while not line.is_closed:
            await asyncio.sleep(0.01)
    if sleep:
        with pytest.raises(psycopg2.OperationalError):
            await sleep
    other.close()


async def test_nobody_at_the_other_end_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(settings.DATABASES["default"], "HOST", "/nowhere")

    with pytest.raises(psycopg2.OperationalError, match="/nowhere"):
        await LoopConnection.open()
