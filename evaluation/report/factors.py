"""Effects of factors: facets of bots (means, analysis of variance), rater scale, biases in pairs. Pure."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from evaluation.questions import QuestionSet, Score, score_values
from evaluation.report.intervals import Terms, of_bots, score_cells
from evaluation.report.label_columns import Judged
from evaluation.statistics.inference import Estimate, Sample, mean
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import AnyArray, BoolArray, FloatArray, IntArray, coded
from evaluation.statistics.linear_models.anova import FEWEST, Anova, Squares, anova, normalised

Facets = Mapping[str, Mapping[str, str]]
"""By name of a bot in the report, its level of each facet."""


def normalised_figures(questions: QuestionSet, judged: Judged, terms: Terms) -> dict[str, Any] | None:
    """Compute each bot's scores in standard deviations of the raters; None if scores are shares of yes.

    Args:
        questions: the question set.
        judged: the labels that count.
        terms: level of the intervals.
    """
    if not questions.scores or any(score.is_percent for score in questions.scores):
        return None
    columns = [_in_deviations(questions, score, judged) for score in questions.scores]
    defined = ~np.isnan(columns[0])
    by_bot = [_means(of_bots(judged, values), terms) for values in columns]
    return {
        "fewest": FEWEST,
        "raters": len(set(judged.rater[defined].tolist())),
        "of": len(judged.raters),
        "ratings": int(defined.sum()),
        "bots": [
            {"bot": bot, "cells": [cells.get(bot, {"value": None}) for cells in by_bot]}
            for bot in judged.bots
        ],
    }


def facet_figures(
    questions: QuestionSet, judged: Judged, facets: Facets, terms: Terms
) -> dict[str, Any] | None:
    """Compute means by level of every facet, and the analysis of variance; None if no bot has a facet.

    Args:
        questions: the question set.
        judged: the labels that count.
        facets: facets of the study's bots.
        terms: level of the intervals.

    Returns:
        `names` of the facets; `left_out`, bots that lack a facet; `scores`, for each score the means by level
        and the variance table, as rated and normalised by rater.
    """
    names = sorted({name for levels in facets.values() for name in levels})
    if not names:
        return None
    lacking = [bot for bot in judged.bots if set(names) - set(facets.get(bot, {}))]
    rated = judged.where(~np.isin(judged.bot, lacking))
    levels = {
        name: np.array([facets[bot][name] for bot in rated.bot.tolist()], dtype=object) for name in names
    }
    return {
        "names": names,
        "left_out": lacking,
        "scores": [_of_score(questions, score, rated, levels, terms) for score in questions.scores],
    }


def _of_score(
    questions: QuestionSet, score: Score, judged: Judged, levels: Mapping[str, AnyArray], terms: Terms
) -> dict[str, Any]:
    values = score.factor * score_values(questions, score, judged.answers)
    figures: dict[str, Any] = {
        "key": score.key,
        "title": score.title,
        "means": [
            {"facet": name, "level": level, "cell": cell}
            for name, column in levels.items()
            for level, cell in _of_levels(questions, score, judged, column, terms)
        ],
        "anova": _table(values, judged, levels),
    }
    if not score.is_percent:
        in_deviations = _in_deviations(questions, score, judged)
        figures["normalised"] = {
            "means": [
                {"facet": name, "level": level, "cell": cell}
                for name, column in levels.items()
                for level, cell in _means(of_bots(replace(judged, bot=column), in_deviations), terms).items()
            ],
            "anova": _table(in_deviations, judged, levels),
        }
    return figures


def _of_levels(
    questions: QuestionSet, score: Score, judged: Judged, column: AnyArray, terms: Terms
) -> list[tuple[str, dict[str, Any]]]:
    """Mean of each level, over all its bots together."""
    return list(score_cells(questions, score, replace(judged, bot=column), terms).items())


def _in_deviations(questions: QuestionSet, score: Score, judged: Judged) -> FloatArray:
    return normalised(score_values(questions, score, judged.answers), judged.rater)


def _means(samples: Mapping[str, Sample], terms: Terms) -> dict[str, dict[str, Any]]:
    """Means with intervals, for numbers without limits."""
    return {name: _cell(mean(s, low=None, high=None, level=terms.level)) for name, s in samples.items()}


def _cell(estimate: Estimate | Undefined) -> dict[str, Any]:
    if isinstance(estimate, Undefined):
        return {"value": None, "undefined": estimate.reason}
    if isinstance(estimate.interval, Undefined):
        return {"value": estimate.value, "undefined": estimate.interval.reason}
    return {"value": estimate.value, "low": estimate.interval.low, "high": estimate.interval.high}


# --- analysis of variance ----------------------------------------------------------------------------


def _table(values: FloatArray, judged: Judged, levels: Mapping[str, AnyArray]) -> dict[str, Any]:
    """Variance table over conversations, each with its mean value."""
    defined = ~np.isnan(values)
    of = coded(judged.dialogue[defined])[1] if defined.any() else np.empty(0, np.int64)
    _, bot = coded(judged.bot[defined]) if defined.any() else (None, of)
    cell = of * (int(bot.max(initial=0)) + 1) + bot
    _, first, unit, counts = np.unique(cell, return_index=True, return_inverse=True, return_counts=True)
    means = np.bincount(unit, values[defined], len(first)) / counts if len(first) else np.empty(0)
    result = anova(means, {name: column[defined][first] for name, column in levels.items()})
    if isinstance(result, Undefined):
        return {"undefined": result.reason}
    return _stored(result)


def _stored(result: Anova) -> dict[str, Any]:
    return {
        "terms": [
            {
                "name": " × ".join(term.factors),  # noqa: RUF001  # as tables of variance have it
                "freedom": term.freedom,
                "second": _squares(term.second),
                "third": _squares(term.third),
            }
            for term in result.terms
        ],
        "error": _exact(result.error),
        "error_freedom": result.error_freedom,
        "scores": result.scores,
    }


def _squares(squares: Squares) -> dict[str, float]:
    return {"sum": _exact(squares.sum), "f": _exact(squares.f), "p": _exact(squares.p)}


def _exact(number: float) -> float:
    """Round to nine digits; further digits of least squares differ between processors."""
    return float(f"{number:.9g}")


def leanings(
    judged: Judged, outcome: IntArray, swapped: BoolArray, words: IntArray | None, terms: Terms
) -> list[dict[str, Any]]:
    """Compute how often the side shown first, and the longer side, was preferred; ties do not count.

    Without bias either is preferred in 50 % of the judgments.

    Args:
        judged: the judgments.
        outcome: (n,) 0 if the system named first is preferred, 1 if the second is, 2 for a tie.
        swapped: (n,) true if the rater saw the second system first.
        words: (n, 2) number of words of each system's side; None if unknown.
        terms: level and nouns of the interval, which is over contexts or conversations and raters.

    Returns:
        For `shown_first` and `longer`: `value` in percent with `low` and `high`, or `undefined` with the
        reason; `labels`, the number of judgments; `is_beyond_chance`, true if 50 % is outside the interval.
    """
    named = outcome < 2
    outcomes = {"shown_first": (named, outcome == swapped)}
    if words is not None:
        first, second = words.T
        outcomes["longer"] = (named & (first != second), outcome == (second > first))
    codes, raters = coded(judged.dialogue)[1], judged.rater_code
    return [
        {"to": what} | _share(Sample(preferred[rows].astype(np.float64), codes[rows], raters[rows]), terms)
        for what, (rows, preferred) in outcomes.items()
    ]


def _share(sample: Sample, terms: Terms) -> dict[str, Any]:
    estimate = mean(sample, level=terms.level, nouns=terms.nouns)
    cell: dict[str, Any] = {"labels": len(sample), "is_beyond_chance": False}
    if isinstance(estimate, Undefined):
        return cell | {"value": None, "undefined": estimate.reason}
    cell["value"] = 100 * estimate.value
    if isinstance(estimate.interval, Undefined):
        return cell | {"undefined": estimate.interval.reason}
    ends = estimate.interval.scaled(100)
    beyond = not ends.low <= 50 <= ends.high
    return cell | {"low": ends.low, "high": ends.high, "is_beyond_chance": beyond}
