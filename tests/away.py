"""A PostgreSQL that lets nobody into the test database for a while, as one that starts anew."""

from collections.abc import Iterator
from contextlib import closing

import psycopg2
import pytest
from asgiref.sync import SyncToAsync
from django.db import connection


class Away:
    """Ends all sessions and refuses new ones, from `begin` to `end`."""

    def __init__(self) -> None:
        parameters = connection.get_connection_params()
        self._name = parameters["dbname"]
        named = {
            key: value for key, value in parameters.items() if key in ("host", "port", "user", "password")
        }
        self._other = psycopg2.connect(dbname="postgres", **named)
        self._other.autocommit = True

    def begin(self) -> None:
        self._run(f'ALTER DATABASE "{self._name}" ALLOW_CONNECTIONS false')
        self._run(
            f"SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE datname = '{self._name}'"
        )

    def end(self) -> None:
        self._run(f'ALTER DATABASE "{self._name}" ALLOW_CONNECTIONS true')

    def close(self) -> None:
        self.end()
        self._other.close()

    def _run(self, statement: str) -> None:
        with self._other.cursor() as cursor:
            cursor.execute(statement)


def end_session() -> None:
    """End the session of this thread, as PostgreSQL does when it is killed."""
    with closing(psycopg2.connect(**connection.get_connection_params())) as other, other.cursor() as cursor:
        pid = connection.connection.info.backend_pid
        cursor.execute("SELECT pg_terminate_backend(%s, 5000)", (pid,))


@pytest.fixture
def away(transactional_db: None) -> Iterator[Away]:
    made = Away()
    yield made
    made.close()
    # The sessions of this thread, and of the one in which async tests ask the database, have been ended.
    connection.close()
    SyncToAsync.single_thread_executor.submit(lambda: connection.close()).result()
