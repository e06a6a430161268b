"""What people are promised, earn and are paid."""

import csv
import io
from datetime import datetime, timedelta
from decimal import Decimal

import pytest
from django.core.exceptions import ValidationError
from django.db import DatabaseError, IntegrityError, transaction
from django.test import Client
from django.utils import timezone

from tests.conftest import MakeStudy, enter
from turnwise.accounts.models import User
from turnwise.crowd.models import Outcome, Participation, PayEntry
from turnwise.crowd.panels import Arrival
from turnwise.crowd.pay import ledger
from turnwise.crowd.places.assignment import assign
from turnwise.crowd.places.ending import complete, delete_workers, end
from turnwise.crowd.places.reservation import keep_place
from turnwise.studies.models import Study
from turnwise.studies.services import save_study

Reason = PayEntry.Reason
NOON = datetime(2026, 3, 2, 12, tzinfo=timezone.get_default_timezone())


@pytest.fixture
def study(make_study: MakeStudy) -> Study:
    """One that pays 3.00 for 15 minutes of which it wants 10: 12 an hour, where 20 is the target."""
    return make_study(
        {"only": 10},
        pay_amount=Decimal("3.00"),
        pay_currency="EUR",
        expected_minutes=15,
        hourly_target=Decimal(20),
    )


@pytest.fixture
def staff(rex: User) -> Client:
    client = Client()
    client.force_login(rex)
    return client


def worked(study: Study, minutes: float, outcome: Outcome, arrival: Arrival | None = None) -> Participation:
    own = enter(study, arrival)
    place = assign(own.pk, now=NOON)
    after = NOON + timedelta(minutes=minutes)
    keep_place(place.pk, now=after)
    complete(place.pk, outcome, now=after)
    return own


def test_consent_in_another_browser_promises_pay_once(study: Study, staff: Client) -> None:
    named = Arrival("prolific", "5f2c9d")
    before = enter(study, named)
    assign(before.pk)
    own = worked(study, 15, Outcome.COMPLETE, named)

    assert [(each.participation, each.due) for each in ledger.accounts(study)] == [(own.pk, Decimal(3))]
    assert before.pseudonym not in staff.get(f"/studies/{study.pk}/payments/").text
    delete_workers([own.worker_id])
    assert [each.due for each in ledger.accounts(study)] == [Decimal(3)]  # what they earned stays theirs


def entries(own: Participation) -> dict[str, Decimal]:
    found = PayEntry.objects.filter(participation=own.pk)
    return {entry.reason: entry.amount for entry in found}


@pytest.mark.parametrize(
    ("outcome", "minutes", "earned"),
    [
        ("complete", 4, {"earned": Decimal("3.00")}),
        ("bot_failed", 1, {"earned": Decimal("3.00")}),
        ("partner_left", 1, {"earned": Decimal("3.00")}),
        ("timed_out", 5, {"partly": Decimal("1.00")}),  # 5 of 15 minutes of 3.00
        ("timed_out", 0.02, {}),  # 0.02 times 3 / 15 = 0.004
        ("timed_out", 40, {"partly": Decimal("3.00")}),
        ("no_partner", 5, {}),  # who waited for nobody
        ("withdrawn", 9, {}),
        ("screened_out", 9, {}),
    ],
)
def test_each_outcome_earns_its_pay(
    study: Study, outcome: str, minutes: float, earned: dict[str, Decimal]
) -> None:
    own = worked(study, minutes, Outcome(outcome))

    assert entries(own) == {"promised": Decimal("3.00")} | earned


def test_promised_pay_stays_if_the_pay_changes(study: Study) -> None:
    own = enter(study)
    place = assign(own.pk)
    Study.objects.filter(pk=study.pk).update(pay_amount=1)

    complete(place.pk, Outcome.COMPLETE, now=timezone.now())

    assert entries(own)["earned"] == Decimal("3.00")


def test_ending_twice_pays_once(study: Study) -> None:
    own = worked(study, 4, Outcome.COMPLETE)

    complete(own.assignment.pk, Outcome.COMPLETE, now=timezone.now())
    end(own.pk, Outcome.TIMED_OUT)

    assert set(entries(own)) == {"promised", "earned"}


def test_unpaid_studies_and_rehearsals_have_no_ledger_entries(study: Study, make_study: MakeStudy) -> None:
    unpaid, rehearsal = make_study(title="Unpaid"), make_study(title="Again", pay_amount=Decimal(2))
    Study.objects.filter(pk=rehearsal.pk).update(rehearsal_of=study)
    for each in (unpaid, rehearsal):
        worked(each, 4, Outcome.COMPLETE)

    assert not PayEntry.objects.exists()


