"""What studies have cost, and what they can still cost: sums of the ledger, of many studies at once."""

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
from turnwise.studies.queries import read_together
from turnwise.studies.tasks import Share, task_of

_OPEN = "open"  # what those at work are promised


@dataclass(frozen=True, slots=True)
class Spend:
    """What a study costs, or several with one currency.

    Attributes:
        currency: of the amounts.
        paid: to people, as somebody noted.
        owed: to people, and not noted as paid.
        full: both, and the pay of everybody who is at work, or has a place left to take, if each does a whole
            share; without bonuses that nobody has given yet.
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
    finished_and_wanted: Mapping[int, tuple[int, int]],
    *,
    now: datetime | None = None,
) -> dict[int, Spend]:
    """Of each of these studies, by its key; `finished_and_wanted` as its task counts it, where it is open."""
    keys = [study.pk for study in studies]
    at_work = Assignment.objects.filter(holding(now or timezone.now()), study__in=keys)
    there = at_work.values("participation")
    open_pay = PayEntry.objects.filter(reason=Reason.PROMISED, participation__in=there)
    every = _summed(PayEntry.objects.filter(study__in=keys), F("reason"))
    told = every.union(_summed(open_pay, Value(_OPEN)), all=True)
    sums = {(study, reason): total for study, reason, total in told}
    left = _people_left(studies, finished_and_wanted)
    found = {}
    for study in studies:
        claimed = sum((sums.get((study.pk, reason), NOTHING) for reason in CLAIMS), NOTHING)
        paid = sums.get((study.pk, Reason.PAID), NOTHING)
        owed = claimed - sums.get((study.pk, Reason.REVERSED), NOTHING) - paid
        to_come = max(sums.get((study.pk, _OPEN), NOTHING), left[study.pk] * study.pay_amount)
        found[study.pk] = Spend(study.pay_currency, paid, owed, paid + owed + to_come)
    return found


def _summed(entries: QuerySet[PayEntry], what: F | Value) -> QuerySet[Any, Any]:
    """By study and what they are summed as, the sum of these entries."""
    named = entries.order_by().annotate(what=what).values_list("study", "what")
    return named.annotate(total=Sum("amount"))


def totals_by_currency(spends: Collection[Spend]) -> list[Spend]:
    """The sums, by currency."""
    found: dict[str, Spend] = {}
    for each in spends:
        found[each.currency] = found[each.currency] + each if each.currency in found else each
    return [found[currency] for currency in sorted(found)]


def _people_left(
    studies: Collection[Study], finished_and_wanted: Mapping[int, tuple[int, int]]
) -> Mapping[int, int]:
    """By study, how many people it takes to do what is left; of one that nobody can enter, none."""
    taking = [study for study in studies if study.state in (Study.State.OPEN, Study.State.PAUSED)]
    rows = read_together(taking, lambda task, own: task.shares(own))
    shares = {study: Share(most, times) for study, most, times in rows}
    found: defaultdict[int, int] = defaultdict(int)
    for study in taking:
        finished, wanted = finished_and_wanted.get(study.pk, (0, 0))
        left = max(0, wanted - finished)
        found[study.pk] = task_of(study).together * people_needed(left, shares.get(study.pk, Share()))
    return found


def people_needed(wanted: int, share: Share) -> int:
    """How many people do so much, each a whole share; nobody does the same twice."""
    return max(ceil(wanted / share.most), min(wanted, share.times))
