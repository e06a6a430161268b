"""A study's stopping rule: the interval of each comparison, and whether the study is decided. Pure."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from evaluation.planning.stopping import Outcome, decision, repeated_interval, share_needed
from evaluation.questions import QuestionSet, Score, bounds, score_values
from evaluation.report.intervals import of_bots
from evaluation.report.label_columns import Judged
from evaluation.statistics.differences import Difference, differences
from evaluation.statistics.interval import Undefined

Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class StoppingRule:
    """A stopping rule, declared before a study opens.

    Attributes:
        systems: names of the compared systems; every two of them are compared.
        score: key of a score of the first question set.
        margin: smallest difference that matters, as shown.
        equivalence: true if the rule also stops when no difference that matters is left.
        planned: planned number of conversations with each system.
        largest: largest number of conversations with each system.
        first_look: number of conversations with each system before which the rule does not decide.
        stopped: figures with which the rule closed the study, as stored; None: it did not.
        reopened: true if the study was opened again after that.
    """

    systems: Sequence[str]
    score: str
    margin: float
    equivalence: bool
    planned: int
    largest: int
    first_look: int
    stopped: Mapping[str, Any] | None = None
    reopened: bool = False

    @classmethod
    def from_json(cls, stored: Mapping[str, Any]) -> "StoppingRule":
        """Read a rule as a bundle stores it: its attributes by name."""
        return cls(**{name: stored[name] for name in cls.__slots__})

    def to_json(self) -> Row:
        """Convert the rule to JSON, by attribute."""
        return {name: getattr(self, name) for name in self.__slots__} | {"systems": list(self.systems)}


def stopping_figures(rule: StoppingRule, questions: QuestionSet, judged: Judged, level: float) -> Row:
    """Compute the interval of each comparison of a rule, and whether the study is decided.

    Args:
        rule: the rule.
        questions: the question set of the first ask.
        judged: the labels of the primary analysis.
        level: probability that all intervals hold at all moments; for several pairs by Bonferroni.

    Returns:
        The rule; `pairs`, for each comparison its `difference`, `low` and `high` as shown, or `undefined`
        with the reason, its `outcome`, the `conversations` with the system that has fewer, and `needed`, the
        number with which it would be decided if the difference stays (None: more than the largest number);
        `conversations`, the fewest of all pairs; `decided` and `exhausted`.

    Raises:
        ValueError: the question set has no such score.
    """
    score = next((each for each in questions.scores if each.key == rule.score), None)
    if score is None:
        known = ", ".join(each.key for each in questions.scores)
        raise ValueError(f"The stopping rule is about the score “{rule.score}”; there are: {known}.")
    of_pair = 1 - (1 - level) / math.comb(len(rule.systems), 2)
    found = _differences_by_pair(rule, questions, score, judged, of_pair)
    pairs = [_pair_row(rule, score, pair, found.get(frozenset(pair)), of_pair) for pair in _pairs(rule)]
    conversations = min(row["conversations"] for row in pairs)
    is_decided = all(row["outcome"] != Outcome.UNDECIDED for row in pairs)
    return {
        **{name: value for name, value in rule.to_json().items() if name != "score"},
        "score": score.title,
        "percent": score.is_percent,
        "level": level,
        "level_of_pair": of_pair,
        "pairs": pairs,
        "conversations": conversations,
        "decided": is_decided and conversations >= rule.first_look,
        "exhausted": conversations >= rule.largest,
    }


def _pairs(rule: StoppingRule) -> list[tuple[str, str]]:
    return list(combinations(sorted(rule.systems), 2))


def _differences_by_pair(
    rule: StoppingRule, questions: QuestionSet, score: Score, judged: Judged, level: float
) -> dict[frozenset[str], Difference]:
    low, high = bounds(questions, score)
    samples = of_bots(judged, score_values(questions, score, judged.answers))
    compared = {name: sample for name, sample in samples.items() if name in rule.systems}
    pairs = differences(compared, low=low, high=high, level=level)  # type: ignore[arg-type]
    return {frozenset((str(each.first), str(each.second))): each for each in pairs}


def _pair_row(
    rule: StoppingRule, score: Score, pair: tuple[str, str], found: Difference | None, level: float
) -> Row:
    row: Row = {"first": pair[0], "second": pair[1], "outcome": Outcome.UNDECIDED.value, "needed": None}
    if found is None:
        return row | {"conversations": 0, "undefined": "One of the bots has no finished conversation yet."}
    sign = 1 if found.first == pair[0] else -1
    conversations = min(found.clusters[:2])
    share = conversations / rule.largest
    row |= {"conversations": conversations, "difference": sign * score.factor * found.difference}
    interval = repeated_interval(found, share, level)
    if isinstance(interval, Undefined) or isinstance(found.error, Undefined):
        return row | {"undefined": str(getattr(interval, "reason", ""))}
    low, high = sorted(sign * score.factor * end for end in (interval.low, interval.high))
    margin = rule.margin / score.factor
    outcome = decision(interval, margin, equivalence=rule.equivalence)
    row |= {"low": low, "high": high, "outcome": outcome.value}
    if outcome is not Outcome.UNDECIDED:
        return row
    apart = abs(found.difference)
    needed = [share_needed(apart, found.error, share, level)]
    if rule.equivalence:
        needed.append(share_needed(margin - apart, found.error, share, level))
    smallest = min(needed)
    return row | {"needed": math.ceil(smallest * rule.largest) if smallest <= 1 else None}
