"""How far the judging of each ask of a study is.

What a queue costs before anybody has worked on it: its judgments, the batches of them, their pay.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from math import ceil
from typing import ClassVar, NamedTuple

from django.db import connection
from django.db.models import QuerySet
from django.urls import reverse
from django.utils.functional import Promise
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from typing_extensions import override

from turnwise.crowd.worker_task import WorkerTask
from turnwise.judging.asks import JUDGED_BY, asks_of_readers
from turnwise.judging.batteries.batch_allocation import asked_anew
from turnwise.judging.batteries.battery_rules import battery_of, why_unfit
from turnwise.judging.models import Battery, Item, JudgingPlan
from turnwise.judging.queries import batches_of_pilot_over, items_of, judged_and_wanted, shares
from turnwise.judging.queue.services import is_judged, judge_again
from turnwise.judging.queue.training import tries_of
from turnwise.studies.asks import About
from turnwise.studies.models import Ask, Study
from turnwise.studies.planned_size import Planned, Tells, Unit
from turnwise.studies.tasks import Plan, Rows, copied_row


class AskCount(NamedTuple):
    """How far the judging of the items of one ask is.

    Attributes:
        ask: which.
        items: that are in the queue.
        judged: judgments that count.
        wanted: judgments in all.
    """

    ask: Ask
    items: int
    judged: int
    wanted: int

    @property
    def about(self) -> str | Promise:
        """What is judged, in a word or two."""
        return JUDGED_BY[About(self.ask.about)]


_BY_ASK = """
SELECT i.ask_id, count(DISTINCT i.id) FILTER (WHERE i.removed_at IS NULL), count(s.label_id),
       count(s.id) FILTER (WHERE i.removed_at IS NULL OR s.label_id IS NOT NULL OR s.leased_until >= now())
  FROM judging_item AS i
  LEFT JOIN judging_slot AS s ON s.item_id = i.id AND (s.batch_id IS NULL OR s.batch_id <> ALL (%(pilot)s))
 WHERE i.study_id = %(study)s AND i.right_answers IS NULL
 GROUP BY i.ask_id
"""


def ask_counts(study: Study) -> list[AskCount]:
    """For each ask of readers, in their order, its items, the judgments that they have, and those wanted."""
    with connection.cursor() as cursor:
        pilot = batches_of_pilot_over(study)
        cursor.execute(_BY_ASK, {"study": study.pk, "pilot": pilot})
        found = {ask: counts for ask, *counts in cursor.fetchall()}
    return [AskCount(ask, *found.get(ask.pk, (0, 0, 0))) for ask in asks_of_readers(study)]


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


class QueuedTask(WorkerTask):
    """A task whose workers judge the items of a queue: each by as many of them as its plan says.

    Attributes:
        filled_at: name of the address where items are added; empty: on the page of the queue itself.
        has_batteries: whether its workers may each get a battery of them instead.
    """

    filled_at: ClassVar[str] = ""
    has_batteries: ClassVar[bool] = False
    unit = Unit.JUDGMENT
    saved: ClassVar[str | Promise] = _("All your answers are saved.")
    read_at: ClassVar[str] = "judging:items"

    @override
    def is_full(self, study: Study, now: datetime) -> bool:
        return is_judged(study, now)

    @override
    def trains(self, study: Study) -> bool:
        return tries_of(study) > 0

    @override
    def is_blind(self, study: Study) -> bool:
        return True  # no page of a rater says whose words they read

    @override
    def why_not_open(self, study: Study) -> str:
        if unfilled := next((each.ask for each in ask_counts(study) if not each.items), None):
            if not study.items.exists():
                return gettext("There is nothing to judge yet. Add responses or conversations to the queue.")
            return gettext(
                "There is nothing in the queue yet for %(ask)s. Add something to judge, or leave these "
                "questions out."
            ) % {"ask": unfilled}
        battery = battery_of(study)
        return why_unfit(battery) if battery else ""

    @override
    def designed_at(self, study: Study) -> str:
        return reverse(self.filled_at or "judging:queue", args=[study.pk])

    @override
    def asks_changed(self, study: Study) -> None:
        asked_anew(study)

    @override
    def pilot_over(self, study: Study) -> None:
        judge_again(study)

    @override
    def plan_of_copy(self, study: Study) -> Plan | None:
        plan: Plan | None = copied_row(getattr(study, "judging", None))
        return plan

    @override
    def holds(self, study: Study) -> Mapping[str, int]:
        return {"items": sum(each.items for each in ask_counts(study))}

    @override
    def finished_and_wanted(self, studies: QuerySet[Study]) -> Rows:
        return judged_and_wanted(studies)

    @override
    def planned(self, study: Study | None, sent: Mapping[str, str], wanted: Sequence[int]) -> Planned | None:
        return planned_of_queue(study) if study else None

    @override
    def shares(self, studies: QuerySet[Study]) -> Rows:
        return shares(studies)
