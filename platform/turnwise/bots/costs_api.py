"""REST API of what bots cost: prices of tokens, and the budget of a calendar month."""

from datetime import date, datetime
from decimal import Decimal
from functools import partial
from typing import Annotated

from django.shortcuts import get_object_or_404
from ninja import Field, Router, Schema, Status

from turnwise.accounts.access import AuthenticatedHttpRequest
from turnwise.bots import budgets, prices, queries
from turnwise.bots.models import Bot, BotPrice
from turnwise.live.http_responses import answers
from turnwise.live.submitted_forms import filled_form

router = Router(tags=["bots"])
PerMillion = Annotated[Decimal, Field(ge=0, max_digits=12, decimal_places=6)]


class PriceIn(Schema, extra="forbid"):
    """The price of a bot's tokens from a day on."""

    valid_from: date = Field(description="A day, which begins at midnight UTC.")
    currency: str = Field("USD", min_length=3, max_length=3, description="ISO 4217.")
    prompt: PerMillion = Field(description="For a million tokens of requests.")
    cached: PerMillion | None = Field(None, description="For those from the service's cache; null: the same.")
    completion: PerMillion = Field(description="For a million tokens of replies.")


class PriceOut(Schema):
    """A price of a bot. A correction is a new one: of several of one day, the last counts."""

    valid_from: date
    currency: str
    prompt: Decimal
    cached: Decimal | None
    completion: Decimal
    typed_at: datetime
    typed_by: str | None


class BotBudgetIn(Schema, extra="forbid"):
    """The most that a bot may spend in a calendar month."""

    amount: Annotated[Decimal, Field(ge=Decimal("0.01"), max_digits=12, decimal_places=2)] | None = Field(
        description="In the currency of its prices; null removes the budget."
    )


class BudgetOut(Schema):
    """Budget and spending of a bot in this month (UTC)."""

    month: date = Field(description="Its first day.")
    amount: Decimal | None = Field(description="Null: nothing limits what it spends.")
    currency: str = Field(description="Of the budget; empty without one.")
    reached: bool = Field(description="Whether the bot is no longer asked in this month.")
    spent: dict[str, float] = Field(description="By currency, what it has spent.")
    replies: int = Field(description="Replies that these amounts cover.")
    unknown: int = Field(description="Replies without a price, or of unknown numbers of tokens.")


@router.get("/bots/{slug:name}/prices", response=answers(list[PriceOut], 404))
def bot_prices(request: AuthenticatedHttpRequest, name: str) -> list[PriceOut]:
    """List the prices of your own bot that were ever typed in, the newest day first."""
    return [_price(each) for each in prices.newest_first(_bot(request, name))]


@router.post("/bots/{slug:name}/prices", response=answers(PriceOut, 404, status=201, has_body=True))
def add_bot_price(request: AuthenticatedHttpRequest, name: str, sent: PriceIn) -> Status[PriceOut]:
    """Add a price of your own bot; reports that are computed from now on use it."""
    row = BotPrice(bot=_bot(request, name), typed_by=request.user)
    form = filled_form(partial(prices.PriceForm, instance=row), sent.model_dump())
    saved = form.save()
    budgets.price_added(saved.bot_id)
    return Status(201, _price(saved))


@router.get("/bots/{slug:name}/budget", response=answers(BudgetOut, 404))
def bot_budget(request: AuthenticatedHttpRequest, name: str) -> BudgetOut:
    """Get the budget of your own bot, and what it has spent in this month."""
    return _budget(_bot(request, name))


@router.put("/bots/{slug:name}/budget", response=answers(BudgetOut, 404, has_body=True))
def set_bot_budget(request: AuthenticatedHttpRequest, name: str, sent: BotBudgetIn) -> BudgetOut:
    """Set or remove the budget of your own bot; it needs a price that is valid today."""
    bot = _bot(request, name)
    form = filled_form(partial(budgets.BudgetForm, bot=bot), sent.model_dump())
    budgets.set_budget(bot.pk, form.cleaned_data["amount"], currency=form.currency, by=request.user)
    return _budget(Bot.objects.get(pk=bot.pk))


def _bot(request: AuthenticatedHttpRequest, name: str) -> Bot:
    return get_object_or_404(queries.changeable_by(request.user), name=name)


def _price(row: BotPrice) -> PriceOut:
    return PriceOut(
        valid_from=row.valid_from,
        currency=row.currency,
        prompt=row.prompt,
        cached=row.cached,
        completion=row.completion,
        typed_at=row.typed_at,
        typed_by=row.typed_by.username if row.typed_by else None,
    )


def _budget(bot: Bot) -> BudgetOut:
    month = budgets.current_month(bot)
    return BudgetOut(
        month=month.begins,
        amount=month.budget.amount if month.budget else None,
        currency=month.budget.currency if month.budget else "",
        reached=bool(month.reached),
        spent=month.spending.amounts,
        replies=month.spending.replies,
        unknown=month.spending.unknown,
    )
