"""How far workers who labelled the same agree. Pure."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from evaluation.agreement import fleiss_kappa, percent_pooled
from evaluation.interval import Undefined
from evaluation.kappa import median_kappa, pairwise_kappas
from evaluation.labels import FloatArray
from evaluation.metric import Metric, metric_of
from evaluation.questions import Kind, Question, has_choice
from evaluation.ratings import Ratings
from evaluation.reliability import beside_alpha
from evaluation.report.intervals import TERMS, Terms, alpha_cell
from evaluation.report.judged import Judged

LOW = 0.4
"""Kappa below which a figure is marked: the paper of Topical-Chat withheld what had .29 and .27."""
MOST_FOR_COHEN = 20
"""Raters of whom every two are compared."""
_ALONE = "Nothing was labelled by two or more workers, so their agreement cannot be told."


def agreement(questions: Sequence[Question], judged: Judged, terms: Terms = TERMS) -> list[dict[str, Any]]:
    """For each question the share of agreeing pairs in percent, and Krippendorff's alpha.

    Beside them stand Fleiss' kappa, Gwet's AC1 of what has no order, the intraclass correlation of scales
    where everybody answered about everything, and Cohen's kappa of every two workers if they are few.

    The distance between answers is that of the question's level of measurement. Where several choices may be
    given, each choice has an agreement of its own, on whether it was given. Free text has none.
    """
    return [
        {"question": question.wording, "key": question.key, **what}
        | _of(values, metric, scale, judged, terms)
        for question in questions
        for what, values, metric, scale in _ratings(question, judged)
    ]


def _ratings(
    question: Question, judged: Judged
) -> Iterator[tuple[dict[str, str], FloatArray, Metric, range | None]]:
    """What is agreed on: the choice if there are several, the ratings, their distance, and all categories.

    The categories are None of what has an order.
    """
    codes = judged.answers[question.key]
    if question.kind is Kind.SEVERAL:
        for choice in question.choices:
            chosen = has_choice(question, codes, choice.value)
            yield {"choice": choice.label}, chosen, Metric.NOMINAL, range(2)
    elif question.level is not None:
        metric = metric_of(question.level)
        yield {}, codes, metric, range(len(question.choices)) if metric is Metric.NOMINAL else None


def _cohen(ratings: Ratings, judged: Judged) -> dict[str, Any] | None:
    """Cohen's kappa of every two raters, and the median; None if they are many, or none is known."""
    names = [judged.raters[code] for code in np.unique(judged.rater_code)]
    if len(names) > MOST_FOR_COHEN:
        return None
    pairs = pairwise_kappas(ratings)
    median = median_kappa(pairs)
    each = [
        {"first": names[met.first], "second": names[met.second], "units": met.units, "value": met.kappa.value}
        for met in pairs
        if not isinstance(met.kappa, Undefined)
    ]
    return None if isinstance(median, Undefined) else {"value": median, "each": each}


def _beside_alpha(
    values: FloatArray, answered: Judged, metric: Metric, scale: range | None
) -> dict[str, float]:
    """What can be told of `beside_alpha`, of all who answered; an answer that nobody gave is one, too."""
    ratings = Ratings.from_columns(answered.reply_code, answered.rater_code, values, scale=scale)
    found = beside_alpha(ratings, metric)
    return {key: value for key, value in found.items() if not isinstance(value, Undefined)}


def _of(
    values: FloatArray, metric: Metric, scale: range | None, judged: Judged, terms: Terms
) -> dict[str, Any]:
    known = ~np.isnan(values)
    answered, values = judged.where(known), values[known]
    shared = answered.shared
    beside = _beside_alpha(values, answered, metric, scale) if shared.any() else {}
    several, values = answered.where(shared), values[shared]
    found: dict[str, Any] = {"metric": metric.value, "replies": several.replies, "labels": len(several)}
    if not several.replies:
        return found | {"undefined": _ALONE}
    ratings = Ratings.from_columns(several.reply_code, several.rater_code, values)
    percent = percent_pooled(ratings)
    fleiss = fleiss_kappa(ratings)
    if not isinstance(fleiss, Undefined):
        found["fleiss"] = fleiss
        found["is_low"] = fleiss < LOW
    if cohen := _cohen(ratings, several):
        found["cohen"] = cohen
    found |= beside
    found["percent"] = None if isinstance(percent, Undefined) else 100 * percent
    dialogues = several.dialogue[np.unique(several.reply_code, return_index=True)[1]]
    return found | alpha_cell(ratings, metric, dialogues, terms)
