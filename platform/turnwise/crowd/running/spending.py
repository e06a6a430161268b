"""Costs of studies so far and at completion, summed from the ledger for many studies at once."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from math import ceil
from typing import Any

from django.db.models import F, QuerySet, Sum, Value
from django.utils import timezone

from turnwise.crowd.models import Assignment, PayEntry
from turnwise.crowd.pay.ledger import CLAIMS, NOTHING, Reason
from turnwise.crowd.places.reservation import holding
from turnwise.studies.models import Study
from turnwise.studies.queries import union_of_tasks
from turnwise.studies.tasks import Share, task_of

_OPEN = "open"  # pay promised to active workers


@dataclass(frozen=True, slots=True)
class Spend:
    """Costs of one study, or of several with the same currency.

    Attributes:
        currency: currency of all amounts.
        paid: amount recorded as paid.
        owed: amount earned and not recorded as paid.
        full: paid, owed, and the expected pay of active workers and of places still open, without future
            bonuses.
    """

    currency: str
    paid: Decimal
    owed: Decimal
    full: Decimal

    @property
    def is_any(self) -> bool:
        return bool(self.paid or self.owed or self.full)

    def __add__(self, other: "Spend") -> "Spend":
        return Spend(self.currency, self.paid + other.paid, self.owed + other.owed, self.full + other.full)


def spend_of(
    studies: Collection[Study],
    finished_and_target: Mapping[int, tuple[int, int]],
    *,
    now: datetime | None = None,
) -> dict[int, Spend]:
    """Costs by study key; `finished_and_target` gives the counts of open studies, as their task counts."""
    keys = [study.pk for study in studies]
    at_work = Assignment.objects.filter(holding(now or timezone.now()), study__in=keys)
    active = at_work.values("participation")
    open_pay = PayEntry.objects.filter(reason=Reason.PROMISED, participation__in=active)
    every = _summed(PayEntry.objects.filter(study__in=keys), F("reason"))
    rows = every.union(_summed(open_pay, Value(_OPEN)), all=True)
    sums = {(study, reason): total for study, reason, total in rows}
    left = _people_left(studies, finished_and_target)
    spends = {}
    for study in studies:
        claimed = sum((sums.get((study.pk, reason), NOTHING) for reason in CLAIMS), NOTHING)
        paid = sums.get((study.pk, Reason.PAID), NOTHING)
        unpaid = claimed - sums.get((study.pk, Reason.REVERSED), NOTHING) - paid
        to_come = max(sums.get((study.pk, _OPEN), NOTHING), left[study.pk] * study.pay_amount)
        spends[study.pk] = Spend(study.pay_currency, paid, unpaid, paid + unpaid + to_come)
    return spends


def _summed(entries: QuerySet[PayEntry], what: F | Value) -> QuerySet[Any, Any]:
    """Sum the entries per study and per value of `what`."""
    grouped = entries.order_by().annotate(what=what).values_list("study", "what")
    return grouped.annotate(total=Sum("amount"))


def totals_by_currency(spends: Collection[Spend]) -> list[Spend]:
    """Sum the costs per currency, in alphabetical order of the currencies."""
    totals: dict[str, Spend] = {}
    for each in spends:
        totals[each.currency] = totals[each.currency] + each if each.currency in totals else each
    return [totals[currency] for currency in sorted(totals)]


def _people_left(
    studies: Collection[Study], finished_and_target: Mapping[int, tuple[int, int]]
) -> Mapping[int, int]:
    """Number of further workers needed per study; 0 for studies that are not open or paused."""
    running = [study for study in studies if study.state in (Study.State.OPEN, Study.State.PAUSED)]
    rows = union_of_tasks(running, lambda task, group: task.shares(group))
    shares = {study: Share(most, times) for study, most, times in rows}
    people: defaultdict[int, int] = defaultdict(int)
    for study in running:
        finished, target = finished_and_target.get(study.pk, (0, 0))
        left = max(0, target - finished)
        people[study.pk] = task_of(study).together * people_needed(left, shares.get(study.pk, Share()))
    return people


def people_needed(units: int, share: Share) -> int:
    """Number of workers for this many units of work, each doing a full share and no unit twice."""
    return max(ceil(units / share.most), min(units, share.times))
