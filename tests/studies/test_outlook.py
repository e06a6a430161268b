"""What a planned study takes and can tell, beside its form."""

from decimal import Decimal
from typing import Any

import pytest
from django.test import Client

from accounts.models import User
from studies.outlook import outlook
from tests.planted import SignIn

pytestmark = pytest.mark.django_db

ADDRESS = "/studies/outlook/"
PLAN = {
    "task": "conversation", "wanted": "100,100,100", "minutes": "15", "pay": "2.50", "currency": "eur",
    "question_set": "ssa",
}  # fmt: skip


def test_time_and_pay_are_of_all_people(rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)

    alone = client.get(ADDRESS, PLAN).content.decode()
    together = client.get(ADDRESS, PLAN | {"task": "two_people", "wanted": "100"}).content.decode()

    for said in ("300 conversations", "about 75 h of work", "750.00 EUR"):
        assert said in alone
    for said in ("100 conversations", "about 50 h of work", "500.00 EUR"):
        assert said in together


def test_only_bots_are_to_be_compared(rex: User, sign_in: SignIn) -> None:
    client = sign_in(rex)

    one_bot = client.get(ADDRESS, PLAN | {"wanted": "100"}).content.decode()
    people = client.get(ADDRESS, PLAN | {"task": "two_people", "wanted": "100"}).content.decode()

    assert "once there are two" in one_bot
    assert "Bots" not in people


def test_what_it_tells_is_that_of_the_worst_pair() -> None:
    def told(*wanted: int, question_set: str = "ssa") -> Any:
        found = outlook(
            wanted, people=1, minutes=15, pay=Decimal(0), currency="USD", question_set=question_set
        )
        assert found.cost is None
        return found.deviations, found.points

    # Cohen 1988, table 2.4.1: 64 for d = 0.5. The paper's conversations spread by 10 points.
    assert told(64, 64) == (pytest.approx(0.5, rel=0.01), pytest.approx(5, rel=0.01))
    assert told(400, 64) == told(64, 64)
    assert told(64, 64, question_set="likert") == (told(64, 64)[0], None)
    # Three pairs, so 0.05 / 3: (2.394 + 0.842) sqrt(2 / 64) by the normal distribution, a little more by t.
    assert told(64, 64, 64)[0] == pytest.approx(0.579, abs=0.01)
    assert told(64) == told(2, 1) == told() == (None, None)


@pytest.mark.parametrize(
    "wrong",
    [
        {"wanted": "many"},
        {"wanted": "1," * 2000},
        {"pay": "NaN"},
        {"minutes": "0"},
        {"currency": "<b>"},
    ],
)
def test_what_cannot_be_planned_with_says_nothing(wrong: dict[str, str], rex: User, sign_in: SignIn) -> None:
    answer = sign_in(rex).get(ADDRESS, PLAN | wrong)

    assert (answer.status_code, answer.content) == (422, b"")


def test_it_is_for_whoever_is_signed_in() -> None:
    assert Client().get(ADDRESS, PLAN).headers["Location"].startswith("/sign-in/")
