"""The ledger: amounts promised, earned and paid per participation. Entries are added and never changed.

A database constraint allows one entry per participation and reason, so no participation is paid twice.

Every writer calls `lock` before it reads what its entry depends on. Participations are locked before the
study, never after it, as everywhere in this package.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple

from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.db.models import Q, QuerySet, Sum
from django.utils.translation import gettext as _

from turnwise.accounts.models import User
from turnwise.crowd.models import PAID, Assignment, Outcome, Participation, PayEntry, Waiting
from turnwise.live.caching import cache_key, cached
from turnwise.studies.models import Study
from turnwise.studies.queries import counts_of

Reason = PayEntry.Reason

CENT = Decimal("0.01")
NOTHING = Decimal("0.00")
LARGEST_BONUS = Decimal(1000)
MOST_IN_ALL = Decimal(100_000_000)
# Reasons that add to a person's claim; a reversal cancels the whole claim.
CLAIMS = (Reason.EARNED, Reason.PARTLY, Reason.BONUS)


def lock(study_id: int) -> None:
    """Lock a study's ledger until the caller's transaction ends: other writers of entries wait.

    Data read before the lock may be out of date. Inserts that refer to the study, such as labels, don't wait.
    """
    Study.objects.select_for_update(no_key=True).values_list("pk").get(pk=study_id)


def promise(participation: Participation) -> None:
    """Record the pay promised for complete work, in the caller's transaction, when the work begins."""
    study = participation.study
    if study.pay_amount and study.rehearsal_of_id is None:
        lock(study.pk)
        _add(participation, Reason.PROMISED, study.pay_amount)


def settle(assignment: Assignment, outcome: Outcome, now: datetime) -> None:
    """Record the pay earned by an assignment that has ended, in the caller's transaction.

    Complete work, and work that ended by the platform's or the partner's fault, earns the promised pay. Work
    that ran out of time, or a wait without a partner, earns the share for the time spent. Workers who left or
    were screened out earn nothing.
    """
    promised = PayEntry.objects.filter(
        participation=assignment.participation_id, reason=Reason.PROMISED
    ).first()
    if promised is None:
        return
    lock(assignment.study_id)
    if outcome in PAID:
        _add(assignment.participation, Reason.EARNED, promised.amount, currency=promised.currency)
    elif outcome in (Outcome.TIMED_OUT, Outcome.NO_PARTNER):
        seconds = _seconds_waited(assignment)
        if outcome == Outcome.TIMED_OUT:
            seconds = max(seconds, (min(assignment.active_at, now) - assignment.assigned_at).total_seconds())
        part = partial_pay(promised.amount, seconds, assignment.participation.study.expected_minutes)
        if part:
            _add(assignment.participation, Reason.PARTLY, part, currency=promised.currency)


def _seconds_waited(assignment: Assignment) -> float:
    """Seconds for which the worker was present in the lobby."""
    waiting = Waiting.objects.filter(assignment=assignment).first()
    return waiting.waited.total_seconds() if waiting else 0.0


def partial_pay(promised: Decimal, seconds: float, expected_minutes: int) -> Decimal:
    """Share of the pay for the time spent, rounded to the cent, at most the whole pay.

    Args:
        promised: pay for complete work.
        seconds: time spent.
        expected_minutes: expected time for complete work.
    """
    share = min(Decimal(1), Decimal(max(seconds, 0)) / (60 * expected_minutes))
    return (promised * share).quantize(CENT, ROUND_HALF_UP)


def _add(
    participation: Participation,
    reason: Reason,
    amount: Decimal,
    *,
    currency: str = "",
    note: str = "",
    by: str = "",
) -> None:
    """Add an entry, unless the participation has one with this reason already."""
    entry = PayEntry(
        study=participation.study,
        participation=participation.pk,
        worker=participation.pseudonym,
        reason=reason,
        amount=amount,
        currency=currency or participation.study.pay_currency,
        note=note,
        by=by,
    )
    PayEntry.objects.bulk_create([entry], ignore_conflicts=True)


@dataclass(frozen=True, slots=True)
class Account:
    """Account of one participation: sums of its entries, in the study's currency."""

    participation: int
    worker: str
    promised: Decimal
    earned: Decimal
    bonus: Decimal
    reversed: Decimal
    paid: Decimal

    @property
    def due(self) -> Decimal:
        return self.earned + self.bonus - self.reversed - self.paid


