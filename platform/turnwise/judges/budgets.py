"""Budget of a run: a number of requests, or an amount by the prices typed in for its bot."""

import math
from dataclasses import dataclass
from decimal import Decimal
from itertools import chain
from typing import Any

from django.core.exceptions import ValidationError
from django.utils.translation import gettext, ngettext

from evaluation.report.studies.replies import ReplyFacts, cost_of
from turnwise.bots.budgets import amount_phrase, currency_of
from turnwise.bots.generation import Generation
from turnwise.bots.models import Bot
from turnwise.bots.prices import prices_by_bot
from turnwise.judges.models import JudgeRun, MachineLabel, RepeatedAnswer


@dataclass(frozen=True, slots=True)
class Budget:
    """Limits of a run; None stands for no limit."""

    most_calls: int | None = None
    most_cost: Decimal | None = None

    def columns(self, bot: Bot) -> dict[str, Any]:
        """Columns of the run.

        Raises:
            ValidationError: an amount without a price of today.
        """
        currency = currency_of(bot) if self.most_cost is not None else ""
        if self.most_cost is not None and not currency:
            raise ValidationError(
                gettext(
                    "Nothing says what %(title)s costs. Type in a price that is valid today on its page, or "
                    "limit the number of requests."
                )
                % {"title": bot.title}
            )
        return {"most_calls": self.most_calls, "most_cost": self.most_cost, "currency": currency}


@dataclass(frozen=True, slots=True)
class Cost:
    """Cost of a run's answers by the prices of their days.

    Attributes:
        amounts: by currency.
        priced: number of answers that the amounts cover.
        unpriced: number of answers without a price, or of unknown length.
    """

    amounts: dict[str, float]
    priced: int
    unpriced: int

    @property
    def phrases(self) -> list[str]:
        """Amounts for a page, as in "3.20 USD"."""
        return [amount_phrase(amount, currency) for currency, amount in self.amounts.items()]


def cost_of_run(run: JudgeRun) -> Cost | None:
    """Compute what the answers of a run and of its daily checks cost; None if no price was ever typed in."""
    bot = run.judge.bot_id
    prices = prices_by_bot([bot]).get(bot, []) if bot else []
    answered = (
        run.labels.exclude(outcome=MachineLabel.Outcome.FAILED).order_by().values_list("at", "generation")
    )
    again = RepeatedAnswer.objects.filter(drift_check__run=run).order_by()
    repeated = again.values_list("drift_check__at", "generation")
    given = chain(answered.iterator(), repeated.iterator()) if prices else ()
    found = cost_of([_facts(at.date().isoformat(), generation) for at, generation in given], prices)
    if found is None:
        return None
    amounts = {each["currency"]: each["amount"] for each in found["amounts"]}
    return Cost(amounts, sum(each["replies"] for each in found["amounts"]), found["unpriced"])


def _facts(day: str, generation: Any) -> ReplyFacts:
    usage = Generation.from_json(generation).usage
    if usage is None:
        return ReplyFacts(day=day)
    return ReplyFacts(prompt=usage.prompt, completion=usage.completion, cached=usage.cached, day=day)


def affordable_calls(run: JudgeRun, most: int) -> int:
    """Requests that the budget of a run still pays, at most `most`.

    What the next requests cost is estimated from the mean of those before, so that the amount is kept but for
    the difference between one request and another.
    """
    run.refresh_from_db(fields=["calls", "most_calls", "most_cost", "currency"])
    by_number = most if run.most_calls is None else max(0, run.most_calls - run.calls)
    return min(most, by_number, most if run.most_cost is None else _paid_by_amount(run, run.most_cost, most))


def _paid_by_amount(run: JudgeRun, amount: Decimal, most: int) -> int:
    cost = cost_of_run(run)
    if cost is None or not cost.priced:
        return 1 if cost is None or not cost.unpriced else 0
    each = cost.amounts.get(run.currency, 0.0) / cost.priced
    remaining = float(amount) - each * (cost.priced + cost.unpriced)
    return most if each == 0 else max(0, math.floor(remaining / each + 1e-9))


def reached_sentence(run: JudgeRun) -> str:
    """Why the budget lets the run ask nothing more, and what to do."""
    if run.most_calls is not None and run.calls >= run.most_calls:
        reached = ngettext(
            "The budget of this run is reached: %(n)s request. Raise it to go on.",
            "The budget of this run is reached: %(n)s requests. Raise it to go on.",
            run.most_calls,
        )
        return reached % {"n": f"{run.most_calls:,}"}
    cost = cost_of_run(run)
    if cost is None or not cost.priced:
        return gettext(
            "Nothing says how many tokens the answers have, or what they cost, so a budget in money cannot "
            "be kept. Limit the number of requests instead."
        )
    return gettext("The next request would exceed the budget of this run, %(budget)s. Raise it to go on.") % {
        "budget": amount_phrase(run.most_cost or 0, run.currency)
    }
