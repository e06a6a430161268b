import asyncio
from typing import Any

from asgiref.sync import sync_to_async
from django.db import connection

from tests.away import away

__all__ = ["away"]


@sync_to_async
def query(sql: str, *values: Any) -> list[Any]:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)
        return [row[0] for row in cursor.fetchall()]


async def until_a_batch_waits_for_a_row() -> int:
    """The process of PostgreSQL that carries it out."""
    while True:
        found = await query(
            "SELECT pid FROM pg_stat_activity WHERE query LIKE 'EXECUTE step%%' AND wait_event_type = 'Lock'"
        )
        if found:
            return int(found[0])
        await asyncio.sleep(0.01)
