"""Database batches: steps of many people in one statement and one commit.

    caller ── row ──▶ waiting ── batch ──▶ one statement on this step's own connection
       ◀── its row, once all of them are committed ──┘

A single step is sent immediately. While a batch runs, further steps gather for the next one, so that under
load each commit carries more steps. See docs/decisions/turns-in-batches.md.
"""

import asyncio
import logging
import time
from collections import deque
from collections.abc import Mapping
from functools import partial
from typing import Any

from django.db import connection as connection_of_thread

from turnwise.live.database import LoopConnection, Row, in_database
from turnwise.live.frames import as_json
from turnwise.live.metrics import recording
from turnwise.live.metrics.families import BATCH_QUEUE

log = logging.getLogger(__name__)

LARGEST_BATCH = 100
# A locked row must not delay the whole batch for long. The batch fails, and each step is repeated alone,
# where it may wait as long as any step (settings.DATABASES).
SESSION = {"lock_timeout": "500ms", "statement_timeout": "10s"}
TIMEOUT_SECONDS = 15.0  # longer than statement_timeout: the server has given up by then

Values = dict[str, Any]  # by parameter, as JSON can carry them

_steps: list["BatchedStep"] = []


class BatchFailedError(Exception):
    """A batch was not committed; the cause may be any of its steps, or none."""


class BatchedStep:
    """A short step of one dialogue, one batch of a rater or one participation, run by a database function.

    The function must be idempotent. Its first parameter is the id of the row that it locks first. Batches are
    sorted by this id, so that two batches cannot deadlock. The function returns NULL as its first value if
    the step is not allowed.
    """

    def __init__(self, function: str, parameters: Mapping[str, str], *, is_durable: bool = True) -> None:
        """Take the function's name, and its parameters in order with their PostgreSQL types.

        The result of an `is_durable` step survives a crash of PostgreSQL as soon as it is returned. Any other
        step is flushed shortly afterwards.
        """
        self._function = function
        self._session = SESSION if is_durable else SESSION | {"synchronous_commit": "off"}
        names = ", ".join(parameters)
        columns = ", ".join(f"{name} {kind}" for name, kind in parameters.items())
        self._statement = (
            f"SELECT number, result.* FROM ROWS FROM (jsonb_to_recordset({{}}) AS ({columns}))"
            f" WITH ORDINALITY AS step ({names}, number) CROSS JOIN LATERAL {function}({names}) AS result"
        )
        self._queues: dict[asyncio.AbstractEventLoop, _BatchQueue] = {}
        _steps.append(self)

    async def row(self, **values: Any) -> Row | None:
        """Run the step and return the committed row of the function; None if the step is not allowed.

        Raises:
            django.db.Error: this step failed; other steps of its batch may have succeeded.
        """
        try:
            row = await self._queue().row(values)
        except BatchFailedError:
            return await in_database(partial(self.row_alone, **values))
        return None if row[1] is None else row[1:]

    def row_alone(self, **values: Any) -> Row | None:
        """Run the step on this thread, within the caller's transaction if there is one."""
        with connection_of_thread.cursor() as cursor:
            cursor.execute(self._statement.format("%s::jsonb"), [as_json([values])])
            row: Row = cursor.fetchone()
        return None if row[1] is None else row[1:]

    def _queue(self) -> "_BatchQueue":
        loop = asyncio.get_running_loop()
        queue = self._queues.get(loop)
        if queue is None:
            close_connections(of_closed_loops_only=True)
            queue = self._queues[loop] = _BatchQueue(
                self._function, self._statement.format("$1"), self._session
            )
        return queue

    def report_queue(self) -> None:
        """Set the gauge of the steps that wait, in all event loops."""
        waiting = sum(queue.length for queue in list(self._queues.values()))
        BATCH_QUEUE.labels(self._function).set(waiting)

    def close(self, *, of_closed_loops_only: bool) -> None:
        for loop in list(self._queues):
            if loop.is_closed() or not of_closed_loops_only:
                self._queues.pop(loop).close()


class _BatchQueue:
    """Queue of one kind of step in one event loop, with the connection that runs its batches."""

    def __init__(self, function: str, statement: str, session: dict[str, str]) -> None:
        self._function = function
        self._session = session
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

    @property
    def length(self) -> int:
        """Number of steps that wait for the next batch."""
        return len(self._waiting)

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
        batch = [(values, row) for values, row in taken if not row.done()]  # others were cancelled
        batch.sort(key=_lock_key)
        return batch

    async def _execute(self, batch: list[tuple[Values, asyncio.Future[Row]]]) -> None:
        began = time.perf_counter()
        try:
            async with asyncio.timeout(TIMEOUT_SECONDS):
                connection = await self._live_connection()
                given = as_json([values for values, _ in batch])
                rows = await connection.rows("EXECUTE step (%s)", (given,))
        except Exception as error:  # each step is repeated alone, so that only the failing one raises
            log.warning(
                "A batch of %s steps was not committed; each step is repeated alone.",
                len(batch),
                exc_info=True,
            )
            recording.record_batch(self._function, len(batch), time.perf_counter() - began, failed=True)
            for _, row in batch:
                if not row.done():
                    row.set_exception(BatchFailedError(str(error)))
            return
        recording.record_batch(self._function, len(batch), time.perf_counter() - began)
        for found in rows:
            row = batch[found[0] - 1][1]
            if not row.done():
                row.set_result(found)

    async def _live_connection(self) -> LoopConnection:
        if self._connection is None or self._connection.is_closed:
            self._connection = await LoopConnection.open(**self._session)
            await self._connection.rows(self._prepare)
        return self._connection


def _lock_key(step: tuple[Values, asyncio.Future[Row]]) -> int:
    row: int = next(iter(step[0].values()))
    return row


def _report_queues() -> None:
    for step in _steps:
        step.report_queue()


recording.before_reading(_report_queues)


def close_connections(*, of_closed_loops_only: bool = False) -> None:
    """Close the connections of every step, as at the end of the process."""
    for step in _steps:
        step.close(of_closed_loops_only=of_closed_loops_only)
