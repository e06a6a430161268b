from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from turnwise.crowd.models import Invitation
from turnwise.judging.models import Item

LONGEST_REASON = 2000


class Adjudication(models.Model):
    """An adjudicator's decision about an item, or the undoing of one.

    Rows are only added; the newest counts.
    """

    item = models.ForeignKey(Item, on_delete=models.CASCADE, related_name="adjudications", db_index=False)
    number = models.PositiveSmallIntegerField(help_text=_("From 1, in the order of the decisions."))
    answers = models.JSONField(
        null=True,
        blank=True,
        help_text=_(
            "By question that was open, the decided answer; null if it then is not asked. Empty: the "
            "decision before was undone."
        ),
    )
    reason = models.CharField(max_length=LONGEST_REASON, blank=True)
    at = models.DateTimeField()
    by = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text=_("The researcher who decided; empty: an invited adjudicator."),
    )
    invitation = models.ForeignKey(
        Invitation, on_delete=models.SET_NULL, null=True, blank=True, related_name="adjudications"
    )

    class Meta:
        ordering = ("item", "number")
        constraints = (
            models.UniqueConstraint(fields=("item", "number"), name="adjudicated_once_per_number"),
            models.CheckConstraint(
                name="adjudicated_for_a_reason", condition=Q(answers__isnull=True) | ~Q(reason="")
            ),
        )

    def __str__(self) -> str:
        return f"Decision {self.number} about {self.item_id}"
