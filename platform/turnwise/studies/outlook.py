"""Outlook of a planned study: people, hours, cost, and the smallest difference that its result can show.

A task describes the planned study as `PlannedStudy`; `outlook` works out the rest before anybody is paid.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from django import forms

from evaluation.protocols import spread_of
from evaluation.protocols.facts import Evaluation
from evaluation.statistics.interval import Undefined
from evaluation.statistics.sample_size import difference_seen


class Unit(StrEnum):
    """What a study is made of."""

    CONVERSATION = "conversations"
    JUDGMENT = "judgments"
    COMPARISON = "comparisons"
    RESPONSE = "responses"


class Conclusion(StrEnum):
    """What the result of a study can show."""

    NOTHING = ""
    BOTS = "bots"  # that have conversations of their own
    SYSTEMS = "systems"  # whose responses or conversations are judged
    TARGETS = "targets"  # of a battery, of which everybody judges one item each
    PREFERENCE = "preference"  # which of two is chosen


@dataclass(frozen=True, slots=True)
class PlannedStudy:
    """What is wanted, and of how many people.

    Attributes:
        unit: what is counted.
        wanted: so many of them.
        people: who each do their whole share of it; 0: bots do it alone.
        tells: what the result can show.
        samples: independent observations of each system that is compared, such as conversations or contexts;
            of each two that are compared side by side, their pairs.
        turns: of all conversations together, where bots alone talk.
    """

    unit: Unit
    wanted: int
    people: int
    tells: Conclusion = Conclusion.NOTHING
    samples: Sequence[int] = ()
    turns: int = 0


def parse_count(text: str | None, *, most: int = 1_000_000) -> int:
    """A whole number that a form sent; 0 for anything else."""
    is_number = bool(text) and str(text).isascii() and str(text).isdecimal() and len(str(text)) < 8
    return min(int(str(text)), most) if is_number else 0


def planned_conversations(wanted: Sequence[int], *, together: int) -> PlannedStudy:
    """Conversations of people with each of several bots, or with each other."""
    tells = Conclusion.BOTS if together == 1 else Conclusion.NOTHING
    return PlannedStudy(Unit.CONVERSATION, sum(wanted), sum(wanted) * together, tells, wanted)


POWER, LEVEL = 0.8, 0.95
# Differences are worked out for this spread, and told in multiples of it.
_SPREAD = 0.1
# Of what is chosen or not, at worst.
_CHOICE_SPREAD = 0.5


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a study takes, and what it can tell.

    Attributes:
        unit: what is counted.
        wanted: so many of them.
        people: who do it.
        hours: of people's time.
        cost: what people are paid; None without pay.
        currency: of the cost.
        tells: what its result can show.
        deviations: the smallest true difference of two systems that it shows with a power of 80 % at 95 %,
            in standard deviations between conversations, or contexts; None if there are no two, or too few.
        points: the same in points of the score, where a publication says how far conversations differ; of a
            preference, how far from half the one must be chosen.
        as_in: the title of that publication's protocol.
        turns: of all conversations, where bots alone talk.
    """

    unit: Unit
    wanted: int
    people: int
    hours: float
    cost: Decimal | None
    currency: str
    tells: Conclusion
    deviations: float | None
    points: float | None = None
    as_in: str = ""
    turns: int = 0

    @property
    def upper_share(self) -> float | None:
        """Of a preference: the smallest share above half that it tells from half, in percent."""
        return None if self.points is None else 50 + self.points


class OutlookForm(forms.Form):
    """What a study is planned with, as its page asks while somebody fills it in."""

    minutes = forms.IntegerField(min_value=1, max_value=10_000, required=False)
    pay = forms.DecimalField(min_value=0, max_value=100_000, required=False)
    currency = forms.RegexField("^[A-Za-z]{3}$", required=False)
    question_set = forms.CharField(max_length=60, required=False)
    wanted = forms.RegexField("^[0-9]{1,6}(,[0-9]{1,6}){0,999}$", required=False)

    @property
    def targets(self) -> list[int]:
        """Of a valid form: conversations with each bot; of people with each other, one number."""
        told: str = self.cleaned_data["wanted"]
        return [each for each in map(int, filter(None, told.split(","))) if each]

    def outlook(self, planned: PlannedStudy) -> Outlook:
        """Of a valid form, for what its task says of it."""
        told = self.cleaned_data
        return outlook(
            planned,
            minutes=told["minutes"] or 0,
            pay=told["pay"] or Decimal(0),
            currency=told["currency"],
            question_set=told["question_set"],
        )


def outlook(
    planned: PlannedStudy, *, minutes: int, pay: Decimal, currency: str, question_set: str
) -> Outlook:
    """Work out what a study takes, and what it can tell.

    Args:
        planned: what is wanted, and of how many people.
        minutes: that each of them works.
        pay: of each of them.
        currency: of the pay.
        question_set: the key of what its report begins with.
    """
    deviations, points, as_in = None, None, ""
    if planned.tells is Conclusion.PREFERENCE:
        points = _detectable_preference(planned.samples)
    elif planned.tells is not Conclusion.NOTHING:
        deviations = _detectable_difference(planned.samples)
    if planned.tells is Conclusion.BOTS:
        spread, as_in = spread_of(Evaluation.INTERACTIVE, question_set) or (None, "")
        points = deviations * spread.points if deviations and spread else None
    return Outlook(
        unit=planned.unit,
        wanted=planned.wanted,
        people=planned.people,
        hours=planned.people * minutes / 60,
        cost=planned.people * pay or None,
        currency=currency.upper(),
        tells=planned.tells,
        deviations=deviations,
        points=points,
        as_in=as_in,
        turns=planned.turns,
    )


def _detectable_difference(samples: Sequence[int]) -> float | None:
    """By Bonferroni's rule over all pairs of systems, each with the fewest observations of any."""
    systems = len(samples)
    if systems < 2:
        return None
    level = 1 - (1 - LEVEL) / (systems * (systems - 1) / 2)
    seen = difference_seen(min(samples), _SPREAD, power=POWER, level=level)
    return None if isinstance(seen, Undefined) else seen / _SPREAD


def _detectable_preference(pairs: Sequence[int]) -> float | None:
    """How many points from half the share of one of two must be, by the comparison with the fewest pairs."""
    if not pairs:
        return None
    level = 1 - (1 - LEVEL) / len(pairs)
    # A correlation of a half makes the spread of a difference that of one: here there is one sample.
    seen = difference_seen(min(pairs), _CHOICE_SPREAD, power=POWER, level=level, correlation=0.5)
    return None if isinstance(seen, Undefined) or seen > _CHOICE_SPREAD else 100 * seen
