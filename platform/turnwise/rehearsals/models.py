from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from turnwise.studies.models import Study


class Rehearsal(models.Model):
    """Result of a rehearsal: all injected effects, compared with its report."""

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="outcome")
    findings = models.JSONField(
        help_text=_("Of each a sentence, and whether it holds; null if that cannot be told.")
    )
    holds = models.BooleanField(help_text=_("Whether all of them hold."))
    verdict = models.TextField(help_text=_("What came of it, in a sentence."))
    agreement = models.TextField(blank=True, help_text=_("Why nothing is said about alpha; empty if it is."))
    finished_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"Outcome of {self.study}"


class Attempt(models.Model):
    """Progress of a study's newest rehearsal that was started on its page, or the reason for its failure."""

    class State(models.TextChoices):
        QUEUED = "queued", _("Waiting to start")
        RUNNING = "running", _("Under way")
        DONE = "done", _("Done")
        FAILED = "failed", _("Broke off")

    study = models.OneToOneField(Study, on_delete=models.CASCADE, related_name="attempt")
    workers = models.PositiveSmallIntegerField(help_text=_("Simulated ones."))
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    done = models.PositiveSmallIntegerField(default=0, help_text=_("Workers who are through."))
    said = models.TextField(blank=True, help_text=_("What it said last."))
    reason = models.TextField(blank=True, help_text=_("Why it broke off."))
    started_at = models.DateTimeField()
    told_at = models.DateTimeField(help_text=_("When it said something last."))

    class Meta:
        constraints = (
            models.CheckConstraint(
                name="attempt_failed_for_a_reason",
                condition=(Q(state="failed") & ~Q(reason="")) | (~Q(state="failed") & Q(reason="")),
            ),
        )

    def __str__(self) -> str:
        return f"Rehearsal of {self.study}"

    @property
    def is_in_progress(self) -> bool:
        return self.state in (self.State.QUEUED, self.State.RUNNING)