def accounts(study: Study, *, only: Iterable[int] | None = None) -> list[Account]:
    """All accounts of a study, ordered by participation.

    Args:
        study: the study.
        only: keys of participations; None for all.
    """
    entries, existing = PayEntry.objects.filter(study=study), Participation.objects.filter(study=study)
    if only is not None:
        keys = list(only)
        entries, existing = entries.filter(participation__in=keys), existing.filter(pk__in=keys)
    by_reason = entries.values("participation", "worker").annotate(
        promised=_sum(Reason.PROMISED),
        earned=_sum(Reason.EARNED, Reason.PARTLY),
        bonus=_sum(Reason.BONUS),
        reversed=_sum(Reason.REVERSED),
        paid=_sum(Reason.PAID),
    )
    relevant = by_reason.filter(belongs_to(existing) | ~Q(earned=None, bonus=None, reversed=None, paid=None))
    columns = ("participation", "worker", "promised", "earned", "bonus", "reversed", "paid")
    return [
        Account(key, worker, *(each or NOTHING for each in sums))
        for key, worker, *sums in relevant.values_list(*columns).order_by("participation")
    ]


def belongs_to(existing: QuerySet[Participation]) -> Q:
    """Entries of existing participations; one replaced by consent in another browser has no account."""
    return Q(participation__in=existing.values("pk"))


def _sum(*reasons: Reason) -> Sum:
    return Sum("amount", filter=Q(reason__in=reasons))


def unpaid_accounts(study: Study) -> list[Account]:
    """Accounts with an amount due that have not been paid."""
    return [account for account in accounts(study) if account.due > 0 and not account.paid]


class AmountDue(NamedTuple):
    """Total amount due: number of people, sum, and the panels that they came from."""

    people: int
    total: Decimal
    panels: list[str]


UNPAID = """
SELECT participation,
       sum(amount) FILTER (WHERE reason IN ('earned', 'partly')) AS earned,
       sum(amount) FILTER (WHERE reason = 'bonus') AS bonus,
       sum(CASE WHEN reason IN ('earned', 'partly', 'bonus') THEN amount
                WHEN reason = 'reversed' THEN -amount ELSE 0 END) AS due
  FROM crowd_payentry WHERE study_id = %s
 GROUP BY participation HAVING NOT bool_or(reason = 'paid')
"""
"""Claims of unpaid participations, by key; an index provides this order."""
_AMOUNT_DUE = f"""
SELECT count(*), coalesce(sum(due), 0.00), array_agg(DISTINCT w.panel) FILTER (WHERE w.id IS NOT NULL)
  FROM ({UNPAID}) AS claim
  LEFT JOIN crowd_participation AS p ON p.id = claim.participation
  LEFT JOIN crowd_worker AS w ON w.id = p.worker_id
 WHERE due > 0
"""


def amount_due(study: Study) -> AmountDue:
    """Sum of `unpaid_accounts`, in one statement; cached until an entry is added."""

    def summed() -> AmountDue:
        with connection.cursor() as cursor:
            cursor.execute(_AMOUNT_DUE, [study.pk])
            people, total, panels = cursor.fetchone()
        return AmountDue(people, total, sorted(panels or ()))

    # Entries are added and never changed, so their number identifies the ledger's state.
    key = cache_key("owed", study.pk, PayEntry.objects.filter(study=study).count())
    due_amount: AmountDue = cached(key, summed)
    return due_amount


def add_bonus(participation_id: int, amount: Decimal, *, note: str, by: User) -> None:
    """Give a bonus to one participation; see `add_bonuses`."""
    add_bonuses([participation_id], amount, note=note, by=by)


@transaction.atomic
def add_bonuses(participation_ids: Iterable[int], amount: Decimal, *, note: str, by: User) -> None:
    """Give a bonus to each of these participations of one study, or to none of them.

    Raises:
        ValidationError: the amount is invalid, or a participation is still open, has a bonus or was paid.
    """
    if not NOTHING < amount <= LARGEST_BONUS or amount != amount.quantize(CENT):
        raise ValidationError(
            _("“%(amount)s” cannot be a bonus. Enter an amount above 0, up to %(most)s, in whole cents.")
            % {"amount": amount, "most": LARGEST_BONUS}
        )
    for participation in _locked(participation_ids):
        _refuse_paid(participation, Reason.BONUS, Reason.REVERSED)
        if not Assignment.objects.filter(participation=participation).exclude(outcome="").exists():
            # A participation is paid once: a bonus now could prevent the pay for the work.
            raise ValidationError(
                _("%(who)s is still at work. Give the bonus when they are done.")
                % {"who": participation.pseudonym}
            )
        _add(participation, Reason.BONUS, amount, note=note.strip()[:200], by=by.username)


@transaction.atomic
def reverse(participation_id: int, *, note: str, by: User) -> None:
    """Cancel the whole claim of a participation, with a reason.

    Raises:
        ValidationError: the reason or the claim is missing, or the claim was paid.
    """
    if not note.strip():
        raise ValidationError(_("Say why: the reason stays in the ledger."))
    (participation,) = _locked([participation_id])
    _refuse_paid(participation, Reason.REVERSED)
    account = next(iter(accounts(participation.study, only=[participation.pk])), None)
    if account is None or account.due <= 0:
        raise ValidationError(
            _("%(who)s has no claim that could be reversed.") % {"who": participation.pseudonym}
        )
    _add(participation, Reason.REVERSED, account.due, note=note.strip()[:200], by=by.username)


