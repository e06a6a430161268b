"""The ledger's accounts as a list: filtered by state, searched, ordered and summed."""

from collections.abc import Iterable
from decimal import Decimal
from typing import Any, NamedTuple

from django.db.models import Count, F, Max, OrderBy, Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from turnwise.crowd.models import Participation, PayEntry
from turnwise.crowd.pay import ledger
from turnwise.crowd.pay.ledger import CLAIMS, NOTHING, Account, Reason, belongs_to
from turnwise.crowd.queries import participations_of
from turnwise.studies.models import Study

_PAID, _DUE = Q(paid__gt=0), Q(due__gt=0)
STATES = {
    "due": (_("Due"), _DUE & ~_PAID),
    "paid": (_("Paid"), _PAID),
    "nothing": (_("Nothing due or paid"), ~_DUE & ~_PAID),
}
"""Filters of the list by key: title and condition. Each account has exactly one of these states."""

SORTS: dict[str, tuple[Any, tuple[OrderBy, ...]]] = {
    "newest": (_("Newest first"), ()),
    "oldest": (_("Oldest first"), (F("participation").asc(),)),
    "due": (_("Largest amount due first"), (F("due").desc(),)),
    "paid": (_("Largest amount paid first"), (F("paid").desc(),)),
    "worker": (_("By worker"), (F("name").asc(),)),
}
"""Orders of the list by key: title and columns."""


class Totals(NamedTuple):
    """Number of accounts, and the amounts due and paid in all of them."""

    accounts: int
    due: Decimal
    paid: Decimal


def account_keys(study: Study, sought: str = "") -> QuerySet[PayEntry, Any]:
    """Participations that have an account, with the amounts `due` and `paid`.

    Args:
        study: the study.
        sought: pseudonym, panel ID or completion code to look for; empty returns all.
    """
    existing = Participation.objects.filter(study=study)
    entries = PayEntry.objects.filter(belongs_to(existing) | ~Q(reason=Reason.PROMISED), study=study)
    if sought:
        found = list(participations_of(study, sought).values_list("pk", flat=True))
        # A pseudonym is also found in the ledger: it outlives the participation.
        entries = entries.filter(Q(participation__in=found) | Q(worker=sought.upper()))
    return entries.values("participation").annotate(
        paid=_sum(Reason.PAID), due=_sum(*CLAIMS) - _sum(Reason.REVERSED, Reason.PAID)
    )


def _sum(*reasons: Reason) -> Coalesce:
    return Coalesce(Sum("amount", filter=Q(reason__in=reasons)), NOTHING)


def totals_by_state(keys: QuerySet[PayEntry, Any]) -> dict[str, Totals]:
    """Totals of all accounts, by the key "", and of those in each state, in one statement."""
    conditions = {"": Q()} | {key: condition for key, (_title, condition) in STATES.items()}
    columns: dict[str, Any] = {}
    for key, condition in conditions.items():
        columns[f"n_{key}"] = Count("participation", filter=condition)
        columns[f"due_{key}"] = Sum("due", filter=condition)
        columns[f"paid_{key}"] = Sum("paid", filter=condition)
    row = keys.order_by().aggregate(**columns)
    return {
        key: Totals(row[f"n_{key}"], row[f"due_{key}"] or NOTHING, row[f"paid_{key}"] or NOTHING)
        for key in conditions
    }


def listed_keys(keys: QuerySet[PayEntry, Any], state: str, sort: str) -> QuerySet[PayEntry, Any]:
    """Keys of the participations in a state, in an order, for a paginated list."""
    found = (keys.filter(STATES[state][1]) if state else keys).annotate(name=Max("worker"))
    return found.order_by(*SORTS[sort][1], F("participation").desc()).values_list("participation", flat=True)


class Row(NamedTuple):
    """An account of the list.

    Attributes:
        account: sums of its entries.
        exists: False once the participation has been deleted; the account stays.
        panel: the worker's panel; "" for an open link.
        panel_id: the worker's ID there.
    """

    account: Account
    exists: bool
    panel: str
    panel_id: str


def listed_rows(study: Study, keys: Iterable[int]) -> list[Row]:
    """Rows of a page of the list, in the order of these keys of participations."""
    ordered = list(keys)
    accounts = {each.participation: each for each in ledger.accounts(study, only=ordered)}
    existing = Participation.objects.filter(study=study, pk__in=ordered)
    workers = {pk: who for pk, *who in existing.values_list("pk", "worker__panel", "worker__panel_id")}
    return [
        Row(accounts[key], key in workers, *workers.get(key, ("", ""))) for key in ordered if key in accounts
    ]
