"""Share of one worker in a queue: how many items they judge."""

from django.db.models import Exists, OuterRef

from turnwise.crowd.models import Participation
from turnwise.crowd.panels.study_panels import invitation_of
from turnwise.judging.batteries.battery_rules import battery_of
from turnwise.judging.models import Item, JudgingPlan, Slot

LARGEST_SHARE = 32_000
"""Most items of one worker: what the column of a batch holds, less room for gold items."""


def share_of(participation: Participation, plan: JudgingPlan, language: str) -> int:
    """Number of items that a worker judges, without gold: the plan's, or the share of an invited expert."""
    invited = invitation_of(participation)
    if battery_of(plan.study):
        return plan.batch_size
    items = Item.objects.filter(
        study=plan.study_id, language=language, right_answers__isnull=True, removed_at=None
    )
    if invited is None or invited.share is None:
        # The page counts "Item 1 of", so a queue that is nearly done promises no whole batch.
        wanted = Exists(Slot.objects.filter(item=OuterRef("pk"), label=None))
        return max(items.filter(wanted)[: plan.batch_size].count(), 1)
    return invited.share or min(max(items.count(), 1), LARGEST_SHARE)
