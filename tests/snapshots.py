"""Rows that take long to make, made once for several tests and put back before each."""

import io

from django.db import connection

from tests.conftest import filled_tables


class Snapshot:
    """What all tables held when it was taken."""

    def __init__(self) -> None:
        self._rows: dict[str, bytes] = {}

    def take(self) -> None:
        with connection.cursor() as cursor:
            for table in filled_tables(cursor):
                rows = io.BytesIO()
                cursor.copy_expert(f'COPY "{table}" TO STDOUT', rows)
                self._rows[table] = rows.getvalue()

    def put_back(self) -> bool:
        """Fill the tables, which must be empty; False if nothing was taken yet.

        Sequences go on counting between tests, so that later rows get numbers of their own.
        """
        with connection.cursor() as cursor:
            cursor.execute("BEGIN; SET LOCAL session_replication_role = replica")
            for table, rows in self._rows.items():
                cursor.copy_expert(f'COPY "{table}" FROM STDIN', io.BytesIO(rows))
            cursor.execute("COMMIT")
        return bool(self._rows)
