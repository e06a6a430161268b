from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from turnwise.studies.models import Ask


class Agreement(models.Model):
    """The latest comparison of labels by chatters and by readers about the same things."""

    class State(models.TextChoices):
        QUEUED = "queued", _("Queued")
        RUNNING = "running", _("Running")
        READY = "ready", _("Ready")
        FAILED = "failed", _("Failed")

    ask = models.OneToOneField(Ask, on_delete=models.CASCADE, related_name="agreement")
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    wanted_at = models.DateTimeField(help_text=_("When it was last asked for."))
    attempts = models.PositiveSmallIntegerField(default=0, help_text=_("How often it was begun since."))
    done = models.PositiveIntegerField(default=0, help_text=_("Bots compared so far."))
    bots = models.PositiveIntegerField(default=0, help_text=_("Bots to be compared."))
    covers = models.CharField(max_length=60, blank=True, help_text=_("Which labels the result is of."))
    figures = models.JSONField(default=list, blank=True, help_text=_("Of each bot, what both parties say."))
    things = ArrayField(
        models.BigIntegerField(), default=list, help_text=_("Those of both, the most disputed first.")
    )
    reason = models.TextField(blank=True, help_text=_("Why it failed."))

    class Meta:
        constraints = (
            models.CheckConstraint(
                name="agreement_failed_has_reason", condition=~Q(state="failed") | ~Q(reason="")
            ),
        )

    def __str__(self) -> str:
        return f"Agreement about {self.ask}"

    @property
    def is_in_progress(self) -> bool:
        return self.state in (self.State.QUEUED, self.State.RUNNING)
