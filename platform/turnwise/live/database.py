"""Database access of the consumers: a pool of threads, and connections that the event loop waits for.

`in_database` runs a step on one of a few threads that keep their connections: opening a connection costs
more than most steps, and Channels' `database_sync_to_async` would queue all workers behind one thread.
The steps of every turn are batched instead (`batches.py`), over a `LoopConnection`, which needs no thread.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, Self, TypeVar

import psycopg2
from django.conf import settings
from django.db import Error, OperationalError, connection, connections
from django.utils.translation import activate, deactivate_all, get_language
from psycopg2.extensions import POLL_OK, POLL_READ, POLL_WRITE

from turnwise.live.losses import is_connection_loss

Row = tuple[Any, ...]


_SETTINGS = "SELECT set_config(name, value, false) FROM unnest(%s, %s) AS given (name, value)"


class LoopConnection:
    """One connection, for one statement at a time; each commits by itself.

    It belongs to the event loop in which it was opened. It stays usable after a failed statement. It closes
    (`is_closed`) when the connection is lost or the caller is cancelled.
    """

    def __init__(self) -> None:
        given = connections["default"].get_connection_params()
        self._loop = asyncio.get_running_loop()
        self._psycopg = psycopg2.connect(**given, async_=True)
        self._waiter: asyncio.Future[None] | None = None
        self._descriptor: int | None = None
        self._is_writing = False

    @classmethod
    async def open(cls, **session: str) -> Self:
        """Connect to the default database, in a session with these settings of PostgreSQL.

        A statement makes them: a pooler may ignore those that are given while connecting.

        Raises:
            psycopg2.OperationalError: the server cannot be reached or refuses connections.
        """
        connection = cls()
        try:
            while (state := connection._psycopg.poll()) != POLL_OK:
                await connection._ready(state)
            connection._descriptor = connection._psycopg.fileno()
            connection._loop.add_reader(connection._descriptor, connection._advance)
            session = {"TimeZone": "UTC", **session}
            await connection.rows(_SETTINGS, (list(session), list(session.values())))
        except BaseException:
            connection.close()
            raise
        return connection

    @property
    def is_closed(self) -> bool:
        return bool(self._psycopg.closed)

    async def rows(self, statement: str, values: tuple[object, ...] = ()) -> list[Row]:
        """Run one statement and return its rows once it is committed.

        Raises:
            psycopg2.Error: the statement failed or the connection was lost.
        """
        with self._psycopg.cursor() as cursor:
            cursor.execute(statement, values)
            self._waiter = answered = self._loop.create_future()
            try:
                self._advance()
                await answered
            except asyncio.CancelledError:
                self.close()  # an abandoned statement would block the next one
                raise
            return cursor.fetchall() if cursor.description else []

    def close(self) -> None:
        if self._descriptor is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._descriptor)
            self._loop.remove_writer(self._descriptor)
        self._descriptor = None
        self._psycopg.close()
        self._settle(psycopg2.InterfaceError("The connection was closed while a statement ran on it."))

    async def _ready(self, state: int) -> None:
        """Wait, while connecting, until the current socket is readable or writable."""
        descriptor, happened = self._psycopg.fileno(), asyncio.Event()
        if state == POLL_READ:
            self._loop.add_reader(descriptor, happened.set)
        else:
            self._loop.add_writer(descriptor, happened.set)
        try:
            await happened.wait()
        finally:
            self._loop.remove_reader(descriptor)
            self._loop.remove_writer(descriptor)

    def _advance(self) -> None:
        """Let psycopg2 read and write after the socket became ready, perhaps because the server ended."""
        try:
            state = self._psycopg.poll()
        except psycopg2.Error as error:
            self._settle(error)
            if self.is_closed:
                self.close()
            return
        self._watch_writing(state == POLL_WRITE)
        if state == POLL_OK:
            self._settle(None)

    def _watch_writing(self, wanted: bool) -> None:
        if wanted and not self._is_writing:
            self._loop.add_writer(self._psycopg.fileno(), self._advance)
        elif self._is_writing and not wanted:
            self._loop.remove_writer(self._psycopg.fileno())
        self._is_writing = wanted

    def _settle(self, error: Exception | None) -> None:
        waiter, self._waiter = self._waiter, None
        if waiter is None or waiter.done() or self._loop.is_closed():
            return
        if error is None:
            waiter.set_result(None)
        else:
            waiter.set_exception(error)


# After a crash PostgreSQL is usually back within two seconds.
RETRY_FOR_SECONDS = 5.0
PAUSE_SECONDS = 0.1

P = ParamSpec("P")
R = TypeVar("R")


def _new_threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(settings.DIALOGUE_DATABASE_THREADS, thread_name_prefix="dialogue-database")


_threads = _new_threads()


class DatabaseUnavailableError(Exception):
    """PostgreSQL accepts no connections; the cause says why."""


async def in_database(step: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a short database step on one of the threads that keep a connection.

    The step must be idempotent: if the connection is lost, for example in a restart of PostgreSQL, the step
    is repeated once PostgreSQL accepts connections. No thread waits meanwhile. Every other error, lock and
    statement timeouts included, goes to the caller at once. The step runs in the language of its caller.
    """
    loop = asyncio.get_running_loop()
    language, until = get_language(), loop.time() + RETRY_FOR_SECONDS

    def run() -> R:
        _activate_language(language)
        return _with_live_connection(step, *args, **kwargs)

    while True:
        try:
            return await loop.run_in_executor(_threads, run)
        except DatabaseUnavailableError as away:
            if loop.time() > until:
                raise away.__cause__ or away from None
        await asyncio.sleep(PAUSE_SECONDS)


def _activate_language(language: str | None) -> None:
    """Set this thread's language until its next step; restoring the previous one would cost more."""
    if get_language() == language:
        return
    if language is None:
        deactivate_all()
    else:
        activate(language)


def _with_live_connection(step: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    try:
        return step(*args, **kwargs)
    except Error as error:
        if not is_connection_loss(error):
            raise
        connection.close()
        try:
            connection.ensure_connection()
        except OperationalError as away:
            raise DatabaseUnavailableError from away
        return step(*args, **kwargs)


def close_connections() -> None:
    """Stop the threads and close their connections, at the end of the process or of the tests."""
    global _threads
    _threads.shutdown()
    _threads = _new_threads()
