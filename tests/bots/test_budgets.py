"""Monthly budgets of bots: what is counted, when a bot stops, and what people see."""

import asyncio
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from threading import Thread
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from pytest_django.fixtures import Settings

from chatbots.base import Context
from evaluation.report.studies.replies import ReplyFacts, cost_of
from tests.bots.conftest import StartHost
from tests.conftest import MakeStudy, enter
from tests.outcome_bot import register_outcome_bot
from tests.planted import SignIn
from turnwise.accounts.models import User
from turnwise.bots import budgets
from turnwise.bots.budgets import OVER_BUDGET, month_after, month_of, set_budget, spending_of, today
from turnwise.bots.hosting import client, presence, spending
from turnwise.bots.hosting.spending import BudgetReachedError
from turnwise.bots.models import Bot, BotBudget, BotPrice, BotUsage
from turnwise.bots.prices import prices_by_bot
from turnwise.bots.services import register_bot
from turnwise.crowd.places.assignment import assign
from turnwise.crowd.refusals import EntryRefusedError
from turnwise.responses.bulk_replies import Trouble, ask_bot

pytestmark = pytest.mark.django_db(transaction=True)
HELLO = Context.from_texts(["Hello"])
USAGE = {"prompt": 1000, "completion": 100, "cached": 200}
COST = 0.00325
"""Of one reply with `USAGE`: 800 * 2.50 + 200 * 1.25 + 100 * 10 millionths."""


@pytest.fixture(autouse=True)
def _outcome_bot(monkeypatch: pytest.MonkeyPatch) -> None:
    register_outcome_bot(monkeypatch)


@pytest.fixture
def paid(rex: User) -> Bot:
    """A bot whose replies cost `COST` each."""
    return make_paid(rex, {"text": "Hello!", "usage": USAGE})


def make_paid(owner: User, *replies: dict[str, Any], **prices: Any) -> Bot:
    bot = register_bot(
        name="paid", title="Paid", adapter="outcomes", configuration={"replies": list(replies)}, owner=owner
    )
    given = {"valid_from": date(2000, 1, 1), "prompt": "2.5", "cached": "1.25", "completion": "10"}
    BotPrice.objects.create(bot=bot, **given | prices)
    budgets.CONCERNED.read()
    return bot


def limit(bot: Bot, amount: str) -> None:
    set_budget(bot.pk, Decimal(amount), currency="USD", by=bot.owner)


def reached() -> set[int]:
    """Bots whose budget of this month is reached."""
    return set(budgets.reached_in_this_month().values_list("bot", flat=True))


async def test_replies_add_up_by_the_prices_of_their_day(paid: Bot) -> None:
    for _ in range(3):
        await client.reply(paid.pk, HELLO)
    await client.reply_at_once(paid.pk, HELLO)

    found = await sync_to_async(spending_of)(paid.pk, month_of(today()))

    assert found.amounts == {"USD": pytest.approx(4 * COST)}
    assert (found.replies, found.unknown) == (4, 0)


def test_a_month_costs_what_the_report_says_of_the_same_replies(paid: Bot) -> None:
    """The second source is the sum over single replies in `evaluation`."""
    month = date(2026, 2, 1)
    BotPrice.objects.create(bot=paid, valid_from=date(2026, 2, 15), prompt="7", completion="11.5")
    facts = []
    for day in range(-2, 31):
        when = month + timedelta(days=day)
        row = BotUsage(bot=paid, day=when)
        for number in range(3):
            prompt, cached, completion = 100 * (day + 3) + number, 17 * number, 9 + day + number
            row.replies, row.prompt = row.replies + 1, row.prompt + prompt
            row.cached, row.completion = row.cached + cached, row.completion + completion
            if month_of(when) == month:
                facts.append(ReplyFacts(prompt=prompt, cached=cached, completion=completion, day=str(when)))
        row.save()

    expected = cost_of(facts, prices_by_bot([paid.pk])[paid.pk])

    assert expected is not None
    found = spending_of(paid.pk, month)
    assert found.amounts["USD"] == pytest.approx(expected["amounts"][0]["amount"], rel=1e-12)
    assert found.replies == len(facts) == 28 * 3


