"""Published reports: an address of a study, and the versions at it."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from turnwise.studies.models import Study


class Publication(models.Model):
    """A public address with all published versions of a study. It stays after the study, to say so."""

    study = models.ForeignKey(Study, on_delete=models.SET_NULL, null=True, related_name="publications")
    slug = models.SlugField(max_length=60, unique=True)
    is_indexed = models.BooleanField(default=False, help_text=_("Search engines may list the page."))
    in_leaderboard = models.BooleanField(default=False)
    revoked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.UniqueConstraint(
                fields=("study",), condition=Q(revoked_at=None), name="one_public_address_per_study"
            ),
        )

    def __str__(self) -> str:
        return f"/published/{self.slug}/"

    @property
    def is_available(self) -> bool:
        return self.revoked_at is None and self.study_id is not None


class PublishedVersion(models.Model):
    """A published report. Its snapshot is kept as text, so that its hash can be checked byte by byte."""

    publication = models.ForeignKey(Publication, on_delete=models.CASCADE, related_name="versions")
    number = models.PositiveIntegerField()
    published_at = models.DateTimeField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    snapshot = models.TextField(help_text=_("The results as JSON, exactly as they are downloaded."))
    sha256 = models.CharField(max_length=64, help_text=_("Of the snapshot in UTF-8."))
    charts = models.JSONField(default=list, help_text=_("By ask, its chart as SVG, wide and narrow."))
    comparable = models.CharField(
        max_length=200,
        blank=True,
        db_index=True,
        help_text=_("Protocol and hash of the question set; empty without a protocol."),
    )
    rows_removed_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-number",)
        constraints = (
            models.UniqueConstraint(fields=("publication", "number"), name="published_version_once"),
            models.CheckConstraint(
                name="published_version_has_hash", condition=Q(sha256__regex="^[0-9a-f]{64}$")
            ),
        )

    def __str__(self) -> str:
        return f"{self.publication} version {self.number}"


class PublishedRows(models.Model):
    """The archive of rows of a version. It is deleted with the study, and when data of the study are."""

    version = models.OneToOneField(PublishedVersion, on_delete=models.CASCADE, related_name="rows")
    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="+")
    quotes = ArrayField(
        models.BigIntegerField(), help_text=_("Keys of the studies whose texts or answers it has.")
    )
    content = models.BinaryField()
    size = models.PositiveIntegerField(help_text=_("In bytes."))
    sha256 = models.CharField(max_length=64)
    files = models.JSONField(help_text=_("Its tables: name, number of rows, columns and hash."))

    def __str__(self) -> str:
        return f"Rows of {self.version}"
