from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connections

_LOCKS_OF_RUNS = 7302


@contextmanager
def only_here(run_id: int) -> Iterator[bool]:
    """Hold the run's lock, on a connection of its own; it falls with the process that held it.

    Yields:
        Whether it is ours; False if another process works on the run.
    """
    connection = connections.create_connection("default")
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [_LOCKS_OF_RUNS, run_id])
            row = cursor.fetchone()
        yield bool(row and row[0])
    finally:
        connection.close()


def is_worked_on(run_id: int) -> bool:
    with only_here(run_id) as free:
        return not free
