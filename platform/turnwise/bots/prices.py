"""Prices of tokens that researchers type in for a bot: the form, and what reports and bundles read."""

from collections.abc import Collection
from typing import Any, ClassVar

from django import forms
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from evaluation.report.studies.replies import Price
from turnwise.bots.models import Bot, BotBudget, BotPrice


class PriceForm(forms.ModelForm[BotPrice]):
    """A new price of a bot; earlier ones stay."""

    class Meta:
        model = BotPrice
        fields = ("valid_from", "currency", "prompt", "cached", "completion")
        widgets: ClassVar[dict[str, forms.Widget]] = {"valid_from": forms.DateInput(attrs={"type": "date"})}
        labels: ClassVar[dict[str, Any]] = {
            "prompt": _("Price of a million prompt tokens"),
            "cached": _("Price of a million cached prompt tokens"),
            "completion": _("Price of a million completion tokens"),
        }

    def clean_currency(self) -> str:
        """Accept lower case; refuse another currency than that of the bot's budget, which would miss it."""
        currency = str(self.cleaned_data["currency"]).strip().upper()
        limit = BotBudget.objects.filter(bot=self.instance.bot_id).first()
        if limit and limit.currency != currency:
            raise forms.ValidationError(
                gettext(
                    "The bot's budget is in %(currency)s. Give the price in it, or remove the budget first."
                )
                % {"currency": limit.currency}
            )
        return currency


def prices_by_bot(bots: Collection[int]) -> dict[int, list[Price]]:
    """Prices of these bots by primary key, in the order in which they apply."""
    by_bot: dict[int, list[Price]] = {}
    for row in BotPrice.objects.filter(bot__in=bots).order_by("valid_from", "pk"):
        by_bot.setdefault(row.bot_id, []).append(price_of(row))
    return by_bot


def price_of(row: BotPrice) -> Price:
    """The price of a row in the form of reports."""
    return Price(
        row.valid_from.isoformat(),
        row.currency,
        float(row.prompt),
        float(row.prompt if row.cached is None else row.cached),
        float(row.completion),
    )


def newest_first(bot: Bot) -> list[BotPrice]:
    """All prices of a bot that were ever typed in, the newest day first."""
    return list(bot.prices.select_related("typed_by").order_by("-valid_from", "-pk"))
