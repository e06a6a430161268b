"""Share of one worker in a queue: how many items they judge."""

from turnwise.crowd.models import Participation
from turnwise.crowd.panels.study_panels import invitation_of
from turnwise.judging.batteries.battery_rules import battery_of
from turnwise.judging.models import Item, JudgingPlan

LARGEST_SHARE = 32_000
"""Most items of one worker: what the column of a batch holds, less room for gold items."""


def share_of(participation: Participation, plan: JudgingPlan, language: str) -> int:
    """Number of items that a worker judges, without gold: the plan's, or the share of an invited expert."""
    invited = invitation_of(participation)
    if invited is None or invited.share is None or battery_of(plan.study):
        return plan.batch_size
    if invited.share:
        return invited.share
    of_language = Item.objects.filter(study=plan.study_id, language=language, right_answers__isnull=True)
    return min(max(of_language.filter(removed_at=None).count(), 1), LARGEST_SHARE)
