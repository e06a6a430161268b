"""Stored bundles, for those who take something back that may be in one."""

from collections.abc import Collection

from django.db import connection, transaction
from django.db.models import QuerySet

from studies.models import Bundle


@transaction.atomic
def forget(studies: Collection[int] | None = None) -> None:
    """Delete, in the caller's transaction, the bundles of these studies, or all; those being made, too.

    Until it commits nobody asks for a new one, which would still read what the caller has just taken away.
    """
    keep_others_out()
    delete(Bundle.objects.all() if studies is None else Bundle.objects.filter(study__in=studies))


def keep_others_out() -> None:
    """Let no bundle be asked for, begun or stored by others until the caller's transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(f"LOCK TABLE {Bundle._meta.db_table} IN SHARE ROW EXCLUSIVE MODE")


@transaction.atomic
def delete(bundles: QuerySet[Bundle]) -> None:
    # Locked first: nothing is added to them any more once their parts are gone.
    keys = list(bundles.order_by("pk").select_for_update().values_list("pk", flat=True))
    Bundle.objects.filter(pk__in=keys).delete()
