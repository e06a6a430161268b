from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from turnwise.dialogues.models import Dialogue
from turnwise.studies.models import Study


class Decision(models.Model):
    """A researcher's decision on a finished conversation; without one it is pending."""

    class State(models.TextChoices):
        ACCEPTED = "accepted", _("Accepted")
        REJECTED = "rejected", _("Rejected")

    dialogue = models.OneToOneField(Dialogue, on_delete=models.CASCADE, related_name="decision")
    state = models.CharField(max_length=10, choices=State)
    reason = models.CharField(max_length=500, blank=True, help_text=_("Why it was rejected."))
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    at = models.DateTimeField()

    class Meta:
        constraints = (
            models.CheckConstraint(
                name="rejected_for_a_reason",
                condition=Q(state="accepted", reason="") | (Q(state="rejected") & ~Q(reason="")),
            ),
        )

    def __str__(self) -> str:
        return f"{self.dialogue_id}: {self.state}"


class Limits(models.Model):
    """Limits of a study beyond which conversations are marked for review; without a row, the defaults."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="acceptance_limits")
    values = models.JSONField(
        default=dict, help_text=_("By key of evaluation.acceptance.LIMITS; null: not looked at.")
    )

    class Meta:
        verbose_name_plural = _("limits")

    def __str__(self) -> str:
        return f"Limits of {self.study}"
