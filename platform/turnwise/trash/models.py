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
    """What somebody deleted, kept for a day, so that they can put it back."""

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
        """What was deleted.

        `tables` has by table its rows, each as the JSON that PostgreSQL wrote, so that no digit is lost.
        `cleared` has what referred to them and stayed: (table, column, key column, [key, value]).
        """
        found: dict[str, Any] = json.loads(zlib.decompress(self.content))
        return found
