"""Files of conversations from elsewhere."""

import zlib

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from turnwise.studies.models import Study


class TranscriptImport(models.Model):
    """A file of conversations from elsewhere: uploaded, looked at, then imported at once or thrown away."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="imports")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    file_name = models.CharField(max_length=200)
    sha256 = models.CharField(max_length=64)
    format = models.CharField(
        max_length=40,
        blank=True,
        help_text=_("A key of transcripts.importers.FORMATS; empty: none fits."),
    )
    uploaded_at = models.DateTimeField()
    content = models.BinaryField(
        null=True, blank=True, help_text=_("The file, compressed, until it is imported.")
    )

    asked_at = models.DateTimeField(null=True, blank=True, help_text=_("When its import was asked for."))
    refusal = models.TextField(blank=True, help_text=_("Why it was not imported when that was asked for."))
    imported_at = models.DateTimeField(null=True, blank=True)
    systems = models.JSONField(
        default=dict, blank=True, help_text=_("By speaker of the file, the system it is; empty for a person.")
    )
    scripted_opening = models.BooleanField(
        default=False, help_text=_("Whether first turns are scripted, so that nobody judges them.")
    )
    language = models.CharField(max_length=35, blank=True, help_text=_("Empty: the only one of the study."))
    conversations = models.PositiveIntegerField(default=0)
    turns = models.PositiveIntegerField(default=0)
    labels = models.PositiveIntegerField(
        default=0, help_text=_("Of raters elsewhere, that came with the file.")
    )
    left_out = models.PositiveIntegerField(default=0, help_text=_("Problems for which something stayed out."))

    class Meta:
        ordering = ("-uploaded_at",)
        constraints = (
            models.CheckConstraint(
                name="import_keeps_file_until_imported",
                condition=Q(imported_at=None, content__isnull=False)
                | Q(imported_at__isnull=False, content=None),
            ),
        )

    def __str__(self) -> str:
        return self.file_name

    @property
    def is_under_way(self) -> bool:
        return self.asked_at is not None and self.imported_at is None

    @property
    def file(self) -> bytes:
        """The file as it was uploaded; nothing once it is imported."""
        return zlib.decompress(self.content) if self.content else b""


def packed(file: bytes) -> bytes:
    """A file as it is kept: a large one would need several times its size on its way into the database."""
    return zlib.compress(file, level=1)
