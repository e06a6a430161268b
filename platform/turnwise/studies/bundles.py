"""Stored bundles, for those who take something back that may be in one; and what was taken along."""

from collections.abc import Iterable
from datetime import datetime

from django.db import connection, transaction
from django.db.models import Q, QuerySet
from django.utils import timezone

from turnwise.studies.models import Bundle, LastExport


@transaction.atomic
def delete_bundles_quoting(studies: Iterable[int]) -> None:
    """Delete, in the caller's transaction, the bundles of these studies, and those that quote them.

    Those being made, too. Until it commits nobody asks for a new one, which would still read what the caller
    has just taken away.
    """
    lock_bundles()
    taken = list(studies)
    delete(Bundle.objects.filter(Q(study__in=taken) | Q(quotes__overlap=taken)))


def lock_bundles() -> None:
    """Let no bundle be asked for, begun or stored by others until the caller's transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {Bundle._meta.db_table} IN SHARE ROW EXCLUSIVE MODE")


@transaction.atomic
def delete(bundles: QuerySet[Bundle]) -> None:
    # Locked first: nothing is added to them any more once their parts are gone.
    keys = list(bundles.order_by("pk").select_for_update().values_list("pk", flat=True))
    Bundle.objects.filter(pk__in=keys).delete()


def record_export(
    study_id: int, *, results_version: int, judgments: int, now: datetime | None = None
) -> None:
    """Note that somebody has taken these results of a study along."""
    taken = {"at": now or timezone.now(), "results_version": results_version, "judgments": judgments}
    LastExport.objects.update_or_create(study_id=study_id, defaults=taken)
