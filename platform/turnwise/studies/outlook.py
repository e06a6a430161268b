"""Outlook of a planned study: people, hours, cost, and the smallest difference that its result can show.

A task describes the planned study as `PlannedStudy`; `outlook` works out the rest before anybody is paid.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from enum import StrEnum

from django import forms

from evaluation.planning.power import Allocation, Components, Design, smallest_difference
from evaluation.protocols import spread_of
from evaluation.protocols.facts import Evaluation
from evaluation.statistics.interval import Undefined
from turnwise.studies.models.choices import ReEntry


class Unit(StrEnum):
    """Unit of work that a study counts."""

    CONVERSATION = "conversations"
    JUDGMENT = "judgments"
    COMPARISON = "comparisons"
    RESPONSE = "responses"


class Conclusion(StrEnum):
    """Kind of comparison that the result of a study allows."""

    NOTHING = ""
    BOTS = "bots"  # that have conversations of their own
    SYSTEMS = "systems"  # whose responses or conversations are judged
    TARGETS = "targets"  # of a battery, of which everybody judges one item each
    PREFERENCE = "preference"  # which of two is chosen


@dataclass(frozen=True, slots=True)
class PlannedStudy:
    """Size of a planned study.

    Attributes:
        unit: what is counted.
        wanted: number of units.
        people: number of workers; 0: bots do it alone.
        tells: what the result can show.
        samples: independent observations of each compared system, such as conversations or contexts; for
            side-by-side comparisons the number of pairs of each two systems.
        turns: turns of all conversations together, where bots alone talk.
    """

    unit: Unit
    wanted: int
    people: int
    tells: Conclusion = Conclusion.NOTHING
    samples: Sequence[int] = ()
    turns: int = 0


def parse_count(text: str | None, *, most: int = 1_000_000) -> int:
    """Parse a whole number from a form; 0 for anything else."""
    is_number = bool(text) and str(text).isascii() and str(text).isdecimal() and len(str(text)) < 8
    return min(int(str(text)), most) if is_number else 0


def planned_conversations(wanted: Sequence[int], *, together: int) -> PlannedStudy:
    """Size of a study with conversations of people with bots, or with each other."""
    tells = Conclusion.BOTS if together == 1 else Conclusion.NOTHING
    return PlannedStudy(Unit.CONVERSATION, sum(wanted), sum(wanted) * together, tells, wanted)


POWER, LEVEL = 0.8, 0.95
# Differences are in standard deviations; one of more than ten is no plan.
_MOST_DEVIATIONS = 10.0
# Shares of the variance between conversations that a plan assumes where workers have several: of workers, and
# of their preference for a bot. The page states them.
WORKER_SHARE, WORKER_BY_BOT_SHARE = 0.2, 0.1
_SPREAD = Components.from_shares(1.0, worker=WORKER_SHARE, worker_by_system=WORKER_BY_BOT_SHARE)
# Largest standard deviation of a binary choice.
_CHOICE_SPREAD = 0.5


@dataclass(frozen=True, slots=True)
class Outlook:
    """Effort of a study, and the smallest difference that its result can show.

    Attributes:
        unit: what is counted.
        wanted: number of units.
        people: number of workers.
        hours: working time of all workers.
        cost: pay of all workers; None without pay.
        currency: currency of the cost.
        tells: what its result can show.
        deviations: the smallest true difference of two systems detected with a power of 80 % at 95 %,
            in standard deviations between conversations, or contexts; None if there are no two, or too few.
        points: this difference in points of the score, if a publication reports the spread of conversations;
            of a preference, the distance from 50 %.
        as_in: the title of that publication's protocol.
        turns: turns of all conversations, where bots alone talk.
        per_worker: conversations of each worker on which the detectable difference rests.
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
    per_worker: int = 1

    @property
    def upper_share(self) -> float | None:
        """Smallest detectable share above half of a preference, in percent."""
        return None if self.points is None else 50 + self.points


class OutlookForm(forms.Form):
    """Planned values that the page of a study sends while somebody fills it in."""

    minutes = forms.IntegerField(min_value=1, max_value=10_000, required=False)
    pay = forms.DecimalField(min_value=0, max_value=100_000, required=False)
    currency = forms.RegexField("^[A-Za-z]{3}$", required=False)
    question_set = forms.CharField(max_length=60, required=False)
    re_entry = forms.ChoiceField(choices=ReEntry, required=False)
    re_entry_most = forms.IntegerField(min_value=2, max_value=100, required=False)
    wanted = forms.RegexField("^[0-9]{1,6}(,[0-9]{1,6}){0,999}$", required=False)

    @property
    def targets(self) -> list[int]:
        """Targets of conversations with each bot, of a valid form; one number if people talk together."""
        text: str = self.cleaned_data["wanted"]
        return [each for each in map(int, filter(None, text.split(","))) if each]

    def outlook(self, planned: PlannedStudy) -> Outlook:
        """Compute the outlook of a valid form for the size that the task planned."""
        fields = self.cleaned_data
        return outlook(
            planned,
            minutes=fields["minutes"] or 0,
            pay=fields["pay"] or Decimal(0),
            currency=fields["currency"],
            question_set=fields["question_set"],
            design=self._design(len(planned.samples)),
        )

    def _design(self, bots: int) -> Design:
        """Conversations of each worker, by the study's re-entry rule."""
        most = self.cleaned_data["re_entry_most"]
        match self.cleaned_data["re_entry"]:
            case ReEntry.UP_TO if most:
                return Design(per_worker=most, systems=max(2, bots))
            case ReEntry.PER_BOT if bots > 1:
                return Design(per_worker=bots, systems=bots, allocation=Allocation.BALANCED)
            case _:
                return Design(systems=max(2, bots))


def outlook(
    planned: PlannedStudy,
    *,
    minutes: int,
    pay: Decimal,
    currency: str,
    question_set: str,
    design: Design | None = None,
) -> Outlook:
    """Compute the outlook of a planned study.

    Args:
        planned: size of the study.
        minutes: working time of each worker.
        pay: pay of each worker.
        currency: currency of the pay.
        question_set: key of the question set with which the report begins.
        design: conversations of each worker; None: one each. Only conversations with bots use it.
    """
    if design is None or planned.tells is not Conclusion.BOTS:
        design = Design(systems=max(2, len(planned.samples)))
    deviations, points, as_in = None, None, ""
    if planned.tells is Conclusion.PREFERENCE:
        points = _detectable_preference(planned.samples)
    elif planned.tells is not Conclusion.NOTHING:
        deviations = _detectable_difference(planned.samples, design)
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
        per_worker=design.per_worker,
    )


def _detectable_difference(samples: Sequence[int], design: Design) -> float | None:
    """Detectable difference in deviations, Bonferroni-corrected over all pairs, at the smallest sample."""
    if len(samples) < 2:
        return None
    level = 1 - (1 - LEVEL) / math.comb(len(samples), 2)
    seen = smallest_difference(min(samples), _SPREAD, design, most=_MOST_DEVIATIONS, power=POWER, level=level)
    return None if isinstance(seen, Undefined) else seen


def _detectable_preference(pairs: Sequence[int]) -> float | None:
    """Detectable distance from 50 %, in points, for the comparison with the fewest pairs."""
    if not pairs:
        return None
    level = 1 - (1 - LEVEL) / len(pairs)
    choices, design = Components.from_shares(_CHOICE_SPREAD), Design(allocation=Allocation.PREFERENCE)
    seen = smallest_difference(min(pairs), choices, design, most=_CHOICE_SPREAD, power=POWER, level=level)
    return None if isinstance(seen, Undefined) else 100 * seen
