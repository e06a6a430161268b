"""Deletion of published rows when data of their study are withdrawn, erased on request or redacted."""

from collections.abc import Collection

from django.db.models import Q
from django.utils import timezone

from turnwise.publications.models import PublishedRows, PublishedVersion
from turnwise.studies import bundles


def delete_rows_quoting(studies: Collection[int]) -> None:
    """Delete, in the caller's transaction, published rows with texts or answers of these studies.

    The figures stay: they are sums over many people. The public page says when its rows were removed.
    """
    quoting = PublishedRows.objects.filter(Q(study__in=studies) | Q(quotes__overlap=list(studies)))
    versions = list(quoting.order_by("pk").select_for_update().values_list("version_id", flat=True))
    PublishedVersion.objects.filter(pk__in=versions).update(rows_removed_at=timezone.now())
    PublishedRows.objects.filter(version__in=versions).delete()


bundles.register_copies(delete_rows_quoting)
