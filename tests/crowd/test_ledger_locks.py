"""Payments, bonuses and reversals at the same moment: the second decides by what the first has entered.

Each test holds the first one's transaction open, starts the second on a connection of its own, waits until
PostgreSQL says that it waits for a lock, and only then commits.
"""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.db import connection, transaction
from django.utils import timezone

from tests.conftest import MakeStudy, enter
from turnwise.accounts.models import User
from turnwise.crowd.models import Assignment, Outcome, Participation
from turnwise.crowd.pay import ledger, panel_acts
from turnwise.crowd.pay.ledger_accounts import Request, carry_out
from turnwise.crowd.places.assignment import admit, assign
from turnwise.crowd.places.ending import complete
from turnwise.studies.models import Study

pytestmark = pytest.mark.django_db(transaction=True)

PAY = Decimal("3.00")
BONUS = Decimal("5.00")


@pytest.fixture
def study(make_study: MakeStudy) -> Study:
    return make_study({"only": 10}, pay_amount=PAY, pay_currency="EUR", expected_minutes=15)


def done(study: Study) -> Participation:
    own = enter(study)
    end_work(assign(own.pk))
    return own


@transaction.atomic
def end_work(place: Assignment) -> None:
    complete(place.pk, Outcome.COMPLETE, now=timezone.now())


def account(own: Participation) -> ledger.Account:
    (found,) = ledger.accounts(own.study, only=[own.pk])
    return found


def waits_for_a_lock() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(0.01)")
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])


@contextmanager
def meanwhile(act: Callable[[], object]) -> Iterator[Future[None]]:
    """Hold the transaction of the block open until `act`, on another connection, waits for it or is done."""

    def on_a_connection_of_its_own() -> None:
        try:
            act()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            second: Future[None] = Future()
            yield second
            running = pool.submit(on_a_connection_of_its_own)
            while not (running.done() or waits_for_a_lock()):
                pass
        if error := running.exception(timeout=60):
            second.set_exception(error)
        else:
            second.set_result(None)


def test_a_bonus_during_a_payment_is_refused(study: Study, rex: User) -> None:
    own = done(study)

    with meanwhile(lambda: ledger.add_bonus(own.pk, BONUS, note="", by=rex)) as bonus:
        ledger.pay(study, total=PAY, by=rex)

    with pytest.raises(ValidationError, match="has an entry “Paid”"):
        bonus.result()
    assert account(own).bonus == account(own).due == 0


def test_two_payments_of_chosen_people_at_once_pay_nobody_twice(study: Study, rex: User) -> None:
    own, other = done(study), done(study)

    def mark_paid(*people: Participation) -> None:
        shown = {each.pk: PAY for each in people}
        carry_out(study, "paid", Request(shown=shown, amount=None, note="", by=rex))

    with meanwhile(lambda: mark_paid(own, other)) as second:
        mark_paid(own)

    with pytest.raises(ValidationError, match=f"0.00 is due to {own.pseudonym} now, not 3.00"):
        second.result()
    assert [account(each).paid for each in (own, other)] == [PAY, 0]


def test_a_reversal_during_a_payment_is_refused(study: Study, rex: User) -> None:
    own = done(study)

    with meanwhile(lambda: ledger.reverse(own.pk, note="All answers alike", by=rex)) as reversal:
        ledger.pay(study, total=PAY, by=rex)

    with pytest.raises(ValidationError, match="has an entry “Paid”"):
        reversal.result()
    assert account(own).reversed == account(own).due == 0


@pytest.mark.parametrize(("entered", "then_due"), [("bonus", PAY + BONUS), ("reversal", Decimal(0))])
def test_a_payment_during_another_entry_has_the_new_sum(
    study: Study, rex: User, entered: str, then_due: Decimal
) -> None:
    own = done(study)

    with meanwhile(lambda: ledger.pay(study, total=PAY, by=rex)) as payment:
        if entered == "bonus":
            ledger.add_bonus(own.pk, BONUS, note="", by=rex)
        else:
            ledger.reverse(own.pk, note="All answers alike", by=rex)

    with pytest.raises(ValidationError, match=f"{then_due:f} is due now, not 3.00"):
        payment.result()
    assert account(own).paid == 0
    assert account(own).due == then_due


def test_work_that_ends_during_a_payment_is_due_afterwards(study: Study, rex: User) -> None:
    first, second = done(study), enter(study)
    place = assign(second.pk)

    with meanwhile(lambda: end_work(place)) as end:
        assert ledger.pay(study, total=PAY, by=rex) == 1

    end.result()
    assert [each.participation for each in ledger.unpaid_accounts(study)] == [second.pk]
    assert account(first).due == 0


def test_a_payment_waits_for_work_that_ends(study: Study, rex: User) -> None:
    done(study)
    place = assign(enter(study).pk)

    with meanwhile(lambda: ledger.pay(study, total=2 * PAY, by=rex)) as payment:
        end_work(place)

    payment.result()
    assert ledger.unpaid_accounts(study) == []


def test_starting_during_a_payment_waits_for_the_ledger(study: Study, rex: User) -> None:
    done(study)
    own = enter(study)

    with meanwhile(lambda: admit(own.pk)) as beginning:
        ledger.pay(study, total=PAY, by=rex)
        assert not account_exists(own)

    beginning.result()
    assert account(own).promised == PAY


def account_exists(own: Participation) -> bool:
    return bool(ledger.accounts(own.study, only=[own.pk]))


def test_a_payment_through_the_panel_waits_for_a_bonus(study: Study, rex: User) -> None:
    own = done(study)
    seen: list[Decimal] = []

    def paid_by_the_panel() -> None:
        panel_acts.pay_bonuses(study, by=rex.username)
        seen.append(account(own).due)

    with meanwhile(paid_by_the_panel) as payment:
        ledger.add_bonus(own.pk, BONUS, note="", by=rex)

    payment.result()
    assert seen == [PAY + BONUS]


def test_bonuses_for_two_people_are_atomic(study: Study, rex: User) -> None:
    pair = done(study), done(study)
    ledger.reverse(pair[1].pk, note="All answers alike", by=rex)

    with pytest.raises(ValidationError, match="has an entry “Reversed”"):
        ledger.add_bonuses([own.pk for own in pair], BONUS, note="", by=rex)

    assert [account(own).bonus for own in pair] == [0, 0]


def test_bonuses_for_two_people_lock_in_one_order(study: Study, rex: User) -> None:
    """Two researchers who name them in different orders do not wait for each other."""
    one, other = done(study), done(study)

    with meanwhile(lambda: ledger.add_bonuses([other.pk, one.pk], BONUS, note="", by=rex)) as second:
        ledger.add_bonuses([one.pk, other.pk], BONUS, note="", by=rex)

    with pytest.raises(ValidationError, match="has an entry “Bonus”"):
        second.result()
    assert [account(own).bonus for own in (one, other)] == [BONUS, BONUS]
