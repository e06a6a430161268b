"""The task of judging a queue, the progress of its asks, and the estimated cost of the queue."""

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
from turnwise.judging.batteries.batch_allocation import renumber_items
from turnwise.judging.batteries.battery_rules import battery_of, why_unfit
from turnwise.judging.models import Battery, Item, JudgingPlan
from turnwise.judging.queries import finished_pilot_batch_ids, items_of, judgment_counts, workloads
from turnwise.judging.queue.services import is_judged, requeue_pilot_judgments
from turnwise.judging.queue.training import allowed_tries
from turnwise.studies.asks import About
from turnwise.studies.models import Ask, Study
from turnwise.studies.outlook import Conclusion, PlannedStudy, Unit
from turnwise.studies.tasks import Plan, Rows, copied_row


class AskCount(NamedTuple):
    """Progress of the judging of one ask.

    Attributes:
        ask: the ask.
        items: items in the queue.
        judged: judgments that count.
        wanted: judgments wanted in all.
    """

    ask: Ask
    items: int
    judged: int
    wanted: int

    @property
    def about(self) -> str | Promise:
        """Short name of what the ask is about."""
        return JUDGED_BY[About(self.ask.about)]


# The items first, then the slots of each by their index: joined at once, PostgreSQL may prefer to read the
# items or the slots of all studies, with several processes.
_BY_ASK = """
WITH i AS MATERIALIZED (
    SELECT id, ask_id, removed_at FROM judging_item
     WHERE study_id = %(study)s AND right_answers IS NULL AND anchor_id IS NULL)
SELECT i.ask_id, count(*) FILTER (WHERE i.removed_at IS NULL), sum(slots.judged), sum(slots.wanted)
  FROM i CROSS JOIN LATERAL (
       SELECT count(s.label_id) AS judged,
              count(*) FILTER (WHERE i.removed_at IS NULL OR s.label_id IS NOT NULL
                                  OR s.leased_until >= now()) AS wanted
         FROM judging_slot AS s
        WHERE s.item_id = i.id AND (s.batch_id IS NULL OR s.batch_id <> ALL (%(pilot)s))) AS slots
 GROUP BY i.ask_id
"""


def ask_counts(study: Study) -> list[AskCount]:
    """Progress of each ask of readers, in their order."""
    with connection.cursor() as cursor:
        pilot = finished_pilot_batch_ids(study)
        cursor.execute(_BY_ASK, {"study": study.pk, "pilot": pilot})
        found = {ask: map(int, counts) for ask, *counts in cursor.fetchall()}
    return [AskCount(ask, *found.get(ask.pk, (0, 0, 0))) for ask in asks_of_readers(study)]


@dataclass(frozen=True, slots=True)
class Cost:
    """Estimated cost of judgments, without gold and third raters.

    Attributes:
        judgments: number of judgments.
        batches: smallest number of batches for them; each is paid as a whole.
        pay: pay of one batch.
    """

    judgments: int
    batches: int
    pay: Decimal

    @property
    def total(self) -> Decimal:
        return self.batches * self.pay


def estimate_cost(items: int, plan: JudgingPlan, pay: Decimal) -> Cost:
    """Cost of items judged from the queue. Nobody judges an item twice, so batches are at least raters."""
    judgments = items * plan.raters_per_item
    batches = max(plan.raters_per_item, ceil(judgments / plan.batch_size)) if items else 0
    return Cost(judgments, batches, pay)


def estimate_queue_cost(study: Study, plan: JudgingPlan, battery: Battery | None, items: int) -> Cost:
    """Cost of the whole queue; with a battery, of the workers that it wants."""
    if battery is None:
        return estimate_cost(items, plan, study.pay_amount)
    workers = battery.workers * len(study.languages)
    return Cost(workers * battery.size, workers, study.pay_amount)


# Number of contexts or conversations of each system, or of each two systems that are compared.
_SAMPLES = f"""
SELECT i.system, count(DISTINCT i.cluster), bool_or(i.first_system IS NOT NULL)
  FROM ({items_of()}) AS i GROUP BY i.system
"""


def planned_of_queue(study: Study) -> PlannedStudy | None:
    """Planned size and precision of the whole queue; None for an empty one."""
    items = Item.objects.filter(study=study, right_answers__isnull=True).count()
    if not items:
        return None
    plan = JudgingPlan.objects.filter(study=study).first() or JudgingPlan(study=study)
    battery = battery_of(study)
    cost = estimate_queue_cost(study, plan, battery, items)
    if battery:  # every worker judges one item of each target
        samples = [cost.batches] * len(battery.targets)
        return PlannedStudy(Unit.JUDGMENT, cost.judgments, cost.batches, Conclusion.TARGETS, samples)
    with connection.cursor() as cursor:
        cursor.execute(_SAMPLES, [study.pk])
        rows = cursor.fetchall()
    samples, are_pairs = [int(n) for _, n, _ in rows], any(paired for *_, paired in rows)
    unit, tells = (
        (Unit.COMPARISON, Conclusion.PREFERENCE) if are_pairs else (Unit.JUDGMENT, Conclusion.SYSTEMS)
    )
    return PlannedStudy(unit, cost.judgments, cost.batches, tells, samples)


class QueuedTask(WorkerTask):
    """A task whose workers judge items of a queue, as many each as the plan says.

    Attributes:
        filled_at: URL name of the page where items are added; empty: the page of the queue.
        has_batteries: True if workers may each get a battery instead.
        has_adjudication: True if an adjudicator may decide items on which raters differ.
        has_anchors: True if items with known values may be mixed in.
    """

    filled_at: ClassVar[str] = ""
    has_batteries: ClassVar[bool] = False
    has_adjudication: ClassVar[bool] = False
    has_anchors: ClassVar[bool] = False
    unit = Unit.JUDGMENT
    saved: ClassVar[str | Promise] = _("All your answers are saved.")
    read_at: ClassVar[str] = "judging:items"

    @override
    def is_full(self, study: Study, now: datetime) -> bool:
        return is_judged(study, now)

    @override
    def trains(self, study: Study) -> bool:
        return allowed_tries(study) > 0

    @override
    def is_blind(self, study: Study) -> bool:
        return True  # pages of raters never name the system

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
        renumber_items(study)

    @override
    def pilot_over(self, study: Study) -> None:
        requeue_pilot_judgments(study)

    @override
    def plan_of_copy(self, study: Study) -> Plan | None:
        plan: Plan | None = copied_row(getattr(study, "judging", None))
        return plan

    @override
    def holds(self, study: Study) -> Mapping[str, int]:
        return {"items": sum(each.items for each in ask_counts(study))}

    @override
    def completed_and_planned(self, studies: QuerySet[Study]) -> Rows:
        return judgment_counts(studies)

    @override
    def planned(
        self, study: Study | None, sent: Mapping[str, str], wanted: Sequence[int]
    ) -> PlannedStudy | None:
        return planned_of_queue(study) if study else None

    @override
    def shares(self, studies: QuerySet[Study]) -> Rows:
        return workloads(studies)
