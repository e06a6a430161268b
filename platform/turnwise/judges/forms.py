"""The form that starts a machine judge."""

from typing import Any

from django import forms
from django.utils.translation import gettext_lazy as _

from evaluation.machine_judges.template import MOST_DRAWS
from turnwise.accounts.models import User
from turnwise.bots.models import OPERATED, OUTSIDE
from turnwise.bots.queries import visible_bots
from turnwise.bots.search import BotField
from turnwise.studies.models import Ask


class JudgeForm(forms.Form):
    """A bot that is to judge the items of an ask."""

    draws = forms.IntegerField(
        label=_("Answers for each item"),
        min_value=1,
        max_value=MOST_DRAWS,
        initial=1,
        help_text=_(
            "With several, the mean counts: 3 of 5 times yes is a probability of 0.6. Each costs a request."
        ),
    )

    def __init__(self, user: User, asks: list[Ask], *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        usable = visible_bots(user).filter(active=True).exclude(adapter__in=(OPERATED, OUTSIDE))
        selected = [self.data.get("bot"), self.initial.get("bot")]
        bot: forms.Field = BotField(usable, user, chosen=selected, label=_("Bot"))
        fields: dict[str, forms.Field] = {"bot": bot}
        if len(asks) > 1:
            choices = [(ask.pk, ask.title) for ask in asks]
            fields = {
                "ask": forms.TypedChoiceField(label=_("Questions"), choices=choices, coerce=int),
                **fields,
            }
        self.fields = {**fields, **self.fields}
        self._asks = asks

    def selected_ask(self) -> Ask:
        """The ask whose items are judged; the only one if there is no choice."""
        chosen = self.cleaned_data.get("ask", self._asks[0].pk)
        return next(ask for ask in self._asks if ask.pk == chosen)
