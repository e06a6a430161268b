"""Estimates of a judge card in words: people alone, people and judge, and what the judge was worth."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from django.utils.translation import gettext as _

from evaluation.assisted.estimates import AssistedEstimate
from evaluation.files.writing import MINUS, NO_BREAK, figure, signed
from evaluation.machine_judges.judged import JudgedItems
from evaluation.machine_judges.together import PairsTogether, Together, pairs_together
from evaluation.questions import Score
from evaluation.statistics.inference import Nouns
from evaluation.statistics.interval import Interval, Undefined


@dataclass(frozen=True, slots=True)
class EstimateRow:
    """An estimate from people alone and with the judge's help, in words.

    Attributes:
        name: the system, or two systems with a minus between them.
        people: people's estimate with its interval; empty if there is none.
        assisted: the estimate with the judge's help; empty if there is none.
        factor: how many times as many items people alone would have needed; empty if there is no estimate.
        worth: the same as a sentence, and what the interval generalises to.
    """

    name: str
    people: str
    assisted: str
    factor: str
    worth: str


@dataclass(frozen=True, slots=True)
class PreferenceTables:
    """Tables of one question that compares the sides of pairs.

    Attributes:
        question: its wording.
        strengths: log-strengths after Bradley and Terry, and every difference; empty without an estimate.
        no_strengths: why there are no strengths; empty if there are.
        wins: shares of won pairs, in percent.
    """

    question: str
    strengths: list[EstimateRow]
    no_strengths: str
    wins: list[EstimateRow]


def score_rows(score: Score, estimates: Together, nouns: Nouns) -> list[EstimateRow]:
    """Rows of one score: each system, then each difference of two."""
    named = _named(estimates.systems, estimates.differences)
    return [_row(each, score.factor, digits_of(score), nouns) for each in named]


def preference_tables(judged: JudgedItems, nouns: Nouns) -> list[PreferenceTables]:
    """Tables of each question that compares the sides; empty for items that are no pairs."""
    return [_preferences(each, nouns) for each in pairs_together(judged, nouns=nouns)]


def _preferences(found: PairsTogether, nouns: Nouns) -> PreferenceTables:
    wins = [_row(each, 100, 1, nouns) for each in _named(found.wins, ())]
    strengths = found.strengths
    if isinstance(strengths, Undefined):
        return PreferenceTables(found.question.wording, [], strengths.reason, wins)
    named = _named(strengths.strength, strengths.differences)
    rows = [_row(each, 1, 2, nouns) for each in named]
    return PreferenceTables(found.question.wording, rows, "", wins)


_Named = tuple[str, AssistedEstimate | Undefined, bool]
"""Name of an estimate, the estimate, and whether it is a difference."""


def _named(
    systems: Mapping[str, AssistedEstimate | Undefined],
    differences: Iterable[tuple[str, str, AssistedEstimate | Undefined]],
) -> list[_Named]:
    of_systems = [(name, each, False) for name, each in systems.items()]
    return of_systems + [(f"{first} {MINUS} {second}", each, True) for first, second, each in differences]


def _row(named: _Named, factor: float, digits: int, nouns: Nouns) -> EstimateRow:
    name, found, is_difference = named
    if isinstance(found, Undefined):
        return EstimateRow(name, "", "", "", found.reason)
    if not found.pool:
        found = replace(found, note=_("People judged every item, so the machine has nothing to add."))
    shown = signed if is_difference else figure
    return EstimateRow(
        name,
        shown(factor * found.people_value, digits) + interval_ends(found.people_interval, factor, digits),
        shown(factor * found.value, digits) + interval_ends(found.interval, factor, digits),
        figure(found.worth),
        found.sentence(nouns),
    )


def interval_ends(interval: Interval | Undefined, factor: float, digits: int) -> str:
    """Interval in brackets, which do not break, after a space; empty if there is none."""
    if isinstance(interval, Undefined):
        return ""
    return f" [{figure(factor * interval.low, digits)},{NO_BREAK}{figure(factor * interval.high, digits)}]"


def digits_of(score: Score) -> int:
    """Number of decimals of a score: one of percentages, two of points."""
    return 1 if score.is_percent else 2


def number(score: Score, value: float) -> str:
    """Value of a score with its decimals."""
    return figure(score.factor * value, digits_of(score))
