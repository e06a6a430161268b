"""Draws of items for people, by the uncertainty of a machine judge."""

from django.conf import settings
from django.core.validators import MaxValueValidator, MinValueValidator
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from turnwise.judging.models.queue import Item
from turnwise.studies.models import Ask, Study


class ItemDraw(models.Model):
    """A draw of the items of an ask that people judge; it never changes.

    People get only items that the newest draw of the ask has as drawn. A later draw adds items: it keeps what
    was drawn, and raises the probability of every item (`evaluation.assisted.item_draws`). The judge is named
    by its values, since a draw stays as it was if the run is deleted.
    """

    class Strata(models.TextChoices):
        NONE = "none", _("All systems together")
        SYSTEM = "system", _("The same number from each system")

    class Source(models.TextChoices):
        ANSWERS = "answers", _("its repeated answers")
        ERRORS = "errors", _("its errors on items that people had judged")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="item_draws", db_index=False)
    ask = models.ForeignKey(Ask, on_delete=models.CASCADE, related_name="item_draws", db_index=False)
    number = models.PositiveSmallIntegerField(help_text=_("From 1."))
    judge = models.CharField(max_length=120, help_text=_("Name of the judge whose uncertainty decides."))
    judge_fingerprint = models.CharField(max_length=64)
    judge_run = models.PositiveBigIntegerField(help_text=_("Number of the run with its labels."))
    source = models.CharField(max_length=10, choices=Source)
    strata = models.CharField(max_length=10, choices=Strata)
    items = models.PositiveIntegerField(
        validators=[MinValueValidator(1)],
        help_text=_("Items wanted by this draw and all earlier ones, without those begun before."),
    )
    floor = models.FloatField(
        validators=[MinValueValidator(0), MaxValueValidator(1)],
        help_text=_("Share of the draw that is even, so that no item has a probability near 0."),
    )
    seed = models.PositiveBigIntegerField()
    made_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, blank=True, related_name="+"
    )
    made_at = models.DateTimeField()

    class Meta:
        ordering = ("ask", "number")
        constraints = (
            models.UniqueConstraint(fields=("ask", "number"), name="item_draw_once_per_number"),
            models.CheckConstraint(name="item_draw_has_a_floor", condition=Q(floor__gt=0, floor__lte=1)),
            models.CheckConstraint(name="item_draw_has_items", condition=Q(items__gte=1)),
        )
        indexes = (models.Index(fields=("study",), name="item_draw_of_study"),)

    def __str__(self) -> str:
        return f"Draw {self.number} of {self.items} items of {self.study_id}"


class DrawnItem(models.Model):
    """An item in a draw, with its probability; it never changes."""

    draw = models.ForeignKey(ItemDraw, on_delete=models.CASCADE, related_name="rows", db_index=False)
    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="in_draws")
    stratum = models.CharField(max_length=500, blank=True)
    uncertainty = models.FloatField(help_text=_("Expected size of the judge's error, in units of the scale."))
    probability = models.FloatField(help_text=_("Of being drawn by this draw or an earlier one."))
    is_drawn = models.BooleanField(help_text=_("By this draw or an earlier one."))
    begun_before = models.BooleanField(
        help_text=_("Whether people had begun to judge it before the first draw; its probability is 1.")
    )

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("draw", "item"), name="drawn_item_once_per_draw"),
            models.CheckConstraint(
                name="drawn_item_can_be_drawn", condition=Q(probability__gt=0, probability__lte=1)
            ),
            models.CheckConstraint(name="drawn_item_is_uncertain", condition=Q(uncertainty__gte=0)),
            models.CheckConstraint(
                name="drawn_item_for_certain",
                condition=Q(is_drawn=True) | Q(probability__lt=1, begun_before=False),
            ),
        )

    def __str__(self) -> str:
        return f"{self.item_id} with {self.probability:.3f}"
