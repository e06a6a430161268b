"""Tables of pay: the ledger's entries, and requests to a panel's API."""

from django.db import models
from django.db.models import Q
from django.utils.translation import gettext_lazy as _

from turnwise.crowd.models.people import Participation
from turnwise.studies.models import Study


class PayEntry(models.Model):
    """One line of a study's ledger. It is never changed or deleted: a trigger refuses that.

    It outlives the participation: the record of a payment stays when the person's data are deleted.
    """

    class Reason(models.TextChoices):
        PROMISED = "promised", _("Promised")
        EARNED = "earned", _("Earned")
        PARTLY = "partly", _("Partly earned")
        BONUS = "bonus", _("Bonus")
        PAID = "paid", _("Paid")
        REVERSED = "reversed", _("Reversed")

    study = models.ForeignKey(Study, on_delete=models.PROTECT, related_name="pay_entries", db_index=False)
    participation = models.BigIntegerField(help_text=_("Its key."))
    worker = models.CharField(max_length=20, help_text=_("Pseudonym."))
    reason = models.CharField(max_length=10, choices=Reason)
    amount = models.DecimalField(max_digits=10, decimal_places=2)
    currency = models.CharField(max_length=3)
    note = models.CharField(max_length=200, blank=True)
    by = models.CharField(
        max_length=150, blank=True, help_text=_("Name of the person who entered it; empty: the platform.")
    )
    at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("study", "pk")
        verbose_name_plural = _("pay entries")
        constraints = (
            models.UniqueConstraint(fields=("participation", "reason"), name="pay_once_per_reason"),
            models.CheckConstraint(condition=Q(amount__gt=0), name="pay_above_zero"),
        )
        # The payments page counts, lists and sums accounts from this index alone.
        indexes = (
            models.Index(
                fields=("study", "participation"), include=("reason", "amount"), name="pay_of_study"
            ),
        )

    def __str__(self) -> str:
        return f"{self.get_reason_display()} {self.amount} {self.currency}, {self.worker}"


class PanelAct(models.Model):
    """Request to a panel's API about one participation, retried until the panel answers.

    A payment is never retried automatically: if its outcome is unknown, a team member checks at the panel and
    records it.
    """

    class Kind(models.TextChoices):
        APPROVE = "approve", _("Approve")
        REJECT = "reject", _("Reject")
        BONUS = "bonus", _("Bonus")
        MESSAGE = "message", _("Message")

    class State(models.TextChoices):
        WAITING = "waiting", _("Waiting to be sent")
        SENDING = "sending", _("Being sent")
        DONE = "done", _("Done at the panel")
        FAILED = "failed", _("Refused by the panel")
        UNSURE = "unsure", _("Not known whether it was carried out")

    study = models.ForeignKey(Study, on_delete=models.CASCADE, related_name="panel_acts", db_index=False)
    participation = models.ForeignKey(
        Participation, on_delete=models.CASCADE, related_name="panel_acts", db_index=False
    )
    kind = models.CharField(max_length=10, choices=Kind)
    text = models.CharField(max_length=2000, blank=True, help_text=_("The reason, or the message."))
    category = models.CharField(
        max_length=30, blank=True, help_text=_("Of a rejection, as the panel has it.")
    )
    amount = models.DecimalField(max_digits=10, decimal_places=2, null=True, blank=True)
    state = models.CharField(max_length=10, choices=State, default=State.WAITING)
    their_key = models.CharField(
        max_length=100, blank=True, help_text=_("Of a bonus: what the panel calls it.")
    )
    tries = models.PositiveSmallIntegerField(default=0)
    next_at = models.DateTimeField(help_text=_("Not tried before."))
    problem = models.CharField(max_length=1000, blank=True)
    by = models.CharField(max_length=150, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    done_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("study", "-pk")
        constraints = (
            models.UniqueConstraint(
                fields=("participation", "kind"),
                condition=~Q(kind="message"),
                name="panel_act_once_per_kind",
            ),
            models.CheckConstraint(
                condition=~Q(kind="bonus") | Q(amount__gt=0), name="panel_bonus_above_zero"
            ),
        )
        indexes = (
            models.Index(fields=("study", "-id"), name="panel_acts_of_study"),
            models.Index(
                fields=("next_at",), condition=Q(state__in=("waiting", "sending")), name="panel_acts_to_do"
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} {self.participation_id}: {self.state}"
