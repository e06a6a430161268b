"""Soft delete: deletions that can be undone for a day.

Deleted rows are stored as PostgreSQL has them, with their keys, and restored unchanged. Keys are never
reused.
"""

import json
import zlib
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any

from django.db import IntegrityError, connection, transaction
from django.db.models import Model, Q, QuerySet
from django.db.models.deletion import Collector
from django.utils import timezone
from django.utils.translation import gettext as _

from turnwise.accounts import erasures
from turnwise.accounts.access import visible_to
from turnwise.accounts.models import Erasure, User
from turnwise.studies import bundles
from turnwise.studies.models import Study
from turnwise.studies.queries import studies_of
from turnwise.studies.services import results_changed
from turnwise.trash.models import UNDO_PERIOD, Deletion


def deletions_of(user: User) -> QuerySet[Deletion]:
    """Deletions that this user can undo, newest first; admins see all."""
    recent = Deletion.objects.filter(at__gte=timezone.now() - UNDO_PERIOD)
    accessible = Q(study=None) | Q(study__in=studies_of(user).values("pk"))
    return visible_to(user, recent, owner="by").filter(accessible).select_related("study").defer("content")


RESTORED_LAST = "dialogues_dialogue"
"""Table restored after its turns: a trigger refuses adding turns to a conversation that has ended."""

AT_ONCE = 5_000
"""Rows restored per statement: PostgreSQL accepts at most 256 MB of JSON."""


class RestoreRefusedError(Exception):
    """The deletion cannot be undone; the message says why."""


class SoftDeleter:
    """Deletes querysets one after another, and stores their rows as one undoable deletion."""

    def __init__(self) -> None:
        self._tables: dict[str, list[str]] = defaultdict(list)
        self._cleared: list[tuple[str, str, str, Any]] = []

    def delete(self, things: QuerySet[Any]) -> None:
        """Delete these rows with all dependent rows, in the caller's transaction.

        Raises:
            django.db.models.ProtectedError: protected rows depend on them; nothing was deleted.
        """
        collector = Collector(using="default", origin=things)
        collector.collect(things)
        for model, found in collector.data.items():
            self._keep(model, [each.pk for each in found])
        for fast in collector.fast_deletes:
            self._keep(fast.model, list(fast.values_list("pk", flat=True)))
        cleared: Mapping[Any, Any] = collector.field_updates  # by (field, new value), in groups
        for (field, _value), groups in cleared.items():
            self._note_cleared(field.model, field.column, [each.pk for group in groups for each in group])
        if erasures.PROTECTED & self._tables.keys():
            erasures.begin(Erasure.Reason.DELETION)
        collector.delete()

    def _keep(self, model: type[Model], keys: Collection[Any]) -> None:
        table, key = model._meta.db_table, _key(model)
        if keys:
            self._tables[table] += [row for (row,) in _read("to_jsonb(t)::text", table, key, keys)]

    def _note_cleared(self, model: type[Model], column: str, keys: Collection[Any]) -> None:
        table, key = model._meta.db_table, _key(model)
        if keys:
            pairs = _read(f't."{key}"::text, t."{column}"::text', table, key, keys)
            self._cleared += [(table, column, key, pair) for pair in pairs]

    def store(self, what: str, *, by: User, study: Study | None = None) -> Deletion:
        """Store the deleted rows.

        Args:
            what: name of the deleted thing, as its page calls it.
            by: user who deleted it.
            study: study to which it belongs; deleting the study deletes the stored rows, too.
        """
        if erasures.PROTECTED & self._tables.keys():
            erasures.begin(Erasure.Reason.DELETION, by=by, study_id=study.pk if study else None)
        packed = zlib.compress(json.dumps({"tables": self._tables, "cleared": self._cleared}).encode())
        return Deletion.objects.create(by=by, study=study, what=what[:300], at=timezone.now(), content=packed)


def _key(model: type[Model]) -> str:
    """Column name of a table's primary key."""
    key = model._meta.pk
    assert key
    assert key.column
    return key.column


def _read(columns: str, table: str, key: str, keys: Collection[Any]) -> list[tuple[str, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(f'SELECT {columns} FROM "{table}" AS t WHERE t."{key}" = ANY(%s)', [list(keys)])
        rows: list[tuple[str, ...]] = cursor.fetchall()
    return rows


@transaction.atomic
def restore(deletion_id: int) -> Deletion | None:
    """Undo a deletion; None if it was undone already or has expired.

    Raises:
        RestoreRefusedError: rows on which it depends are gone, or other rows conflict with it.
    """
    deletion = Deletion.objects.select_for_update().filter(pk=deletion_id).first()
    if deletion is None:
        return None
    stored = deletion.stored_rows
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            for table in sorted(stored["tables"], key=lambda table: table == RESTORED_LAST):
                rows = stored["tables"][table]
                for start in range(0, len(rows), AT_ONCE):
                    cursor.execute(
                        f'INSERT INTO "{table}" SELECT * FROM jsonb_populate_recordset(NULL::"{table}", %s)',
                        [f"[{','.join(rows[start : start + AT_ONCE])}]"],
                    )
            for table, column, key, (row, value) in stored["cleared"]:
                cursor.execute(
                    f'UPDATE "{table}" SET "{column}" = %s WHERE "{key}" = %s AND "{column}" IS NULL',
                    [value, row],
                )
            cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    except IntegrityError:
        raise RestoreRefusedError(
            _(
                "“%(what)s” cannot be put back: what it belonged to has been deleted since, or something "
                "else has taken its place."
            )
            % {"what": deletion.what}
        ) from None
    if deletion.study_id:
        results_changed(deletion.study_id)
    bundles.delete_bundles_quoting(_studies_in(stored["tables"]))  # existing bundles lack the rows
    deletion.delete()
    return deletion


def _studies_in(tables: Mapping[str, Sequence[str]]) -> set[int]:
    """Studies to which the rows belong, including those that judge texts of another study."""
    of_studies = [rows for rows in tables.values() if rows and "study_id" in json.loads(rows[0])]
    return {json.loads(row)["study_id"] for rows in of_studies for row in rows} - {None}


def purge_studies(studies: Iterable[int]) -> None:
    """Delete the stored rows of these studies for good, as they may contain withdrawn data."""
    Deletion.objects.filter(study__in=list(studies)).delete()


def purge_expired(*, now: datetime | None = None) -> None:
    """Delete expired deletions for good."""
    Deletion.objects.filter(at__lt=(now or timezone.now()) - UNDO_PERIOD).delete()
