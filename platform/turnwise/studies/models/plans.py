"""Declarations of a study before it opens: its plan, frozen at the first opening, and its stopping rule."""

from django.contrib.postgres.fields import ArrayField
from django.core.validators import MinValueValidator
from django.db import models
from django.db.models import F, Q
from django.utils.translation import gettext_lazy as _


class Preregistration(models.Model):
    """A study's plan as it was at the first opening. A row never changes."""

    study = models.OneToOneField("studies.Study", on_delete=models.CASCADE, related_name="preregistration")
    frozen_at = models.DateTimeField()
    plan = models.JSONField(help_text=_("What the study declared."))
    sha256 = models.CharField(max_length=64, help_text=_("Of the plan's JSON file."))

    def __str__(self) -> str:
        return f"Plan of {self.study}"


FEWEST_PLANNED = 10
MOST_PLANNED = 100_000


class StoppingRule(models.Model):
    """What a study compares, and when it closes itself."""

    study = models.OneToOneField("studies.Study", on_delete=models.CASCADE, related_name="stopping_rule")
    pair = ArrayField(
        models.BigIntegerField(),
        default=list,
        blank=True,
        help_text=_("Ids of the two bots that are compared; empty: all bots of the study, in pairs."),
    )
    compared = ArrayField(
        models.BigIntegerField(),
        default=list,
        blank=True,
        help_text=_("Ids of all bots that are compared, from the opening on."),
    )
    score = models.CharField(max_length=60, help_text=_("Key of a score of the first question set."))
    difference = models.FloatField(help_text=_("Smallest difference that matters, as the report shows it."))
    equivalence = models.BooleanField(
        default=True, help_text=_("Whether it also stops when no difference that matters is left.")
    )
    planned = models.PositiveIntegerField(validators=[MinValueValidator(FEWEST_PLANNED)])
    largest = models.PositiveIntegerField(validators=[MinValueValidator(FEWEST_PLANNED)])
    first_look = models.PositiveIntegerField(
        help_text=_("Conversations with each bot before which it does not decide.")
    )
    declared_at = models.DateTimeField()
    frozen_at = models.DateTimeField(null=True, blank=True, help_text=_("When the study first opened."))
    stopped_at = models.DateTimeField(null=True, blank=True, help_text=_("When the rule closed the study."))
    stopped = models.JSONField(null=True, blank=True, help_text=_("The figures with which it did."))
    reopened_at = models.DateTimeField(
        null=True, blank=True, help_text=_("When the study was opened again after that.")
    )

    class Meta:
        constraints = (
            models.CheckConstraint(name="stopping_difference_is_positive", condition=Q(difference__gt=0)),
            models.CheckConstraint(
                name="stopping_largest_is_not_below_planned", condition=Q(largest__gte=F("planned"))
            ),
            models.CheckConstraint(
                name="stopping_has_figures",
                condition=Q(stopped_at=None, stopped=None)
                | Q(stopped_at__isnull=False, stopped__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return f"Stopping rule of {self.study}"

    @property
    def is_frozen(self) -> bool:
        """Whether the study has opened, so that the rule is fixed."""
        return self.frozen_at is not None
