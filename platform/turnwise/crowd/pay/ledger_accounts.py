"""The ledger's accounts as a list: filtered by state, searched, ordered and summed; actions on chosen ones.

An action, such as marking as paid or giving a bonus, is done for all of them, or for none.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NamedTuple

from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Count, F, Max, OrderBy, Q, QuerySet, Sum
from django.db.models.functions import Coalesce
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from turnwise.accounts.models import User
from turnwise.crowd.models import Participation, PayEntry
from turnwise.crowd.pay import ledger
from turnwise.crowd.pay.ledger import CLAIMS, NOTHING, Account, Reason, belongs_to
from turnwise.crowd.queries import participations_of
from turnwise.live.list_pages import MOST_TICKED
from turnwise.studies.models import Study

_PAID, _DUE = Q(paid__gt=0), Q(due__gt=0)
STATES = {
    "due": (gettext_lazy("Due"), _DUE & ~_PAID),
    "paid": (gettext_lazy("Paid"), _PAID),
    "nothing": (gettext_lazy("Nothing due or paid"), ~_DUE & ~_PAID),
}
"""Filters of the list by key: title and condition. Each account has exactly one of these states."""

SORTS: dict[str, tuple[Any, tuple[OrderBy, ...]]] = {
    "newest": (gettext_lazy("Newest first"), ()),
    "oldest": (gettext_lazy("Oldest first"), (F("participation").asc(),)),
    "due": (gettext_lazy("Largest amount due first"), (F("due").desc(),)),
    "paid": (gettext_lazy("Largest amount paid first"), (F("paid").desc(),)),
    "worker": (gettext_lazy("By worker"), (F("name").asc(),)),
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


@dataclass(frozen=True, slots=True)
class Request:
    """Details of an action.

    Attributes:
        shown: amount due of each chosen participation, by its key, as the page showed it.
        amount: the bonus for each; None if no amount was typed.
        note: reason of the bonus.
        by: the member of staff.
    """

    shown: Mapping[int, Decimal]
    amount: Decimal | None
    note: str
    by: User


@transaction.atomic
def mark_paid(study: Study, request: Request) -> str:
    """Record that the amounts due of the chosen accounts were paid, as the page showed them.

    Raises:
        ValidationError: an amount has changed since, such as by a payment at the same moment, or is 0.
    """
    ledger.lock(study.pk)
    chosen = ledger.accounts(study, only=request.shown)
    for account in chosen:
        if account.due <= 0 and request.shown[account.participation] <= 0:
            raise ValidationError(
                _("Nothing was marked as paid: nothing is due to %(who)s. Untick them.")
                % {"who": account.worker}
            )
        if account.due != request.shown[account.participation]:
            raise ValidationError(
                _(
                    "Nothing was marked as paid: %(now)s is due to %(who)s now, not %(then)s. Check the list "
                    "and tick again."
                )
                % {
                    "now": account.due,
                    "who": account.worker,
                    "then": request.shown[account.participation],
                }
            )
    ledger.record_paid(study, chosen, by=request.by)
    return ngettext(
        "%(n)d person is marked as paid: %(total)s %(currency)s.",
        "%(n)d people are marked as paid: %(total)s %(currency)s in all.",
        len(chosen),
    ) % {
        "n": len(chosen),
        "total": sum((each.due for each in chosen), ledger.NOTHING),
        "currency": study.pay_currency,
    }


def give_bonus(study: Study, request: Request) -> str:
    """Give each chosen participation the same bonus."""
    if request.amount is None:
        raise ValidationError(_("Type the bonus for each of them as an amount, such as 0.50."))
    keys = list(study.participations.filter(pk__in=request.shown).values_list("pk", flat=True))
    if len(keys) < len(request.shown):
        raise ValidationError(
            _("No changes were made: the data of a chosen person were deleted, so they can get no bonus.")
        )
    ledger.add_bonuses(keys, request.amount, note=request.note, by=request.by)
    return ngettext(
        "%(n)d person gets a bonus of %(amount)s.", "%(n)d people get a bonus of %(amount)s each.", len(keys)
    ) % {"n": len(keys), "amount": request.amount}


ACTIONS: dict[str, tuple[str | Promise, Callable[[Study, Request], str]]] = {
    "paid": (gettext_lazy("Mark as paid"), mark_paid),
    "bonus": (gettext_lazy("Give a bonus to each"), give_bonus),
}
"""Actions by key, in the order of the menu: title and function."""


def carry_out(study: Study, action: str, request: Request) -> str:
    """Carry out an action on the chosen accounts of this study; returns a sentence about the result.

    Raises:
        ValidationError: nothing is chosen, the action is unknown, or it is refused; nothing was changed.
    """
    if len(request.shown) > MOST_TICKED:
        raise ValidationError(
            _("%(n)d people are ticked. Tick up to %(most)d at once.")
            % {"n": len(request.shown), "most": MOST_TICKED}
        )
    existing = {each.participation for each in ledger.accounts(study, only=request.shown)}
    if not existing or existing != set(request.shown):
        raise ValidationError(
            _("Nobody is ticked, or someone who is not in this ledger. Tick at least one row in the list.")
        )
    if action not in ACTIONS:
        raise ValidationError(_("Choose what to do with the ticked people."))
    return ACTIONS[action][1](study, request)
