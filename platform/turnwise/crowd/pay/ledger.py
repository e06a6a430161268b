"""What each person was promised, earned and was paid. Entries are added and never changed.

One entry for each participation and reason, which the database holds: so nobody is paid twice for one.

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
# What a person has a claim to; a reversal takes all of it back.
CLAIMS = (Reason.EARNED, Reason.PARTLY, Reason.BONUS)


def lock(study_id: int) -> None:
    """Lock a study's ledger until the caller's transaction ends: everybody else who adds an entry waits.

    What was read before the lock may be out of date. Inserts that refer to the study, such as labels, go on.
    """
    Study.objects.select_for_update(no_key=True).values_list("pk").get(pk=study_id)


def promise(participation: Participation) -> None:
    """Note, in the caller's transaction, what somebody who begins is to have when they are done."""
    study = participation.study
    if study.pay_amount and study.rehearsal_of_id is None:
        lock(study.pk)
        _add(participation, Reason.PROMISED, study.pay_amount)


def settle(assignment: Assignment, outcome: Outcome, now: datetime) -> None:
    """Note, in the caller's transaction, what somebody has earned whose work has ended.

    All that was promised for work that is done, or that we let them down in; for work that ran out of time,
    or a wait in which nobody came, its share by that time; nothing for who left by themselves or was
    screened out.
    """
    own = PayEntry.objects.filter(participation=assignment.participation_id, reason=Reason.PROMISED).first()
    if own is None:
        return
    lock(assignment.study_id)
    if outcome in PAID:
        _add(assignment.participation, Reason.EARNED, own.amount, currency=own.currency)
    elif outcome in (Outcome.TIMED_OUT, Outcome.NO_PARTNER):
        seconds = _seconds_waited(assignment)
        if outcome == Outcome.TIMED_OUT:
            seconds = max(seconds, (min(assignment.active_at, now) - assignment.assigned_at).total_seconds())
        part = partial_pay(own.amount, seconds, assignment.participation.study.expected_minutes)
        if part:
            _add(assignment.participation, Reason.PARTLY, part, currency=own.currency)


def _seconds_waited(assignment: Assignment) -> float:
    """How long they waited for somebody to talk with, and were there."""
    own = Waiting.objects.filter(assignment=assignment).first()
    return own.waited.total_seconds() if own else 0.0


def partial_pay(promised: Decimal, seconds: float, expected_minutes: int) -> Decimal:
    """The share of a pay by the time that somebody was at work, to the cent, at most all of it.

    Args:
        promised: for the whole.
        seconds: at work.
        expected_minutes: for the whole.
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
    """Add an entry, unless there is one of this reason already."""
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
    """How one participation stands, in the study's currency."""

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
    """Everybody's, who was promised anything first.

    Args:
        study: of which study.
        only: keys of participations; None: of all.
    """
    entries, there = PayEntry.objects.filter(study=study), Participation.objects.filter(study=study)
    if only is not None:
        keys = list(only)
        entries, there = entries.filter(participation__in=keys), there.filter(pk__in=keys)
    by_reason = entries.values("participation", "worker").annotate(
        promised=_sum(Reason.PROMISED),
        earned=_sum(Reason.EARNED, Reason.PARTLY),
        bonus=_sum(Reason.BONUS),
        reversed=_sum(Reason.REVERSED),
        paid=_sum(Reason.PAID),
    )
    rows = by_reason.filter(_is_one_of(there) | ~Q(earned=None, bonus=None, reversed=None, paid=None))
    told = rows.values_list("participation", "worker", "promised", "earned", "bonus", "reversed", "paid")
    return [
        Account(key, worker, *(each or NOTHING for each in sums))
        for key, worker, *sums in told.order_by("participation")
    ]


def participations_with_account(study: Study) -> QuerySet[PayEntry, int]:
    """The keys of all who have an account, newest first: sums are for those that a page shows."""
    there = Participation.objects.filter(study=study)
    entries = PayEntry.objects.filter(_is_one_of(there) | ~Q(reason=Reason.PROMISED), study=study)
    return entries.values_list("participation", flat=True).distinct().order_by("-participation")


def _is_one_of(there: QuerySet[Participation]) -> Q:
    """Whoever was promised something and began anew in another browser has the later account only."""
    return Q(participation__in=there.values("pk"))


def _sum(*reasons: Reason) -> Sum:
    return Sum("amount", filter=Q(reason__in=reasons))


def unpaid_accounts(study: Study) -> list[Account]:
    """Those of them who are to be paid."""
    return [account for account in accounts(study) if account.due > 0 and not account.paid]


class AmountDue(NamedTuple):
    """What is to be paid in all: to how many people, how much, and which panels they came by."""

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
"""What those of a study have a claim to who were not paid, by their keys: an index has it in this order."""
_AMOUNT_DUE = f"""
SELECT count(*), coalesce(sum(due), 0.00), array_agg(DISTINCT w.panel) FILTER (WHERE w.id IS NOT NULL)
  FROM ({UNPAID}) AS claim
  LEFT JOIN crowd_participation AS p ON p.id = claim.participation
  LEFT JOIN crowd_worker AS w ON w.id = p.worker_id
 WHERE due > 0
"""


