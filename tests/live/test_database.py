"""Steps of the consumers while PostgreSQL is away."""

import asyncio

import pytest
from django.db import OperationalError, connection

from tests.away import Away
from turnwise.live import database
from turnwise.live.database import in_database


@pytest.fixture(autouse=True)
def _long_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "BACK_WITHIN_SECONDS", 600.0)


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
    monkeypatch.setattr(database, "BACK_WITHIN_SECONDS", 0.0)
    await asyncio.to_thread(away.begin)

    with pytest.raises(OperationalError, match="not currently accepting connections"):
        await in_database(two)


async def test_what_fails_by_itself_is_not_repeated_for_long(away: Away) -> None:
    asked = []

    def late() -> None:
        asked.append(1)
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = 1; SELECT pg_sleep(600)")

    with pytest.raises(OperationalError, match="statement timeout"):
        await in_database(late)

    assert len(asked) == 2