@pytest.mark.parametrize("change", ["amount = 1000", "reason = 'bonus'", "note = ''"])
def test_the_database_refuses_to_change_an_entry(study: Study, change: str) -> None:
    worked(study, 4, Outcome.COMPLETE)

    with pytest.raises(DatabaseError, match="ledger_never_changes"), transaction.atomic():
        PayEntry.objects.raw(f"UPDATE crowd_payentry SET {change} RETURNING *")[0]
    with pytest.raises(DatabaseError, match="ledger_never_changes"), transaction.atomic():
        PayEntry.objects.all().delete()


def test_one_participation_is_paid_at_most_once(study: Study, rex: User) -> None:
    own = worked(study, 4, Outcome.COMPLETE)

    assert ledger.pay(study, total=Decimal("3.00"), by=rex) == 1

    with pytest.raises(ValidationError, match="is due now, not 3"):
        ledger.pay(study, total=Decimal("3.00"), by=rex)
    paid = PayEntry.objects.get(reason=Reason.PAID)
    paid.pk = None
    with pytest.raises(IntegrityError, match="pay_once_per_reason"), transaction.atomic():
        paid.save(force_insert=True)
    assert ledger.unpaid_accounts(study) == []
    assert entries(own)["paid"] == Decimal("3.00")


def test_bonus_and_reversal_have_their_limits(study: Study, rex: User) -> None:
    at_work = enter(study)
    assign(at_work.pk)
    with pytest.raises(ValidationError, match="is still at work"):
        ledger.add_bonus(at_work.pk, Decimal(1), note="", by=rex)
    good, bad, settled = (worked(study, 4, Outcome.COMPLETE) for _ in range(3))

    for amount in ("0", "-1", "1000.01", "0.001"):
        with pytest.raises(ValidationError, match="cannot be a bonus"):
            ledger.add_bonus(good.pk, Decimal(amount), note="", by=rex)
    ledger.add_bonus(good.pk, Decimal("0.50"), note="Thoughtful", by=rex)
    with pytest.raises(ValidationError, match="has an entry “Bonus”"):
        ledger.add_bonus(good.pk, Decimal("0.50"), note="", by=rex)
    with pytest.raises(ValidationError, match="Say why"):
        ledger.reverse(bad.pk, note=" ", by=rex)
    ledger.reverse(bad.pk, note="All answers alike", by=rex)
    with pytest.raises(ValidationError, match="has an entry “Reversed”"):
        ledger.reverse(bad.pk, note="Again", by=rex)

    # 3.00 + 0.50 for the first, nothing for the second, 3.00 for the third
    assert {account.participation: account.due for account in ledger.accounts(study)} == {
        at_work.pk: 0, good.pk: Decimal("3.50"), bad.pk: 0, settled.pk: Decimal("3.00"),
    }  # fmt: skip
    assert ledger.pay(study, total=Decimal("6.50"), by=rex) == 2
    with pytest.raises(ValidationError, match="has an entry “Paid”"):
        ledger.reverse(settled.pk, note="Too late", by=rex)


def test_cost_forecast_and_hourly_rate(study: Study) -> None:
    before = ledger.rates(study)
    # 10 wanted at 3.00; 3.00 for the 15 minutes that are expected is 12 an hour
    assert (before.forecast, before.hourly, before.is_measured) == (Decimal("30.00"), Decimal("12.00"), False)

    for minutes in (6, 10, 20):
        worked(study, minutes, Outcome.COMPLETE)
    worked(study, 5, Outcome.TIMED_OUT)

    found = ledger.rates(study)
    assert found.cost == Decimal("10.00")  # three times 3.00 and a third of 3.00
    assert found.minutes == pytest.approx(10)  # the middle one of 6, 10 and 20
    assert found.hourly == Decimal("18.00")  # six times in an hour
    assert found.forecast == Decimal("33.33")  # 10.00 for 3 of 10


def test_the_payments_page_offers_a_file_and_warns_of_low_pay(study: Study, staff: Client) -> None:
    of_panel = worked(study, 10, Outcome.COMPLETE, Arrival("prolific", "=cmd()", "se1"))
    other = worked(study, 10, Outcome.COMPLETE)
    path = f"/studies/{study.pk}/payments"
    page = staff.get(f"{path}/").content.decode()
    assert "This pays less than you intended." in page
    assert "18.00 EUR; your target is 20.00" in page

    rows = list(csv.DictReader(io.StringIO(b"".join(staff.get(f"{path}.csv")).decode())))
    some = list(csv.DictReader(io.StringIO(b"".join(staff.get(f"{path}.csv?panel=prolific")).decode())))

    assert [row["amount"] for row in rows] == ["3.00", "3.00"]
    assert [(row["panel_id"], row["submission"]) for row in some] == [("'=cmd()", "se1")]
    for bad in ("", "NaN", "1e9", "5.00", "Infinity"):
        staff.post(f"{path}/pay/", {"total": bad})
    assert not PayEntry.objects.filter(reason=Reason.PAID).exists()
    bonus = {"what": "bonus", "amount": "x", "note": ""}
    assert "“x” is not an amount" in staff.post(f"{path}/{other.pk}/", bonus, follow=True).content.decode()
    paid = staff.post(f"{path}/pay/", {"total": "6.00"}, follow=True).content.decode()
    assert "2 people are marked as paid." in paid
    assert b"".join(staff.get(f"{path}.csv")).decode().count("\n") == 1
    assert entries(of_panel)["paid"] == Decimal("3.00")


