from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from turnwise.dialogues.models import Dialogue
from turnwise.studies.models import Study


class Report(models.Model):
    """One computation of a study's results. Pages show the newest ready one; older ones stay."""

    class State(models.TextChoices):
        QUEUED = "queued", _("Queued")
        RUNNING = "running", _("Running")
        READY = "ready", _("Ready")
        FAILED = "failed", _("Failed")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="reports")
    state = models.CharField(max_length=10, choices=State, default=State.QUEUED)
    results_version = models.PositiveBigIntegerField(
        help_text=_("The study's results_version that it covers.")
    )
    judgments = models.PositiveIntegerField(
        default=0, help_text=_("Items judged, of a judging study, when its labels were read.")
    )
    requested_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    attempts = models.PositiveSmallIntegerField(
        default=0, help_text=_("How often its computation was begun.")
    )
    finished_at = models.DateTimeField(null=True, blank=True)
    result = models.JSONField(null=True, blank=True)
    departures = models.JSONField(
        null=True,
        blank=True,
        help_text=_("Departures from the preregistered plan, in sentences; null: there is no plan."),
    )
    reason = models.TextField(blank=True, help_text=_("Why it failed."))

    class Meta:
        ordering = ("-pk",)
        constraints = (
            models.CheckConstraint(
                name="report_ready_has_result", condition=~Q(state="ready") | Q(result__isnull=False)
            ),
            models.CheckConstraint(
                name="report_failed_has_reason", condition=~Q(state="failed") | ~Q(reason="")
            ),
            models.UniqueConstraint(
                fields=("study",),
                condition=Q(state__in=("queued", "running")),
                name="one_report_at_work_per_study",
            ),
        )

    def __str__(self) -> str:
        return f"Report {self.pk} of {self.study}"


class MeasuredTalk(models.Model):
    """Metrics of a finished conversation with a bot, reply by reply (see `reply_metrics`)."""

    dialogue = models.OneToOneField(Dialogue, on_delete=models.CASCADE, related_name="measured")
    by = models.JSONField(help_text=_("By metric, its encoder; empty if it needs none."))
    values = models.JSONField(help_text=_("By metric, a number for each reply; null where there is none."))

    def __str__(self) -> str:
        return f"Metrics of {self.dialogue_id}"


class Chart(models.Model):
    """A drawing of a report. Only the newest ready report of a study keeps its charts."""

    report = models.ForeignKey(Report, on_delete=models.CASCADE, related_name="charts")
    name = models.CharField(max_length=20)
    svg = models.TextField(help_text=_("Themed by the page that holds it."))
    narrow_svg = models.TextField(help_text=_("The same, drawn for a phone."))

    class Meta:
        ordering = ("pk",)
        constraints = (models.UniqueConstraint(fields=("report", "name"), name="chart_once_per_report"),)

    def __str__(self) -> str:
        return f"{self.name} of {self.report_id}"
