"""Prices and budgets of bots over the REST API."""

from decimal import Decimal

import pytest

from tests.studies.test_rest import called, fields_of
from turnwise.accounts.models import User
from turnwise.bots.budgets import today
from turnwise.bots.models import Bot, BotPrice, BotUsage
from turnwise.bots.services import register_bot

pytestmark = pytest.mark.django_db
PRICE = {"valid_from": "2026-01-01", "currency": "usd", "prompt": "2.5", "cached": "1.25", "completion": "10"}


@pytest.fixture
def bot(rex: User) -> Bot:
    return register_bot(
        name="paid", title="Paid", adapter="scripted", configuration={"replies": ["Hi."]}, owner=rex
    )


def test_prices_are_added_and_listed(bot: Bot, rex: User, mallory: User) -> None:
    path = f"/bots/{bot.name}/prices"

    made = called(rex, "POST", path, PRICE)
    wrong = called(rex, "POST", path, PRICE | {"currency": "€€€"})
    listed = called(rex, "GET", path).json()

    assert (made.status_code, made.json()["currency"]) == (201, "USD")
    assert fields_of(wrong) == {"currency"}
    assert [(each["valid_from"], Decimal(each["completion"]), each["typed_by"]) for each in listed] == [
        ("2026-01-01", Decimal(10), "rex")
    ]
    assert called(mallory, "GET", path).status_code == 404
    assert called(mallory, "POST", path, PRICE).status_code == 404


def test_a_budget_needs_a_price_and_is_reached(bot: Bot, rex: User) -> None:
    path = f"/bots/{bot.name}/budget"

    early = called(rex, "PUT", path, {"amount": "1.00"})
    called(rex, "POST", f"/bots/{bot.name}/prices", PRICE)
    # 200,000 tokens at 2.50 USD and 60,000 at 10 USD a million: 1.10 USD
    BotUsage.objects.create(
        bot=bot, day=today(), replies=3, prompt=200_000, cached=0, completion=60_000, unknown=0
    )
    low = called(rex, "PUT", path, {"amount": "1.10"}).json()
    high = called(rex, "PUT", path, {"amount": "1.11"}).json()
    other = called(rex, "POST", f"/bots/{bot.name}/prices", PRICE | {"currency": "EUR"})
    none = called(rex, "PUT", path, {"amount": None}).json()

    assert early.status_code == 422
    assert "price that is valid today" in early.json()["detail"]
    assert (low["reached"], low["currency"], low["replies"]) == (True, "USD", 3)
    assert low["spent"] == {"USD": pytest.approx(1.10)}
    assert (high["reached"], Decimal(high["amount"])) == (False, Decimal("1.11"))
    assert fields_of(other) == {"currency"}
    assert (none["amount"], none["reached"]) == (None, False)
    assert BotPrice.objects.count() == 1
