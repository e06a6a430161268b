"""Actions on chosen accounts of a study's ledger: mark as paid, give a bonus. All of them, or none."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal

from django.core.exceptions import ValidationError
from django.db import transaction
from django.utils.functional import Promise
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from turnwise.accounts.models import User
from turnwise.crowd.pay import ledger
from turnwise.live.list_pages import MOST_TICKED
from turnwise.studies.models import Study


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