def test_the_ledger_is_filtered_and_chosen_accounts_are_paid_as_shown(study: Study, staff: Client) -> None:
    due, other = (worked(study, 4, Outcome.COMPLETE, Arrival("prolific", key)) for key in ("5f2c", "6a1b"))
    left = worked(study, 4, Outcome.WITHDRAWN)
    path = f"/studies/{study.pk}/payments/"

    def listed(query: str) -> list[int]:
        return [row.account.participation for row in staff.get(f"{path}?{query}").context["rows"]]

    def act(people: list[str], action: str = "paid", **details: str) -> str:
        sent = {"account": people, "action": action, "query": "state=due&sort=oldest&next=//evil", **details}
        answer = staff.post(f"{path}chosen/", sent)
        assert answer["Location"] == f"{path}?state=due&sort=oldest"
        return " ".join(str(message) for message in staff.get(answer["Location"]).context["messages"])

    assert listed("sort=oldest") == [due.pk, other.pk, left.pk]
    assert listed("sort=x&state=x&find=+") == [left.pk, other.pk, due.pk]
    assert listed("state=due&sort=due") == [other.pk, due.pk]
    assert listed("state=nothing") == [left.pk]
    assert listed("find=5f2c") == listed(f"find={due.pseudonym.lower()}&sort=worker") == [due.pk]
    assert "In this filtered list: 1 account, 3.00 EUR due" in staff.get(f"{path}?find=5f2c").text

    # All of the ticked people, or none of them.
    assert "Tick at least one" in act([])
    assert "Tick at least one" in act([f"{due.pk}:3.00", f"{due.pk + 999}:3.00"])
    assert "nothing is due" in act([f"{due.pk}:3.00", f"{left.pk}:0.00"])
    assert "not an amount" in act([f"{due.pk}:much"])
    assert "Choose what to do" in act([f"{due.pk}:3.00"], "burn")
    assert "3.00 is due" in act([f"{due.pk}:3.00", f"{other.pk}:2.00"])
    assert not PayEntry.objects.filter(reason=Reason.PAID).exists()

    assert "2 people get a bonus" in act([f"{due.pk}:3.00", f"{other.pk}:3.00"], "bonus", amount="0,50")
    assert "1 person is marked as paid: 3.50 EUR." in act([f"{due.pk}:3.50"])
    assert "0.00 is due" in act([f"{due.pk}:3.50"])
    assert (listed("state=paid"), listed("state=due")) == ([due.pk], [other.pk])
    assert entries(due)["paid"] == Decimal("3.50")


def test_ledger_entries_outlive_the_person(study: Study, rex: User) -> None:
    own = worked(study, 4, Outcome.COMPLETE)
    ledger.pay(study, total=Decimal("3.00"), by=rex)

    delete_workers([own.worker_id])

    assert ledger.rates(study).paid == Decimal("3.00")


def test_the_currency_is_fixed_once_the_study_has_opened(study: Study, rex: User) -> None:
    study.pay_currency = "USD"
    with pytest.raises(ValidationError, match="has been opened"):
        save_study(study, owner=rex, consent_text="You talk to a machine.", targets={})


def test_other_researchers_see_and_change_no_payments(study: Study, mallory: User) -> None:
    own = worked(study, 4, Outcome.COMPLETE)
    other = Client()
    other.force_login(mallory)
    path = f"/studies/{study.pk}/payments"

    assert other.get(f"{path}/").status_code == other.get(f"{path}.csv").status_code == 404
    assert other.post(f"{path}/pay/", {"total": "3.00"}).status_code == 404
    assert other.post(f"{path}/{own.pk}/", {"what": "reverse", "note": "x"}).status_code == 404
    assert other.post(f"{path}/chosen/", {"account": f"{own.pk}:3.00", "action": "paid"}).status_code == 404


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"pay_amount": Decimal(-1)}, "pay_amount"),
        ({"pay_amount": Decimal("1.001")}, "pay_amount"),
        ({"hourly_target": Decimal(0)}, "hourly_target"),
        ({"hourly_target": Decimal(-5)}, "hourly_target"),
    ],
)
def test_negative_pay_is_refused(study: Study, rex: User, changed: dict[str, Decimal], field: str) -> None:
    for name, value in changed.items():
        setattr(study, name, value)

    with pytest.raises(ValidationError) as refused:
        save_study(study, owner=rex, consent_text="You talk to a machine.", targets={})

    assert list(refused.value.message_dict) == [field]
    assert Study.objects.get(pk=study.pk).pay_amount == Decimal("3.00")
