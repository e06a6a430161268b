"""Steps of the consumers while PostgreSQL is away."""

import asyncio
from contextlib import closing

import psycopg2
import pytest
from django.db import OperationalError, connection, transaction

from tests.away import Away
from turnwise.live import database
from turnwise.live.database import in_database


@pytest.fixture(autouse=True)
def _long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "RETRY_FOR_SECONDS", 600.0)


def two() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT 2")
        found: int = cursor.fetchone()[0]
        return found


async def test_a_step_waits_for_a_postgresql_that_starts_anew_and_holds_no_thread(
    away: Away,
) -> None:
    assert await in_database(two) == 2
    await asyncio.to_thread(away.begin)
    steps = [asyncio.create_task(in_database(two)) for _ in range(50)]  # more than there are threads
    await asyncio.sleep(0.5)
    assert not any(step.done() for step in steps)

    await asyncio.to_thread(away.end)

    assert await asyncio.gather(*steps) == [2] * len(steps)


async def test_one_that_stays_away_is_an_error(away: Away, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "RETRY_FOR_SECONDS", 0.0)
    await asyncio.to_thread(away.begin)

    with pytest.raises(OperationalError, match="not currently accepting connections"):
        await in_database(two)


async def test_a_step_whose_session_was_ended_runs_once_more(away: Away) -> None:
    tries = []

    def step() -> int:
        tries.append(1)
        with transaction.atomic(), connection.cursor() as cursor:
            if len(tries) == 1:
                cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
            return two()

    assert await in_database(step) == 2
    assert len(tries) == 2


@pytest.mark.parametrize(
    ("statement", "message"),
    [
        ("SET LOCAL statement_timeout = 1; SELECT pg_sleep(600)", "statement timeout"),
        ("SET LOCAL lock_timeout = 1; SELECT pg_advisory_xact_lock(36)", "lock timeout"),
        ("DO $$ BEGIN RAISE 'circle' USING ERRCODE = 'deadlock_detected'; END $$", "circle"),
    ],
)
@pytest.mark.usefixtures("transactional_db")
async def test_a_step_that_fails_on_a_living_connection_is_not_repeated(statement: str, message: str) -> None:
    database.close_connections()  # of earlier tests, which may have ended their sessions
    tries = []

    def step() -> None:
        tries.append(1)
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(statement)

    holder = psycopg2.connect(**connection.get_connection_params())
    with closing(holder), holder.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(36)")
        with pytest.raises(OperationalError, match=message):
            await in_database(step)

    assert len(tries) == 1
