"""Steps of many people in one statement and one commit.

    caller ── row ──▶ waiting ── batch ──▶ one statement on this step's own connection
       ◀── its row, once all of them are committed ──┘

While a batch is under way the next one gathers. So nobody waits for company: a lone step goes out at
once, and the more there are, the fewer commits each costs. See docs/decisions/turns-in-batches.md.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from functools import partial
from typing import Any

from django.db import connection as connection_of_thread

from turnwise.live.database import LoopConnection, Row, in_database
from turnwise.live.frames import as_json

log = logging.getLogger(__name__)

LARGEST_BATCH = 100
# A row that somebody else holds must not hold up the whole batch for long: without it the others go
# on, and it waits on a thread as long as any step may (settings.DATABASES).
OPTIONS = "-c lock_timeout=500ms -c statement_timeout=10s"
TIMEOUT_SECONDS = 15.0  # more than the statement_timeout: the server has given up by then

Values = dict[str, Any]  # by parameter, as JSON can carry them

_steps: list["BatchedStep"] = []


class BatchFailedError(Exception):
    """A batch was not committed; any one of its steps, or none, may be to blame."""


class BatchedStep:
    """A short step in one dialogue, one batch of a rater or one participation, taken by a database function.

    The function must be safe to repeat. Its first parameter is the id of that, whose row is
    the first that it locks: a batch goes through them in ascending order, so that no two batches wait
    for each other. If nothing may be done, the first value that it returns is NULL.
    """

    def __init__(self, function: str, parameters: Mapping[str, str], *, is_durable: bool = True) -> None:
        """Take the function's name, and its parameters in order with their PostgreSQL types.

        A step that `is_durable` has outlived a crash of PostgreSQL when it is reported; another does so soon
        after, and at the latest with the next that is.
        """
        self._options = OPTIONS if is_durable else f"{OPTIONS} -c synchronous_commit=off"
        names = ", ".join(parameters)
        columns = ", ".join(f"{name} {kind}" for name, kind in parameters.items())
        self._statement = (
            f"SELECT number, result.* FROM ROWS FROM (jsonb_to_recordset({{}}) AS ({columns}))"
            f" WITH ORDINALITY AS step ({names}, number) CROSS JOIN LATERAL {function}({names}) AS result"
        )
        self._queues: dict[asyncio.AbstractEventLoop, _BatchQueue] = {}
        _steps.append(self)

    async def row(self, **values: Any) -> Row | None:
        """Take the step; what the function returns, committed, or None if nothing may be done.

        Raises:
            django.db.Error: this step failed, whatever became of those that shared its batch.
        """
        try:
            row = await self._queue().row(values)
        except BatchFailedError:
            return await in_database(partial(self.row_alone, **values))
        return None if row[1] is None else row[1:]

    def row_alone(self, **values: Any) -> Row | None:
        """Take the step on this thread, within the transaction of its caller if there is one."""
        with connection_of_thread.cursor() as cursor:
            cursor.execute(self._statement.format("%s::jsonb"), [as_json([values])])
            row: Row = cursor.fetchone()
        return None if row[1] is None else row[1:]

    def _queue(self) -> "_BatchQueue":
        loop = asyncio.get_running_loop()
        queue = self._queues.get(loop)
        if queue is None:
            close_connections(of_closed_loops_only=True)
            queue = self._queues[loop] = _BatchQueue(self._statement.format("$1"), self._options)
        return queue

    def close(self, *, of_closed_loops_only: bool) -> None:
        for loop in list(self._queues):
            if loop.is_closed() or not of_closed_loops_only:
                self._queues.pop(loop).close()


class _BatchQueue:
    """One kind of step in one event loop: those that wait, and the connection of the batch under way."""

    def __init__(self, statement: str, options: str) -> None:
        self._options = options
        self._prepare = f"PREPARE step (jsonb) AS {statement}"
        self._connection: LoopConnection | None = None
        self._waiting: deque[tuple[Values, asyncio.Future[Row]]] = deque()
        self._work: asyncio.Task[None] | None = None

    def row(self, values: Values) -> asyncio.Future[Row]:
        loop = asyncio.get_running_loop()
        row: asyncio.Future[Row] = loop.create_future()
        self._waiting.append((values, row))
        if self._work is None:
            self._work = loop.create_task(self._drain())
        return row

    def close(self) -> None:
        if self._connection:
            self._connection.close()

    async def _drain(self) -> None:
        try:
            while self._waiting:
                if batch := self._next_batch():
                    await self._execute(batch)
        finally:
            self._work = None

    def _next_batch(self) -> list[tuple[Values, asyncio.Future[Row]]]:
        """Take the next steps off the queue; the list is empty if all of their callers were cancelled."""
        taken = [self._waiting.popleft() for _ in range(min(LARGEST_BATCH, len(self._waiting)))]
        batch = [(values, row) for values, row in taken if not row.done()]  # some callers have gone
        batch.sort(key=_lock_key)
        return batch

    async def _execute(self, batch: list[tuple[Values, asyncio.Future[Row]]]) -> None:
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                connection = await self._live_connection()
                given = as_json([values for values, _ in batch])
                rows = await connection.rows("EXECUTE step (%s)", (given,))
        except Exception as error:  # whatever it was: each step finds out whether it is its own
            log.warning(
                "A batch of %s steps was not committed; each is taken alone.", len(batch), exc_info=True
            )
            for _, row in batch:
                if not row.done():
                    row.set_exception(BatchFailedError(str(error)))
            return
        for found in rows:
            row = batch[found[0] - 1][1]
            if not row.done():
                row.set_result(found)

    async def _live_connection(self) -> LoopConnection:
        if self._connection is None or self._connection.is_closed:
            self._connection = await LoopConnection.open(self._options)
            await self._connection.rows(self._prepare)
        return self._connection


def _lock_key(step: tuple[Values, asyncio.Future[Row]]) -> int:
    row: int = next(iter(step[0].values()))
    return row


def close_connections(*, of_closed_loops_only: bool = False) -> None:
    """Close the connections of every step, as at the end of the process."""
    for step in _steps:
        step.close(of_closed_loops_only=of_closed_loops_only)
