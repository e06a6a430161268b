from decimal import Decimal
from typing import Any

from django import forms
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from evaluation.acceptance import LIMITS
from turnwise.crowd.ledger import LARGEST_BONUS

_MOST = 1_000_000


class LimitsForm(forms.Form):
    """A limit for each measure; empty: it is not looked at. Shares are in percent."""

    def __init__(self, values: dict[str, float | None], data: Any = None) -> None:
        super().__init__(data, prefix="limit")
        for key, limit in LIMITS.items():
            value = values.get(key)
            self.fields[key] = forms.FloatField(
                label=_("%(measure)s, at least") % {"measure": _(limit.title)}
                if limit.is_least
                else _("%(measure)s, at most") % {"measure": _(limit.title)},
                help_text=_("in percent") if limit.is_share else "",
                required=False,
                min_value=0,
                max_value=100 if limit.is_share else _MOST,
                initial=value if value is None else round(value * (100 if limit.is_share else 1), 2),
            )

    @property
    def values(self) -> dict[str, float | None]:
        """What was asked for, shares as such."""
        return {
            key: None if given is None else given / (100 if LIMITS[key].is_share else 1)
            for key, given in self.cleaned_data.items()
        }


class BonusForm(forms.Form):
    """More for both of an outstanding conversation."""

    amount = forms.DecimalField(
        label=gettext_lazy("Bonus for each"),
        min_value=Decimal("0.01"),
        max_value=LARGEST_BONUS,
        decimal_places=2,
    )