def _locked(participation_ids: Iterable[int]) -> list[Participation]:
    """Lock participations of one study, so that their IDs are not erased meanwhile; then its ledger.

    Raises:
        Participation.DoesNotExist: one no longer exists.
    """
    keys = set(participation_ids)
    rows = Participation.objects.select_related("study", "worker").filter(pk__in=keys).order_by("pk")
    # This lock still allows inserts that refer to them, such as payments over a panel's API.
    locked = list(rows.select_for_update(of=("self",), no_key=True))
    if len(locked) < len(keys):
        raise Participation.DoesNotExist
    for study_id in {each.study_id for each in locked}:
        lock(study_id)
    return locked


def _refuse_paid(participation: Participation, *also: Reason) -> None:
    entries = PayEntry.objects.filter(participation=participation.pk)
    for entry in entries.filter(reason__in=[Reason.PAID, *also]):
        raise ValidationError(
            _("No changes were made: %(who)s has an entry “%(reason)s” of %(at)s.")
            % {"who": entry.worker, "reason": entry.get_reason_display(), "at": f"{entry.at:%Y-%m-%d %H:%M}"}
        )


@transaction.atomic
def pay(study: Study, *, total: Decimal, by: User) -> int:
    """Record that all amounts due in a study were paid.

    Args:
        study: the study.
        total: total amount due, as the page showed it.
        by: team member who paid.

    Returns:
        Number of people paid.

    Raises:
        ValidationError: the total amount due has changed since.
    """
    lock(study.pk)
    unpaid = unpaid_accounts(study)
    now_due = sum((account.due for account in unpaid), NOTHING)
    if now_due != total:
        raise ValidationError(
            _(
                "Nothing was marked as paid: %(now)s is due now, not %(then)s. Download the "
                "payment file again."
            )
            % {"now": now_due, "then": total}
        )
    record_paid(study, unpaid, by=by)
    return len(unpaid)


def record_paid(study: Study, unpaid: Iterable[Account], *, by: User) -> None:
    """Record the amounts due of these accounts as paid, in the transaction that has locked the ledger."""
    PayEntry.objects.bulk_create(
        PayEntry(
            study=study,
            participation=account.participation,
            worker=account.worker,
            reason=Reason.PAID,
            amount=account.due,
            currency=study.pay_currency,
            by=by.username,
        )
        for account in unpaid
    )


# --- fair pay -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rates:
    """Costs and hourly pay of a study.

    Attributes:
        cost: all claims so far.
        paid: amount of these recorded as paid.
        due: amount of these not recorded as paid.
        forecast: cost at completion; None if it cannot be estimated.
        minutes: median of finished work, or the expected minutes before any is finished.
        is_measured: True if `minutes` is the median.
        hourly: pay per hour; None without pay.
    """

    cost: Decimal
    paid: Decimal
    due: Decimal
    forecast: Decimal | None
    minutes: float
    is_measured: bool
    hourly: Decimal | None


def rates(study: Study) -> Rates:
    """Compute the current costs and hourly pay of a study."""
    sums = PayEntry.objects.filter(study=study).aggregate(
        claimed=_sum(*CLAIMS), reversed=_sum(Reason.REVERSED), paid=_sum(Reason.PAID)
    )
    cost = (sums["claimed"] or NOTHING) - (sums["reversed"] or NOTHING)
    paid = sums["paid"] or NOTHING
    median = median_minutes(study)
    minutes = median if median else float(study.expected_minutes)
    hourly = (study.pay_amount * 60 / Decimal(minutes)).quantize(CENT) if study.pay_amount else None
    return Rates(cost, paid, cost - paid, _forecast(study, cost), minutes, median is not None, hourly)


def _forecast(study: Study, cost: Decimal) -> Decimal | None:
    """Estimate the cost at completion from the cost of finished work, or else from the promised pay."""
    finished, planned = counts_of([study]).get(study.pk, (0, 0))
    if not planned:
        return None
    if finished:
        return (cost + cost / finished * max(0, planned - finished)).quantize(CENT)
    return planned * study.pay_amount if study.study_bots.exists() else None


def median_minutes(study: Study) -> float | None:
    """Median duration of finished work in minutes; None before any is finished."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT extract(epoch FROM percentile_cont(0.5) WITHIN GROUP"
            "       (ORDER BY a.ended_at - a.assigned_at)) / 60"
            "  FROM crowd_assignment AS a WHERE a.study_id = %s AND a.outcome = 'complete'",
            [study.pk],
        )
        row = cursor.fetchone()
    return float(row[0]) if row and row[0] is not None else None
