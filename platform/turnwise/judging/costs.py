"""What a queue costs before anybody has worked on it: its judgments, the batches of them, their pay."""

from dataclasses import dataclass
from decimal import Decimal
from math import ceil

from django.db import connection

from turnwise.judging.batteries import battery_of
from turnwise.judging.models import Battery, Item, JudgingPlan
from turnwise.judging.queries import items_of
from turnwise.studies.models import Study
from turnwise.studies.planned import Planned, Tells, Unit


@dataclass(frozen=True, slots=True)
class Cost:
    """Of so many judgments, without gold and without the one more that differing raters bring.

    Attributes:
        judgments: in all.
        batches: the fewest in which they can be given; each is paid as a whole.
        pay: of one batch.
    """

    judgments: int
    batches: int
    pay: Decimal

    @property
    def total(self) -> Decimal:
        return self.batches * self.pay


def cost_of(items: int, plan: JudgingPlan, pay: Decimal) -> Cost:
    """Of items that are judged as they come: nobody judges one twice, so no item has fewer workers."""
    judgments = items * plan.raters_per_item
    batches = max(plan.raters_per_item, ceil(judgments / plan.batch_size)) if items else 0
    return Cost(judgments, batches, pay)


def cost_of_queue(study: Study, plan: JudgingPlan, battery: Battery | None, items: int) -> Cost:
    """Of all that is in the queue; with a battery, of the workers that it wants."""
    if battery is None:
        return cost_of(items, plan, study.pay_amount)
    workers = battery.workers * len(study.languages)
    return Cost(workers * battery.size, workers, study.pay_amount)


# Of each system, or each two that are compared, how many contexts or conversations they have.
_SAMPLES = f"""
SELECT i.system, count(DISTINCT i.cluster), bool_or(i.first_system IS NOT NULL)
  FROM ({items_of()}) AS i GROUP BY i.system
"""


def planned_of_queue(study: Study) -> Planned | None:
    """What all that is in the queue takes and can tell; None of an empty one."""
    items = Item.objects.filter(study=study, right_answers__isnull=True).count()
    if not items:
        return None
    plan = JudgingPlan.objects.filter(study=study).first() or JudgingPlan(study=study)
    battery = battery_of(study)
    cost = cost_of_queue(study, plan, battery, items)
    if battery:  # everybody judges one item of each target
        samples = [cost.batches] * len(battery.targets)
        return Planned(Unit.JUDGMENT, cost.judgments, cost.batches, Tells.TARGETS, samples)
    with connection.cursor() as cursor:
        cursor.execute(_SAMPLES, [study.pk])
        rows = cursor.fetchall()
    samples, are_pairs = [int(n) for _, n, _ in rows], any(paired for *_, paired in rows)
    unit, tells = (Unit.COMPARISON, Tells.PREFERENCE) if are_pairs else (Unit.JUDGMENT, Tells.SYSTEMS)
    return Planned(unit, cost.judgments, cost.batches, tells, samples)