async def test_a_bot_over_its_budget_is_not_asked_until_it_is_raised(paid: Bot) -> None:
    await sync_to_async(limit)(paid, "0.01")
    for _ in range(4):  # the fourth passes 0.01, and is still delivered
        await client.reply(paid.pk, HELLO)

    with pytest.raises(BudgetReachedError, match=r"0\.01\sUSD for .* is reached: raise it, or wait until 1 "):
        await client.reply(paid.pk, HELLO)
    assert await client.reply_at_once(paid.pk, HELLO) is None
    outcome = await ask_bot(paid.pk, HELLO)
    assert isinstance(outcome, Trouble)
    assert outcome.kind == "resting"  # a job gives up at once and says why
    usage = await BotUsage.objects.aget()
    assert (usage.replies, usage.prompt, usage.cached, usage.completion) == (4, 4000, 800, 400)

    await sync_to_async(limit)(paid, "0.02")
    assert (await client.reply(paid.pk, HELLO)).response.text == "Hello!"


async def test_a_new_month_begins_at_nothing(paid: Bot, monkeypatch: pytest.MonkeyPatch) -> None:
    await sync_to_async(limit)(paid, "0.01")
    for _ in range(4):
        await client.reply(paid.pk, HELLO)

    monkeypatch.setattr(budgets, "today", lambda: month_after(datetime.now(UTC).date()))

    assert (await client.reply(paid.pk, HELLO)).response.text == "Hello!"
    states = await sync_to_async(presence.bot_states)(["paid"])
    assert states["paid"] != OVER_BUDGET
    assert await BotUsage.objects.acount() == 2


async def test_requests_in_progress_are_finished_and_counted(paid: Bot) -> None:
    """So a budget is exceeded at most by what was in progress."""
    await sync_to_async(limit)(paid, "0.01")

    outcomes = await asyncio.gather(
        *[client.reply(paid.pk, HELLO) for _ in range(12)], return_exceptions=True
    )

    answered = [each for each in outcomes if isinstance(each, client.Reply)]
    usage = await BotUsage.objects.aget()
    assert usage.replies == len(answered) >= 4
    assert all(isinstance(each, BudgetReachedError) for each in outcomes if each not in answered)


async def test_processes_share_the_budget(start_host: StartHost, rex: User, settings: Settings) -> None:
    """Replies of a host elsewhere count once, and another process sees that the budget is reached."""
    settings.BOTS_HERE = frozenset()
    bot = await sync_to_async(register_bot)(
        name="far", title="Far", adapter="scripted", configuration={"replies": ["Hello!"]}
    )
    await BotPrice.objects.acreate(bot=bot, valid_from=date(2000, 1, 1), prompt="1", completion="1")
    await sync_to_async(set_budget)(bot.pk, Decimal("1"), currency="USD", by=None)
    await sync_to_async(start_host)("far")

    await client.reply(bot.pk, HELLO)
    usage = await BotUsage.objects.aget()
    assert (usage.replies, usage.unknown) == (0, 1)

    # Another process counts what reaches the budget; this one has nothing in memory about it.
    await BotUsage.objects.filter(pk=usage.pk).aupdate(replies=1, prompt=2_000_000, completion=0)
    elsewhere = Thread(target=budgets.update_state, args=[bot.pk])
    await sync_to_async(elsewhere.run)()
    with pytest.raises(BudgetReachedError):
        await client.reply(bot.pk, HELLO)


async def test_replies_of_unknown_usage_are_counted_as_such_where_a_price_is_known(rex: User) -> None:
    bot = await sync_to_async(make_paid)(rex, {"text": "Hello!"})

    await client.reply(bot.pk, HELLO)
    await spending.count(bot.pk, None)  # as for a request whose caller left

    found = await sync_to_async(spending_of)(bot.pk, month_of(today()))
    assert (found.amounts, found.replies, found.unknown) == ({}, 0, 2)


async def test_a_bot_without_usage_and_price_costs_no_row() -> None:
    bot = await sync_to_async(register_bot)(
        name="free", title="Free", adapter="outcomes", configuration={"replies": [{"text": "Hello!"}]}
    )
    await sync_to_async(budgets.CONCERNED.read)()

    await client.reply(bot.pk, HELLO)

    assert not await BotUsage.objects.aexists()