def amount_due(study: Study) -> AmountDue:
    """The sum of `unpaid_accounts`, of thousands of people in one statement; kept until an entry is added."""

    def summed() -> AmountDue:
        with connection.cursor() as cursor:
            cursor.execute(_AMOUNT_DUE, [study.pk])
            people, total, panels = cursor.fetchone()
        return AmountDue(people, total, sorted(panels or ()))

    # Entries are added and never changed, so their number tells one ledger from another.
    key = cache_key("owed", study.pk, PayEntry.objects.filter(study=study).count())
    found: AmountDue = cached(key, summed)
    return found


def add_bonus(participation_id: int, amount: Decimal, *, note: str, by: User) -> None:
    """Promise somebody more than their work earned them; see `add_bonuses`."""
    add_bonuses([participation_id], amount, note=note, by=by)


@transaction.atomic
def add_bonuses(participation_ids: Iterable[int], amount: Decimal, *, note: str, by: User) -> None:
    """Promise each of these people of one study a bonus, or none of them.

    Raises:
        ValidationError: it is no amount, they are still at work, had a bonus, or were paid already.
    """
    if not NOTHING < amount <= LARGEST_BONUS or amount != amount.quantize(CENT):
        raise ValidationError(
            _("“%(amount)s” cannot be a bonus. Enter an amount above 0, up to %(most)s, in whole cents.")
            % {"amount": amount, "most": LARGEST_BONUS}
        )
    for participation in _locked(participation_ids):
        _refuse_paid(participation, Reason.BONUS, Reason.REVERSED)
        if not Assignment.objects.filter(participation=participation).exclude(outcome="").exists():
            # Paid now, they could not be paid for the work itself later.
            raise ValidationError(
                _("%(who)s is still at work. Give the bonus when they are done.")
                % {"who": participation.pseudonym}
            )
        _add(participation, Reason.BONUS, amount, note=note.strip()[:200], by=by.username)


@transaction.atomic
def reverse(participation_id: int, *, note: str, by: User) -> None:
    """Take back what somebody has a claim to, for a reason.

    Raises:
        ValidationError: there is no reason or no claim, or they were paid already.
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
    """Participations of one study, locked, so that nobody erases their ids meanwhile; then its ledger.

    Raises:
        Participation.DoesNotExist: one is gone.
    """
    keys = set(participation_ids)
    rows = Participation.objects.select_related("study", "worker").filter(pk__in=keys).order_by("pk")
    # Rows that refer to them, as payments over a panel's API do, are still added.
    locked = list(rows.select_for_update(of=("self",), no_key=True))
    if len(locked) < len(keys):
        raise Participation.DoesNotExist
    for study_id in {each.study_id for each in locked}:
        lock(study_id)
    return locked


def _refuse_paid(participation: Participation, *also: Reason) -> None:
    own = PayEntry.objects.filter(participation=participation.pk)
    for entry in own.filter(reason__in=[Reason.PAID, *also]):
        raise ValidationError(
            _("No changes were made: %(who)s has an entry “%(reason)s” of %(at)s.")
            % {"who": entry.worker, "reason": entry.get_reason_display(), "at": f"{entry.at:%Y-%m-%d %H:%M}"}
        )


@transaction.atomic
def pay(study: Study, *, total: Decimal, by: User) -> int:
    """Note that everybody was paid what was due to them.

    Args:
        study: of which study.
        total: what was paid in all, as the page showed it.
        by: who paid.

    Returns:
        How many people were.

    Raises:
        ValidationError: meanwhile another sum is due.
    """
    lock(study.pk)
    owed = unpaid_accounts(study)
    now_due = sum((account.due for account in owed), NOTHING)
    if now_due != total:
        raise ValidationError(
            _(
                "Nothing was marked as paid: %(now)s is due now, not %(then)s. Download the "
                "payment file again."
            )
            % {"now": now_due, "then": total}
        )
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
        for account in owed
    )
    return len(owed)


# --- fair pay -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Rates:
    """What a study costs and pays by the hour.

    Attributes:
        cost: claims so far.
        paid: of these.
        due: of these.
        forecast: at the end; None: nobody can tell yet.
        minutes: the median of finished work, or what is expected before any is.
        is_measured: whether it is the median.
        hourly: pay for an hour of it; None without pay.
    """

    cost: Decimal
    paid: Decimal
    unpaid_accounts: Decimal
    forecast: Decimal | None
    minutes: float
    is_measured: bool
    hourly: Decimal | None


def rates(study: Study) -> Rates:
    """How a study stands now."""
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
    """The cost of all that is wanted, at that of what is finished; before any is, at the pay for each."""
    finished, wanted = counts_of([study]).get(study.pk, (0, 0))
    if not wanted:
        return None
    if finished:
        return (cost + cost / finished * max(0, wanted - finished)).quantize(CENT)
    return wanted * study.pay_amount if study.study_bots.exists() else None


def median_minutes(study: Study) -> float | None:
    """Of finished work, from its beginning to its end; None before any is."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT extract(epoch FROM percentile_cont(0.5) WITHIN GROUP"
            "       (ORDER BY a.ended_at - a.assigned_at)) / 60"
            "  FROM crowd_assignment AS a WHERE a.study_id = %s AND a.outcome = 'complete'",
            [study.pk],
        )
        found = cursor.fetchone()
    return float(found[0]) if found and found[0] is not None else None
