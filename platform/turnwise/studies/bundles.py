"""Deleting stored bundles when their data are withdrawn, and recording exports."""

from collections.abc import Callable, Collection, Iterable
from datetime import datetime

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from turnwise.studies.models import Bundle, LastExport

_deleters: list[Callable[[Collection[int]], None]] = []


def register_copies(delete_copies: Callable[[Collection[int]], None]) -> None:
    """Register a function of an app above that deletes its stored copies of the data of these studies."""
    if delete_copies not in _deleters:
        _deleters.append(delete_copies)


@transaction.atomic
def delete_bundles_quoting(studies: Iterable[int], *, only_identifiers: bool = False) -> None:
    """Delete, in the caller's transaction, the bundles of these studies, and those that quote them.

    This includes bundles in progress. Until the commit no new bundle can be requested: it would still read
    the data that the caller is deleting.

    Args:
        studies: ids of the studies.
        only_identifiers: true if only identifiers of participants are deleted, because their time is over.
            Bundles have them; registered copies (`register_copies`) do not, and stay.
    """
    lock_bundles()
    taken = list(studies)
    delete(Bundle.objects.filter(Q(study__in=taken) | Q(quotes__overlap=taken)))
    for delete_copies in () if only_identifiers else _deleters:
        delete_copies(taken)


def lock_bundles() -> None:
    """Block requests, starts and storing of bundles by others until the caller's transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {Bundle._meta.db_table} IN SHARE ROW EXCLUSIVE MODE")


@transaction.atomic
def delete(bundles: QuerySet[Bundle]) -> None:
    # Lock first, so that no part is added after the parts are deleted.
    keys = list(bundles.order_by("pk").select_for_update().values_list("pk", flat=True))
    Bundle.objects.filter(pk__in=keys).delete()


def record_export(
    study_id: int, *, results_version: int, judgments: int, now: datetime | None = None
) -> None:
    """Record that somebody exported these results of a study."""
    taken = {"at": now or timezone.now(), "results_version": results_version, "judgments": judgments}
    LastExport.objects.update_or_create(study_id=study_id, defaults=taken)
