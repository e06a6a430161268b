"""What a queue costs before anybody has worked on it: its judgments, the batches of them, their pay."""

from dataclasses import dataclass
from decimal import Decimal
from math import ceil

from judging.models import Battery, JudgingPlan
from studies.models import Study


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
