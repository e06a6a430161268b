"""A study's bundle: asked for, made by a process of its own, kept for a day."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from turnwise.studies.models.study import Study


class Bundle(models.Model):
    """An archive of a study that somebody asked for; `turnwise.exports.making` makes it.

    It lies in the database, which all processes share wherever they run, and in which what somebody takes
    back is gone from here at the same moment (`turnwise.studies.bundles.forget`).
    """

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="bundles")
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    asked_at = models.DateTimeField()
    begun_at = models.DateTimeField(null=True, blank=True)
    made_at = models.DateTimeField(null=True, blank=True)
    reason = models.TextField(blank=True, help_text=_("Why it could not be made."))
    size = models.PositiveBigIntegerField(default=0, help_text=_("In bytes, once it is made."))
    results_version = models.PositiveBigIntegerField(
        default=0, help_text=_("The study's results_version that it covers, once it is made.")
    )
    judgments = models.PositiveIntegerField(
        default=0, help_text=_("Items judged, of a judging study, when its labels were read.")
    )

    quotes = ArrayField(
        models.BigIntegerField(),
        default=list,
        blank=True,
        help_text=_("Keys of the studies of which it has texts or answers, its own among them."),
    )

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.UniqueConstraint(
                fields=("study",),
                condition=Q(made_at=None, reason=""),
                name="one_bundle_at_work_per_study",
            ),
            models.CheckConstraint(name="bundle_made_or_failed", condition=Q(made_at=None) | Q(reason="")),
        )

    def __str__(self) -> str:
        return f"Bundle of {self.study}"

    @property
    def is_under_way(self) -> bool:
        return self.made_at is None and not self.reason


class LastExport(models.Model):
    """Which of a study's results somebody has taken along, also once the archive itself is dropped."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="last_export")
    at = models.DateTimeField()
    results_version = models.PositiveBigIntegerField(help_text=_("The study's, when they were read."))
    judgments = models.PositiveIntegerField(help_text=_("Items judged until then, of a judging study."))

    def __str__(self) -> str:
        return f"Last export of {self.study}"


class BundlePart(models.Model):
    """A piece of an archive, so that nobody has to hold all of it in memory."""

    bundle = models.ForeignKey(Bundle, on_delete=models.CASCADE, related_name="parts", db_index=False)
    number = models.PositiveIntegerField()
    content = models.BinaryField()

    class Meta:
        ordering = ("number",)
        constraints = (models.UniqueConstraint(fields=("bundle", "number"), name="bundle_part_once"),)

    def __str__(self) -> str:
        return f"Part {self.number} of {self.bundle_id}"
