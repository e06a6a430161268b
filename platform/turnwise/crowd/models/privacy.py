"""Tables of privacy: withdrawals, redactions and reviews of texts for personal data."""

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from turnwise.crowd.models.people import Participation
from turnwise.studies.models import Study


class Withdrawal(models.Model):
    """Removal of a participant's texts and answers from a study. It records how much was removed, not what.

    The participation stays without its content: its place still counts as used, and its pay is unchanged.
    """

    participation = models.OneToOneField(Participation, on_delete=models.CASCADE, related_name="withdrawal")
    at = models.DateTimeField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text=_("Team member who did it at their request; empty: the participant."),
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
    """Text, such as a name, that exports, bundles and reports of a study replace by a mark."""

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
    """Review of a study's texts for personal data, up to the given version of its results."""

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
