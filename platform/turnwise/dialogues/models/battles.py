"""Battles: two conversations that one person holds side by side."""

from typing import Any

from django.db import models
from django.db.models import F, Q, QuerySet
from django.db.models.signals import pre_delete
from django.dispatch import receiver
from django.utils.translation import gettext_lazy as _

from turnwise.crowd.models import Assignment, Participation
from turnwise.dialogues.models.conversations import Dialogue


class Battle(models.Model):
    """Two conversations of one worker with two bots, who get the same messages at the same time.

    Each side is a conversation of its own, so each bot sees its own earlier replies. The worker has a seat in
    both, without the assignment, which belongs to all battles of the worker. Which bot is on the left is
    drawn at random.
    """

    assignment = models.ForeignKey(Assignment, on_delete=models.CASCADE, related_name="battles")
    number = models.PositiveSmallIntegerField(help_text=_("Of the worker's battles, from 1."))
    left = models.OneToOneField(Dialogue, on_delete=models.CASCADE, related_name="battle_on_the_left")
    right = models.OneToOneField(Dialogue, on_delete=models.CASCADE, related_name="battle_on_the_right")
    asked_by = models.UUIDField(
        null=True, blank=True, editable=False, help_text=_("Lease: what asks the bots for their due replies.")
    )
    asked_until = models.DateTimeField(
        null=True, blank=True, editable=False, help_text=_("When the lease expires unless it is renewed.")
    )

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("assignment", "number"), name="battle_once_per_number"),
            # The first side of a `labels.Pair` is the older conversation: it is the one on the left.
            models.CheckConstraint(name="battle_left_is_older", condition=Q(left__lt=F("right"))),
        )

    def __str__(self) -> str:
        return f"{self.left} beside {self.right}"


def sides_of(participation: Participation) -> QuerySet[Dialogue]:
    """Conversations of all battles of a participation, in the order of their beginning."""
    on_the_left = Q(battle_on_the_left__assignment__participation=participation)
    return Dialogue.objects.filter(
        on_the_left | Q(battle_on_the_right__assignment__participation=participation)
    ).order_by("pk")


@receiver(pre_delete, sender=Assignment)
def _delete_sides(instance: Assignment, **_: Any) -> None:
    """Delete the conversations of an assignment's battles, which have no other person."""
    battles = Battle.objects.filter(assignment=instance)
    sides = [side for pair in battles.values_list("left", "right") for side in pair]
    Dialogue.objects.filter(pk__in=sides).delete()
