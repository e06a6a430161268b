"""Effects of between-subject factors on each score, with the chatbot as a further factor. Pure."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from math import isnan
from typing import Any

import numpy as np

from evaluation.files.writing import figure, p_equals, percent, signed
from evaluation.questions import QuestionSet, Score, bounds, score_values
from evaluation.report.intervals import Terms
from evaluation.report.label_columns import Judged
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import AnyArray
from evaluation.statistics.linear_models.factorial import Factorial, LevelDifference, factorial

CHATBOT = "chatbot"
"""Name of the factor whose levels are the chatbots."""


@dataclass(frozen=True, slots=True)
class Conditions:
    """Factors of a study, and the condition of each participant.

    Attributes:
        levels: by factor, its levels, both in the order in which the study declares them.
        of: by pseudonym of a participant, the level of each factor.
    """

    levels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    of: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @classmethod
    def declared(
        cls, factors: Sequence[Mapping[str, Any]], of: Mapping[str, Mapping[str, str]]
    ) -> "Conditions":
        """Take the factors as the study's protocol declares them."""
        return cls({factor["name"]: [level["name"] for level in factor["levels"]] for factor in factors}, of)


def condition_figures(
    questions: QuestionSet, judged: Judged, conditions: Conditions, terms: Terms
) -> dict[str, Any] | None:
    """Analyse each score by the study's factors; None without factors, or without labels of their levels.

    The chatbot is a further factor if every combination with it has enough participants.

    Args:
        questions: the question set.
        judged: the labels that count.
        conditions: the study's factors.
        terms: level of the intervals.

    Returns:
        `factors`, with the number of `participants` whose labels count in each level; `scores`, for each
        score either `undefined` with the reason, or its analysis: `factors` that it has, `words`, `means`,
        `differences`, `interactions` and `effects`; shares in percent.
    """
    rows = judged.where(judged.by([rater for rater, levels in conditions.of.items() if levels]))
    if not conditions.levels or not len(rows):
        return None
    columns = {
        name: np.array([conditions.of[rater].get(name, "") for rater in rows.rater.tolist()], dtype=object)
        for name in conditions.levels
    }
    counts = {
        name: [len(set(rows.rater[column == level].tolist())) for level in conditions.levels[name]]
        for name, column in columns.items()
    }
    return {
        "factors": [
            {
                "name": name,
                "levels": [
                    {"name": level, "participants": number}
                    for level, number in zip(levels, counts[name], strict=True)
                ],
            }
            for name, levels in conditions.levels.items()
        ],
        "scores": [
            {"key": score.key, "title": score.title, **_of_score(questions, score, rows, columns, terms)}
            for score in questions.scores
        ],
    }


def _of_score(
    questions: QuestionSet, score: Score, judged: Judged, columns: Mapping[str, AnyArray], terms: Terms
) -> dict[str, Any]:
    values = score.factor * score_values(questions, score, judged.answers)
    found: Factorial | Undefined = Undefined("")
    if len(judged.bots) > 1:
        found = factorial(values, {**columns, CHATBOT: judged.bot}, judged.rater, terms.level)
    if isinstance(found, Undefined):
        found = factorial(values, columns, judged.rater, terms.level)
    if isinstance(found, Undefined):
        return {"undefined": found.reason}
    low, high = (score.factor * end for end in bounds(questions, score))
    return {
        "factors": list(dict.fromkeys(mean.factor for mean in found.means)),
        "participants": found.participants,
        "words": list(_words(score.title, found, terms)),
        "means": [
            {
                "factor": each.factor,
                "level": each.level,
                "participants": each.participants,
                "value": _exact(each.value),
                "low": _exact(max(low, each.interval.low)),
                "high": _exact(min(high, each.interval.high)),
            }
            for each in found.means
        ],
        "differences": [
            {"factor": each.factor, "first": each.first, "second": each.second, **_tested(each)}
            for each in found.differences
        ],
        "interactions": [
            {"factors": each.factors, "first": each.first, "second": each.second, **_tested(each)}
            for each in found.interactions
        ],
        "effects": [
            {
                "factors": each.factors,
                "freedom": each.freedom,
                "error_freedom": _exact(each.error_freedom),
                "f": None if isnan(each.f) else _exact(each.f),
                "p": _known(each.p),
                "p_holm": _known(each.p_holm),
            }
            for each in found.effects
        ],
    }


def _tested(each: Any) -> dict[str, float | None]:
    return {
        "value": _exact(each.value),
        "low": _exact(each.interval.low),
        "high": _exact(each.interval.high),
        "p": _known(each.p),
        "p_holm": _known(each.p_holm),
    }


_NOISE = 1e-9
"""Estimates and F below this are 0: the rest of a difference of equal numbers differs between processors."""


def _exact(number: float) -> float:
    """Round to nine digits; further digits of least squares differ between processors."""
    return 0.0 if abs(number) < _NOISE else _rounded(number)


def _rounded(number: float) -> float:
    return float(f"{number:.9g}")


def _known(number: float) -> float | None:
    return None if isnan(number) else _rounded(number)


def _words(title: str, found: Factorial, terms: Terms) -> Iterator[str]:
    """A sentence for each two levels, each interaction of two factors that is clear, and all other ones.

    A difference is clear if both it and the effect of its factor are, so that the sentences hold together.
    """
    limit, effects = 1 - terms.level, {each.factors: each.p_holm for each in found.effects}
    for difference in found.differences:
        yield _difference(title, difference, max(difference.p_holm, effects[difference.factor,]), limit)
    crossed = {factors: p for factors, p in effects.items() if len(factors) == 2}
    for (one, other), p in crossed.items():
        if p < limit:
            yield f"The effect of {one} depends on {other} ({p_equals(_known(p))})."
    if unclear := [
        f"{one} and {other} ({p_equals(_known(p))})" for (one, other), p in crossed.items() if not p < limit
    ]:
        yield f"There is no clear sign that effects depend on each other: {', '.join(unclear)}."


def _difference(title: str, each: LevelDifference, p: float, limit: float) -> str:
    first, second, value, interval, is_clear = each.first, each.second, each.value, each.interval, p < limit
    if is_clear and value < 0:
        first, second, value = second, first, -value
        interval = Interval(-interval.high, -interval.low, interval.level, interval.method)
    ends = (
        f"{percent(interval.level)} interval {signed(interval.low)} to {signed(interval.high)}; "
        f"{p_equals(_known(p))}"
    )
    if is_clear:
        by = f"by {figure(value)} points ({ends})."
        return f"{title} is higher with {each.factor} {first} than with {second}, {by}"
    between = f"{each.factor} {first} and {second}"
    return f"{title} does not differ clearly between {between}: {signed(value)} points ({ends})."
