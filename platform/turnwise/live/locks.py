from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.db import DatabaseError, connections

# What is locked: PostgreSQL keeps locks apart by these numbers.
REPORTS, RUNS, REHEARSALS, AGREEMENTS = 7301, 7302, 7303, 7304
SELF_PLAY, AUDITS, WAITING, IMPORTS, BUNDLES = 7305, 7306, 7307, 7308, 7309


@contextmanager
def only_here(kind: int, pk: int) -> Iterator[bool]:
    """Hold the lock of a report or a run, on a connection of its own; it falls with the process that held it.

    Yields:
        Whether it is ours; False if another process works on it.
    """
    connection = connections.create_connection("default")
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_try_advisory_lock(%s, %s)", [kind, pk])
            row = cursor.fetchone()
            yield bool(row and row[0])
            # Given back here: after the connection closed, the server may still hold it for a moment.
            with suppress(DatabaseError):
                cursor.execute("SELECT pg_advisory_unlock_all()")
    finally:
        connection.close()


def is_worked_on(kind: int, pk: int) -> bool:
    with only_here(kind, pk) as free:
        return not free
