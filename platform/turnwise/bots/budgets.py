"""Monthly budgets of bots: what a bot has spent in a calendar month (UTC), and whether its budget is reached.

The basis is `BotUsage`, one row per bot and day, which every reply adds to (`hosting/spending.py`), and the
typed prices. So a corrected price corrects what the month has cost. `BotBudget.reached_in` is derived from
these; each write that may change it calls `update_state`.
"""

import math
import time
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, ClassVar

from django import forms
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation.files.writing import with_unit
from evaluation.report.studies.replies import Price, ReplyFacts, cost_of
from turnwise.accounts.models import User
from turnwise.bots.models import Bot, BotBudget, BotUsage
from turnwise.bots.prices import prices_by_bot
from turnwise.live.published_events import Event, EventType, publish

OVER_BUDGET = "over budget"
"""State of a bot whose budget is reached."""


def today() -> date:
    """The day in UTC."""
    return datetime.now(UTC).date()


def month_of(day: date) -> date:
    """First day of the month."""
    return day.replace(day=1)


def month_after(day: date) -> date:
    """First day of the next month."""
    return date(day.year + day.month // 12, day.month % 12 + 1, 1)


@dataclass(frozen=True, slots=True)
class Spending:
    """Spending of a bot in a month.

    Attributes:
        amounts: by currency, at the price of each day.
        replies: replies that the amounts cover.
        unknown: replies of unknown numbers of tokens, or given on days without a price.
    """

    amounts: dict[str, float]
    replies: int
    unknown: int

    def in_currency(self, currency: str) -> float:
        """The amount in one currency; others are not converted."""
        return self.amounts.get(currency, 0.0)

    @property
    def phrases(self) -> list[str]:
        """Amounts for a page, as in "3.20 USD"."""
        return [amount_phrase(amount, currency) for currency, amount in self.amounts.items()]


def amount_phrase(amount: Decimal | float, currency: str) -> str:
    """An amount with its currency; small amounts with two significant digits, as in "0.0033 USD"."""
    decimals = 1 - math.floor(math.log10(amount)) if 0 < amount < 1 else 2
    whole, _point, cents = f"{amount:,.{max(2, decimals)}f}".partition(".")
    cents = cents[:2] + cents[2:].rstrip("0")
    return with_unit(whole if cents == "00" else f"{whole}.{cents}", currency)


def spending_of(bot: int, month: date) -> Spending:
    """Compute what a bot has spent in the month that begins on this day."""
    return spending_by_bot(month, BotUsage.objects.filter(bot=bot)).get(bot, Spending({}, 0, 0))


def spending_by_bot(month: date, usage: QuerySet[BotUsage] | None = None) -> dict[int, Spending]:
    """Compute what bots have spent in a month, by key; all bots with usage in it, or those of `usage`."""
    rows = BotUsage.objects.all() if usage is None else usage
    days: dict[int, list[BotUsage]] = {}
    for row in rows.filter(day__gte=month, day__lt=month_after(month)).order_by("day"):
        days.setdefault(row.bot_id, []).append(row)
    prices = prices_by_bot(days) if days else {}
    return {bot: _spending(of_bot, prices.get(bot, [])) for bot, of_bot in days.items()}


def _spending(days: list[BotUsage], prices: list[Price]) -> Spending:
    amounts: dict[str, list[float]] = {}
    replies, unknown = 0, sum(row.unknown for row in days)
    for row in days:
        if not row.replies:
            continue
        cost = cost_of([_facts(row)], prices)
        if cost is None or cost["unpriced"]:
            unknown += row.replies
            continue
        replies += row.replies
        for each in cost["amounts"]:
            amounts.setdefault(each["currency"], []).append(each["amount"])
    return Spending({currency: math.fsum(parts) for currency, parts in amounts.items()}, replies, unknown)


def _facts(row: BotUsage) -> ReplyFacts:
    """All replies of a day as one, since cost is linear in tokens."""
    return ReplyFacts(
        prompt=row.prompt, completion=row.completion, cached=row.cached, day=row.day.isoformat()
    )


@transaction.atomic
def update_state(bot: int, *, day: date | None = None) -> None:
    """Store whether the budget is reached in the month of `day`; do nothing for a bot without a budget."""
    budget = BotBudget.objects.select_for_update().filter(bot=bot).first()
    if budget is None:
        return
    month = month_of(day or today())
    spent = spending_of(bot, month).in_currency(budget.currency)
    reached_in = month if spent >= float(budget.amount) else None
    if budget.reached_in != reached_in:
        BotBudget.objects.filter(pk=budget.pk).update(reached_in=reached_in)
        if reached_in:
            _publish_reached(budget, reached_in)


def _publish_reached(budget: BotBudget, month: date) -> None:
    bot = budget.bot
    publish(
        Event(
            EventType.BUDGET_REACHED,
            bot_id=bot.pk,
            data={
                "bot": bot.name,
                "month": f"{month:%Y-%m}",
                "budget": str(budget.amount),
                "currency": budget.currency,
            },
            links={"page": bot.get_absolute_url(), "api": f"/api/bots/{bot.name}"},
        )
    )


def price_added(bot: int) -> None:
    """Take note of a new price: the budget may be reached at it, or no longer."""
    update_state(bot)
    CONCERNED.read()


def set_budget(bot: int, amount: Decimal | None, *, currency: str, by: User | None) -> None:
    """Set or change the budget of a month; None removes it."""
    if amount is None:
        BotBudget.objects.filter(bot=bot).delete()
    else:
        values = {"amount": amount, "currency": currency, "typed_by": by}
        BotBudget.objects.update_or_create(bot_id=bot, defaults=values)
        update_state(bot)
    CONCERNED.read()


def reached_in_this_month() -> QuerySet[BotBudget]:
    """Budgets that are reached in this month."""
    return BotBudget.objects.filter(reached_in=month_of(today()))


@dataclass(frozen=True, slots=True)
class ReachedBudget:
    """A bot whose budget is reached this month, and the sentence that says so."""

    bot: Bot
    reached: str


def reached_budgets(bots: QuerySet[Bot]) -> list[ReachedBudget]:
    """Those of these bots whose budget is reached this month."""
    found = reached_in_this_month().filter(bot__in=bots).select_related("bot")
    return [ReachedBudget(each.bot, reached_sentence(each)) for each in found.order_by("bot__title")]


def reached_sentence(budget: BotBudget) -> str:
    """Sentence for researchers, as in "The budget of 20 USD for November is reached: …"."""
    month = budget.reached_in or month_of(today())
    return _(
        "The budget of %(amount)s for %(month)s is reached: raise it, or wait until %(day)s, 0:00 UTC."
    ) % {
        "amount": amount_phrase(budget.amount, budget.currency),
        "month": date_format(month, "F"),
        "day": date_format(month_after(month), "j F"),
    }


@dataclass(frozen=True, slots=True)
class Month:
    """Spending and budget of a bot in this month, for its page.

    Attributes:
        begins: first day of the month.
        spending: what it has spent so far.
        budget: None without one.
        reached: sentence that the budget is reached; empty if it is not.
    """

    begins: date
    spending: Spending
    budget: BotBudget | None
    reached: str

    @property
    def limit(self) -> str:
        """The budget with its currency; empty without one."""
        return amount_phrase(self.budget.amount, self.budget.currency) if self.budget else ""

    @property
    def percent(self) -> int:
        """Percentage of the budget that is spent, at most 100."""
        if self.budget is None:
            return 0
        spent = self.spending.in_currency(self.budget.currency)
        return min(100, math.floor(100 * spent / float(self.budget.amount)))


def current_month(bot: Bot) -> Month:
    """Spending and budget of a bot in this month."""
    month = month_of(today())
    budget = getattr(bot, "budget", None)
    is_reached = budget is not None and budget.reached_in == month
    reached = reached_sentence(budget) if budget and is_reached else ""
    return Month(month, spending_of(bot.pk, month), budget, reached)


class Concerned:
    """Cached keys of the bots that have prices or a budget. All other bots cost nothing to count."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self.priced: frozenset[int] = frozenset()
        self.limited: frozenset[int] = frozenset()
        self._read_at = -math.inf

    def is_older(self, seconds: float) -> bool:
        """True if the keys were read longer ago."""
        return time.monotonic() - self._read_at > seconds

    def read(self) -> None:
        """Read the keys."""
        self._read_at = time.monotonic()
        self.priced = frozenset(Bot.objects.filter(prices__isnull=False).values_list("pk", flat=True))
        self.limited = frozenset(BotBudget.objects.values_list("bot", flat=True))


CONCERNED = Concerned()


class BudgetForm(forms.Form):
    """The budget of a month, in the currency of the bot's price of today."""

    amount: ClassVar[forms.DecimalField] = forms.DecimalField(
        required=False,
        min_value=Decimal("0.01"),
        max_digits=12,
        decimal_places=2,
        label=gettext_lazy("Budget of a calendar month"),
        help_text=gettext_lazy("Empty: no limit."),
    )

    def __init__(self, data: Any, *, bot: Bot) -> None:
        """Begin with the budget that the bot has."""
        self.budget = BotBudget.objects.filter(bot=bot).first()
        super().__init__(data, initial={"amount": self.budget and self.budget.amount})
        self.currency = self.budget.currency if self.budget else currency_of(bot)
        if self.currency:
            field = self.fields["amount"]
            field.label = f"{field.label} ({self.currency})"

    def clean(self) -> dict[str, Any]:
        """Refuse a budget where nothing says what the bot costs."""
        cleaned = super().clean() or {}
        if cleaned.get("amount") is not None and not self.currency:
            raise ValidationError(
                _("Nothing says what this bot costs: type in a price that is valid today, then its budget.")
            )
        return cleaned


def currency_of(bot: Bot) -> str:
    """Currency of the price that is valid today; empty without one."""
    valid = bot.prices.filter(valid_from__lte=today()).order_by("-valid_from", "-pk").first()
    return valid.currency if valid else ""
