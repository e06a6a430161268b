"""Database steps of the consumers: a few threads that keep their connections.

Opening a connection for every step costs more than the step; Channels' own
`database_sync_to_async` would queue every worker of the process behind one thread.
"""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, ParamSpec, TypeVar
from weakref import WeakSet

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection

P = ParamSpec("P")
R = TypeVar("R")


class Prepared:
    """A statement that each connection parses and plans once; planning these takes longer than running them.

    It lives as long as its connection. A pooler in front of PostgreSQL must therefore pool sessions,
    not transactions.
    """

    def __init__(self, name: str, parameters: Mapping[str, str], sql: str) -> None:
        """Take `sql` with its parameters as %(name)s; `parameters` gives the PostgreSQL type of each."""
        numbered = {parameter: f"${number}" for number, parameter in enumerate(parameters, 1)}
        values = ", ".join(f"%({parameter})s" for parameter in parameters)
        self._prepare = f"PREPARE {name} ({', '.join(parameters.values())}) AS {sql % numbered}"
        self._execute = f"EXECUTE {name} ({values})"
        self._known_to: WeakSet[Any] = WeakSet()

    def row(self, **values: str | int | None) -> tuple[Any, ...] | None:
        """Run the statement in the thread's connection; its row, or None if it has none."""
        with connection.cursor() as cursor:
            if connection.connection not in self._known_to:
                cursor.execute(self._prepare)
                self._known_to.add(connection.connection)
            cursor.execute(self._execute, values)
            found: tuple[Any, ...] | None = cursor.fetchone()
            return found


def _new_threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(settings.DIALOGUE_DATABASE_THREADS, thread_name_prefix="dialogue-database")


_threads = _new_threads()


async def in_database(step: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Run a short database step on one of the threads that keep a connection.

    A step must be safe to repeat: if the connection turns out to be broken, as after a restart
    of PostgreSQL, it runs once more on a new one.
    """
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_threads, lambda: _with_live_connection(step, *args, **kwargs))


def _with_live_connection(step: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    try:
        return step(*args, **kwargs)
    except (InterfaceError, OperationalError):
        connection.close()
        return step(*args, **kwargs)


def close_connections() -> None:
    """End the threads, and with each its connection, at the end of the process or of the tests."""
    global _threads
    _threads.shutdown()
    _threads = _new_threads()