def reach(bot: Bot) -> None:
    BotUsage.objects.create(bot=bot, day=today(), replies=1, prompt=10_000_000, completion=0)
    limit(bot, "20")


def test_no_new_chatter_is_dealt_to_a_bot_over_its_budget(paid: Bot, make_study: MakeStudy) -> None:
    study = make_study()
    study.study_bots.update(bot=paid)
    assert assign(enter(study).pk).study_bot.bot == paid  # type: ignore[union-attr]

    reach(paid)

    with pytest.raises(EntryRefusedError):
        assign(enter(study).pk)


def test_researchers_see_the_state_where_they_look(
    paid: Bot, make_study: MakeStudy, rex: User, sign_in: SignIn
) -> None:
    study = make_study()
    study.study_bots.update(bot=paid)
    reach(paid)
    browser = sign_in(rex)
    until = f"{month_after(today()):%-d %B}"
    sentence = f"The budget of 20\u00a0USD for {today():%B} is reached: raise it, or wait until {until}"

    for address in ("/bots/paid/", "/bots/", f"/studies/{study.pk}/monitor/", "/"):
        page = browser.get(address, follow=True).content.decode()
        assert sentence in page
    assert "Budget reached" in browser.get("/bots/").content.decode()
    assert "25\u00a0USD" in browser.get("/bots/paid/").content.decode()


def test_a_budget_is_typed_in_and_removed(paid: Bot, rex: User, sign_in: SignIn) -> None:
    browser = sign_in(rex)

    browser.post("/bots/paid/budget/", {"amount": "20.50"})
    stored = BotBudget.objects.get()
    assert (stored.amount, stored.currency, stored.typed_by, stored.reached_in) == (
        Decimal("20.50"), "USD", rex, None,
    )  # fmt: skip

    browser.post("/bots/paid/budget/", {"amount": ""})
    assert not BotBudget.objects.exists()


@pytest.mark.parametrize("amount", ["-1", "0", "NaN", "much", "1e99", "0.001"])
def test_bad_amounts_are_said_and_not_stored(paid: Bot, rex: User, sign_in: SignIn, amount: str) -> None:
    response = sign_in(rex).post("/bots/paid/budget/", {"amount": amount})

    assert response.status_code == 422
    assert not BotBudget.objects.exists()


def test_a_bot_without_a_price_of_today_cannot_have_a_budget(paid: Bot, rex: User, sign_in: SignIn) -> None:
    BotPrice.objects.update(valid_from=today() + timedelta(days=3))

    response = sign_in(rex).post("/bots/paid/budget/", {"amount": "20"})

    assert response.status_code == 422
    assert "type in a price that is valid today" in response.content.decode()
    assert not BotBudget.objects.exists()


def test_a_price_in_another_currency_is_refused_while_a_budget_holds(
    paid: Bot, rex: User, sign_in: SignIn
) -> None:
    limit(paid, "20")
    price = {"valid_from": "2026-01-01", "currency": "EUR", "prompt": "1", "completion": "1"}

    response = sign_in(rex).post("/bots/paid/prices/", price)

    assert response.status_code == 422
    assert "budget is in USD" in response.content.decode()


def test_a_corrected_price_corrects_what_the_month_has_cost(paid: Bot, rex: User, sign_in: SignIn) -> None:
    reach(paid)
    assert reached() == {paid.pk}
    price = {"valid_from": "2000-01-01", "currency": "USD", "prompt": "0.1", "completion": "1"}

    sign_in(rex).post("/bots/paid/prices/", price)

    assert reached() == set()


@pytest.mark.parametrize(
    ("amount", "phrase"),
    [(20, "20\u00a0USD"), (0.00325, "0.0032\u00a0USD"), (1234.5, "1,234.50\u00a0USD"), (0, "0\u00a0USD")],
)
def test_amounts_are_readable(amount: float, phrase: str) -> None:
    assert budgets.amount_phrase(amount, "USD") == phrase
