"""What was taken back, what is left out of all that leaves the platform, and who has looked for it."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from turnwise.crowd.models.people import Participation
from turnwise.studies.models import Study


class Withdrawal(models.Model):
    """Somebody had their texts and answers removed from a study. It says how much, and nothing of it.

    Their participation stays without them: a place that was taken counts as taken, and pay stays paid.
    """

    participation = models.OneToOneField(Participation, on_delete=models.CASCADE, related_name="withdrawal")
    at = models.DateTimeField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text=_("Who of the team did it at their request; empty: they themselves."),
    )
    conversations = ArrayField(
        models.UUIDField(), default=list, blank=True, help_text=_("Those that went with them.")
    )
    texts = models.PositiveIntegerField(default=0, help_text=_("Messages and responses removed."))
    labels = models.PositiveIntegerField(default=0, help_text=_("Of theirs, removed."))

    class Meta:
        ordering = ("-at",)

    def __str__(self) -> str:
        return f"{self.participation}, {self.at:%Y-%m-%d}"


class Redaction(models.Model):
    """A text, such as a name, in whose place a mark stands in all that leaves the platform from a study."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="redactions")
    text = models.CharField(max_length=300)
    kind = models.CharField(max_length=10, help_text=_("Name of an evaluation.personal_data.Kind."))
    at = models.DateTimeField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    undone_at = models.DateTimeField(null=True, blank=True)
    undone_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )

    class Meta:
        ordering = ("study", "pk")
        constraints = (
            models.UniqueConstraint(
                fields=("study", "text"), condition=Q(undone_at=None), name="redacted_once_per_study"
            ),
            models.CheckConstraint(condition=~Q(text=""), name="redaction_is_of_something"),
        )

    def __str__(self) -> str:
        return f"{self.kind} in {self.study}"


class TextReview(models.Model):
    """Somebody looked through a study's texts for personal data; what came later was not seen."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="text_reviews")
    at = models.DateTimeField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    results_version = models.PositiveBigIntegerField(
        help_text=_("Of the study, of which it saw all results.")
    )

    class Meta:
        ordering = ("study", "-pk")

    def __str__(self) -> str:
        return f"{self.study}, {self.at:%Y-%m-%d}"
