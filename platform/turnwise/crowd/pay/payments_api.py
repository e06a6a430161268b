"""REST API of what the people of a study are paid: the ledger, bonuses and reversals."""

from collections.abc import Callable
from decimal import Decimal
from typing import Annotated

from ninja import Field, Router, Schema
from pydantic import StringConstraints

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.accounts.credentials import PAYMENTS
from turnwise.crowd.api import People, PersonIn, chosen_participations
from turnwise.crowd.models import Participation
from turnwise.crowd.pay import ledger, ledger_accounts
from turnwise.live.http_responses import answers, refusals_as_conflicts
from turnwise.live.list_pages import MOST_TICKED
from turnwise.studies.models import Study
from turnwise.studies.rest.lookup import study_at
from turnwise.studies.sharing.permissions import Permission

router = Router(tags=["studies"])
Amount = Annotated[Decimal, Field(ge=0, le=ledger.MOST_IN_ALL, max_digits=11, decimal_places=2)]
Reason = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=200)]


class AccountOut(Schema):
    """Amounts that one participation was promised, earned and paid."""

    worker: str
    number: int | None = Field(description="Which time they took part; null once their data were deleted.")
    promised: Decimal
    earned: Decimal
    bonus: Decimal
    reversed: Decimal
    paid: Decimal
    due: Decimal


class PaymentsOut(Schema):
    """The ledger of a study, by participation."""

    currency: str
    people: int = Field(description="How many are owed something.")
    total: Decimal = Field(description="What is due to them together.")
    accounts: list[AccountOut]


class PaidIn(Schema, extra="forbid"):
    """A note that everything due was paid."""

    total: Amount = Field(description="The `total` that you paid; if more is due since, nothing is noted.")


class PaidPersonIn(PersonIn):
    """A participation, and the amount that you paid."""

    due: Amount = Field(description="As the ledger said; if it is another since, nothing is noted.")


class PaidPeopleIn(Schema, extra="forbid"):
    """A note that what is due to some people was paid."""

    people: list[PaidPersonIn] = Field(min_length=1, max_length=MOST_TICKED)


class BonusIn(Schema, extra="forbid"):
    """The same bonus for each of these people."""

    people: People
    amount: Amount
    note: Annotated[str, StringConstraints(max_length=200)] = Field("", description="Why they get it.")


class ReversalIn(PersonIn):
    """The reversal of a person's whole claim."""

    note: Reason = Field(description="Why; it stays in the ledger.")


@router.get("/studies/{slug:code}/payments", response=answers(PaymentsOut, 404), openapi_extra=PAYMENTS)
def payments(request: AuthenticatedHttpRequest, code: str) -> PaymentsOut:
    """Get the ledger of a study: what each worker was promised, earned and paid."""
    return _payments(study_at(request, code, Permission.PAY))


@router.post(
    "/studies/{slug:code}/payments",
    response=answers(PaymentsOut, 404, 409, has_body=True),
    openapi_extra=PAYMENTS,
)
def pay_all(request: AuthenticatedHttpRequest, code: str, sent: PaidIn) -> PaymentsOut:
    """Note that all amounts due in the study were paid."""
    study = study_at(request, code, Permission.PAY)
    return _written(study, lambda: ledger.pay(study, total=sent.total, by=request.user))


@router.post(
    "/studies/{slug:code}/payments/some",
    response=answers(PaymentsOut, 404, 409, has_body=True),
    openapi_extra=PAYMENTS,
)
def pay_some(request: AuthenticatedHttpRequest, code: str, sent: PaidPeopleIn) -> PaymentsOut:
    """Note that what is due to these people was paid: to all of them, or none."""
    study = study_at(request, code, Permission.PAY)
    found = chosen_participations(study, sent.people, "people")
    due = {(each.worker, each.number): each.due for each in sent.people}
    details = ledger_accounts.Request(
        shown={row.pk: due[row.pseudonym, row.number] for row in found},
        amount=None,
        note="",
        by=request.user,
    )
    return _written(study, lambda: ledger_accounts.carry_out(study, "paid", details))


@router.post(
    "/studies/{slug:code}/payments/bonuses",
    response=answers(PaymentsOut, 404, 409, has_body=True),
    openapi_extra=PAYMENTS,
)
def give_bonuses(request: AuthenticatedHttpRequest, code: str, sent: BonusIn) -> PaymentsOut:
    """Give each of these people a bonus, once their work has ended: all of them, or none."""
    study = study_at(request, code, Permission.PAY)
    keys = [row.pk for row in chosen_participations(study, sent.people, "people")]
    return _written(study, lambda: ledger.add_bonuses(keys, sent.amount, note=sent.note, by=request.user))


@router.post(
    "/studies/{slug:code}/payments/reversals",
    response=answers(PaymentsOut, 404, 409, has_body=True),
    openapi_extra=PAYMENTS,
)
def reverse_claim(request: AuthenticatedHttpRequest, code: str, sent: ReversalIn) -> PaymentsOut:
    """Cancel the whole claim of a person who was not paid; the ledger keeps both entries."""
    study = study_at(request, code, Permission.PAY)
    (found,) = chosen_participations(study, [sent], "people")
    return _written(study, lambda: ledger.reverse(found.pk, note=sent.note, by=request.user))


def _written(study: Study, write: Callable[[], object]) -> PaymentsOut:
    with refusals_as_conflicts():
        write()
    return _payments(study)


def _payments(study: Study) -> PaymentsOut:
    owed = ledger.amount_due(study)
    numbers = dict(Participation.objects.filter(study=study).values_list("pk", "number"))
    return PaymentsOut(
        currency=study.pay_currency,
        people=owed.people,
        total=owed.total,
        accounts=[
            AccountOut(
                worker=each.worker,
                number=numbers.get(each.participation),
                promised=each.promised,
                earned=each.earned,
                bonus=each.bonus,
                reversed=each.reversed,
                paid=each.paid,
                due=each.due,
            )
            for each in ledger.accounts(study)
        ],
    )
