"""What a planned study of conversations takes, and what it can tell: known before anybody is paid."""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from django import forms

from evaluation.interval import Undefined
from evaluation.planner import difference_seen
from evaluation.protocols import spread_of
from evaluation.protocols.facts import Evaluation
from studies.tasks import task_named

POWER, LEVEL = 0.8, 0.95
# Differences are worked out for this spread, and told in multiples of it.
_SPREAD = 0.1


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a study takes, and what it can tell.

    Attributes:
        conversations: of all bots together.
        hours: of people's time.
        cost: what people are paid; None without pay.
        currency: of the cost.
        deviations: the smallest true difference of two bots that it shows with a power of 80 % at 95 %,
            in standard deviations between conversations; None if there are no two, or too few conversations.
        points: the same in points of the score, where a publication says how far conversations differ.
        as_in: the title of that publication's protocol.
        compares: whether there are bots to compare; people who talk with each other are one system.
    """

    conversations: int
    hours: float
    cost: Decimal | None
    currency: str
    deviations: float | None
    points: float | None = None
    as_in: str = ""
    compares: bool = True


class OutlookForm(forms.Form):
    """What a study is planned with, as its page asks while somebody fills it in."""

    task = forms.CharField(max_length=40)
    wanted = forms.RegexField("^[0-9]{1,6}(,[0-9]{1,6}){0,999}$")
    minutes = forms.IntegerField(min_value=1, max_value=10_000)
    pay = forms.DecimalField(min_value=0, max_value=100_000)
    currency = forms.RegexField("^[A-Za-z]{3}$")
    question_set = forms.CharField(max_length=60, required=False)

    @property
    def outlook(self) -> "Outlook":
        """Of a valid form."""
        told = self.cleaned_data
        return outlook(
            [each for each in map(int, told["wanted"].split(",")) if each],
            people=task_named(told["task"]).together,
            minutes=told["minutes"],
            pay=told["pay"],
            currency=told["currency"],
            question_set=told["question_set"],
        )


def outlook(
    wanted: Sequence[int], *, people: int, minutes: int, pay: Decimal, currency: str, question_set: str
) -> Outlook:
    """Work out what a study takes, and what it can tell.

    Args:
        wanted: conversations with each bot; of people with each other, one number.
        people: who work on one conversation.
        minutes: that one takes a person.
        pay: of each person for it.
        currency: of the pay.
        question_set: the key of what its report begins with.
    """
    conversations = sum(wanted)
    deviations = _told(wanted)
    spread, as_in = spread_of(Evaluation.INTERACTIVE, question_set) or (None, "")
    return Outlook(
        conversations=conversations,
        hours=conversations * people * minutes / 60,
        cost=conversations * people * pay or None,
        currency=currency.upper(),
        deviations=deviations,
        points=deviations * spread.points if deviations and spread else None,
        as_in=as_in,
        compares=people == 1,
    )


def _told(wanted: Sequence[int]) -> float | None:
    """By Bonferroni's rule over all pairs of bots, each with the fewest conversations of any."""
    bots = len(wanted)
    if bots < 2:
        return None
    level = 1 - (1 - LEVEL) / (bots * (bots - 1) / 2)
    seen = difference_seen(min(wanted), _SPREAD, power=POWER, level=level)
    return None if isinstance(seen, Undefined) else seen / _SPREAD
