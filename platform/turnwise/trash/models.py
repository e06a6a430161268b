"""Table of soft deletions, which can be undone for a day."""

import json
import zlib
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db import models
from django.utils.translation import gettext_lazy as _

from turnwise.studies.models import Study

UNDO_PERIOD = timedelta(days=1)


class Deletion(models.Model):
    """Soft deletion: the deleted rows, kept for a day so that the user can restore them."""

    by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="deletions")
    study = models.ForeignKey(
        Study, on_delete=models.CASCADE, null=True, blank=True, related_name="deletions",
        help_text=_("To which it belonged, if to any."),
    )  # fmt: skip
    what = models.CharField(max_length=300, help_text=_("As its page called it."))
    at = models.DateTimeField()
    content = models.BinaryField(help_text=_("Its rows by table, in JSON, compressed."))

    class Meta:
        ordering = ("-at", "-pk")
        indexes = (models.Index(fields=("at",), name="deletion_by_age"),)

    def __str__(self) -> str:
        return self.what

    @property
    def stored_rows(self) -> dict[str, Any]:
        """Deleted rows.

        `tables` maps each table to its rows, as JSON written by PostgreSQL, so that no digit is lost.
        `cleared` lists the foreign keys that were set to null: (table, column, key column, [key, value]).
        """
        content: dict[str, Any] = json.loads(zlib.decompress(self.content))
        return content
