"""Change or delete stored records in a test, as if they had come about like that."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from asgiref.sync import sync_to_async
from django.db import transaction
from django.db.models import Manager, Model, QuerySet

from turnwise.accounts import erasures
from turnwise.accounts.models import Erasure


@contextmanager
def rewriting() -> Iterator[None]:
    """A transaction in which the database lets records be changed and deleted."""
    with transaction.atomic():
        erasures.begin(Erasure.Reason.DELETION)
        yield


@sync_to_async
def rewrite(rows: QuerySet[Any] | Manager[Any], **fields: Any) -> None:
    """Update rows in a test that is a coroutine."""
    with rewriting():
        rows.update(**fields)


@sync_to_async
def remove(row: Model) -> None:
    """Delete a row in a test that is a coroutine."""
    with rewriting():
        row.delete()
