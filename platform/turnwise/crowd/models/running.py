"""A study while people are at work in it: its pauses, and what they are told."""

from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _

from turnwise.studies.models import Study


class Pause(models.Model):
    """A time in which a study admitted nobody new; those in it went on, or were held."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="pauses", db_index=False)
    began_at = models.DateTimeField()
    began_by = models.CharField(max_length=150, blank=True)
    holds = models.BooleanField(default=False, help_text=_("Whether those who had begun were held, too."))
    turned_away = models.PositiveIntegerField(default=0, help_text=_("Visits of people who had not begun."))
    ended_at = models.DateTimeField(null=True, blank=True)
    ended_by = models.CharField(max_length=150, blank=True)

    class Meta:
        ordering = ("study", "-pk")
        constraints = (
            models.UniqueConstraint(
                fields=("study",), condition=Q(ended_at=None), name="paused_once_at_a_time"
            ),
            models.CheckConstraint(
                condition=Q(ended_at=None) | Q(ended_at__gte=F("began_at")), name="pause_ends_after_it_began"
            ),
        )
        indexes = (models.Index(fields=("study", "-id"), name="pauses_of_study"),)

    def __str__(self) -> str:
        return f"{self.study}, {self.began_at:%Y-%m-%d %H:%M}"


class VisitCount(models.Model):
    """How often a study's first page was opened, by what it showed. Nothing says by whom."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="visit_counts", db_index=False)
    saw = models.CharField(max_length=40, help_text=_("“admitted”, or why they could not take part."))
    visits = models.PositiveIntegerField(default=0)

    class Meta:
        ordering = ("study", "saw")
        constraints = (models.UniqueConstraint(fields=("study", "saw"), name="visits_counted_once"),)

    def __str__(self) -> str:
        return f"{self.study}, {self.saw}: {self.visits}"


class Notice(models.Model):
    """What the research team tells everybody who is at work in a study; the newest one is shown."""

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="notices", db_index=False)
    text = models.CharField(max_length=300)
    at = models.DateTimeField()
    by = models.CharField(max_length=150, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True, help_text=_("When another replaced it, or none."))

    class Meta:
        ordering = ("study", "-pk")
        constraints = (
            models.UniqueConstraint(
                fields=("study",), condition=Q(ended_at=None), name="one_notice_at_a_time"
            ),
            models.CheckConstraint(condition=~Q(text=""), name="notice_says_something"),
        )
        indexes = (models.Index(fields=("study", "-id"), name="notices_of_study"),)

    def __str__(self) -> str:
        return f"{self.study}: {self.text[:40]}"
