"""Rows of a statement in groups, read through a server-side cursor so that memory stays flat."""

from collections.abc import Iterator, Mapping
from itertools import groupby
from typing import Any

from django.db import connection, transaction

_BATCH = 2000


def grouped_rows(name: str, statement: str, values: Mapping[str, Any]) -> Iterator[list[tuple[Any, ...]]]:
    """Yield the rows that have the same first column and follow each other, in one transaction.

    Args:
        name: of the cursor.
        statement: SQL, ordered by its first column.
        values: its parameters, by name.
    """
    with transaction.atomic():
        connection.ensure_connection()
        with connection.connection.cursor(name=name) as cursor:
            cursor.itersize = _BATCH
            cursor.execute(statement, values)
            for _, rows in groupby(cursor, key=lambda row: row[0]):
                yield list(rows)
