"""Parts of a judge card: estimates in words, agreement by properties of the items, calibration charts."""

import json
import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from subprocess import SubprocessError
from typing import Any

import numpy as np
from django.db import connection
from django.utils.translation import gettext as _

from evaluation.assisted.estimates import AssistedEstimate
from evaluation.files.writing import MINUS, NO_BREAK, figure, signed
from evaluation.machine_judges.agreement import Agreement, agreements_by, thirds
from evaluation.machine_judges.calibration import Calibration
from evaluation.machine_judges.judged import JudgedItems
from evaluation.machine_judges.together import PairsTogether, Together, pairs_together
from evaluation.questions import Score
from evaluation.statistics.inference import Nouns
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import BoolArray
from turnwise.judges.models import JudgeRun
from turnwise.judging.queries import items_of
from turnwise.live.subprocesses import run_module


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


MOST_GROUPS = 12
_PROPERTIES = f"""
SELECT length(i.text), i.position, nullif(c.category, '')
  FROM ({items_of(ask="%s")}) AS i
  JOIN judging_item AS item ON item.id = i.id
  LEFT JOIN responses_response AS r ON r.id = item.response_id
  LEFT JOIN contexts_context AS c ON c.id = coalesce(r.context_id, item.context_id)
 ORDER BY i.id
"""


def agreement_by_property(run: JudgeRun, judged: JudgedItems) -> list[tuple[str, list[Agreement]]]:
    """Title and agreement in each group of items, for each property in which the items differ.

    Length and turn are of single replies and responses, the category of contexts. Of many turns or
    categories, the most frequent are compared.
    """
    with connection.cursor() as cursor:
        cursor.execute(_PROPERTIES, [run.study_id, run.ask_id])
        rows = cursor.fetchall()
    lengths, turns, categories = zip(*rows, strict=True) if rows else ((), (), ())
    has_text = all(length is not None for length in lengths)
    by_length = thirds(np.array(lengths, dtype=np.int64)) if has_text else {}
    found = [
        (_("By length of the text, in characters"), by_length),
        (_("By turn in the conversation"), _groups(turns)),
        (_("By category of the context"), _groups(categories)),
    ]
    return [(title, agreements_by(judged, groups)) for title, groups in found if len(groups) > 1]


def _groups(values: Sequence[Any]) -> dict[str, BoolArray]:
    """Items with each value, in the order of the values; items without a value are in no group."""
    frequent = Counter(value for value in values if value is not None).most_common(MOST_GROUPS)
    found: Iterable[Any] = sorted(value for value, _number in frequent)
    return {str(value): np.array([each == value for each in values]) for value in found}


log = logging.getLogger(__name__)


def charts_of(found: Calibration) -> tuple[str, str]:
    """SVG for a desktop and for a phone; empty if drawing fails, since the table has all numbers."""
    described = {
        "name": f"calibration-{found.question}",
        "bins": [[each.items, each.probability, each.agreed] for each in found.bins],
        "across": _("probability of the machine, %"),
        "up": _("people agree, %"),
    }
    try:
        wide, narrow = json.loads(run_module("turnwise.charts.calibration", [], described))
    except SubprocessError as error:
        log.warning("The calibration chart could not be drawn: %s", error)
        return "", ""
    return wide, narrow
