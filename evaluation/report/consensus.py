"""How far workers who labelled the same agree. Pure."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from evaluation.agreement import fleiss_kappa, percent_pooled
from evaluation.interval import Undefined
from evaluation.kappa import pairwise_kappas
from evaluation.labels import FloatArray
from evaluation.metric import Metric, metric_of
from evaluation.questions import Kind, Question, has_choice
from evaluation.ratings import Ratings
from evaluation.report.intervals import TERMS, Terms, alpha_cell
from evaluation.report.judged import Judged

LOW = 0.4
"""Kappa below which a figure is marked: the paper of Topical-Chat withheld what had .29 and .27."""
MOST_FOR_COHEN = 20
"""Raters of whom every two are compared."""


def agreement(questions: Sequence[Question], judged: Judged, terms: Terms = TERMS) -> list[dict[str, Any]]:
    """For each question the share of agreeing pairs in percent, and Krippendorff's alpha.

    The distance between answers is that of the question's level of measurement. Where several choices may be
    given, each choice has an agreement of its own, on whether it was given. Free text has none.
    """
    return [
        {"question": question.wording, "key": question.key, **what, **_of(values, metric, judged, terms)}
        for question in questions
        for what, values, metric in _ratings(question, judged)
    ]


def _ratings(question: Question, judged: Judged) -> Iterator[tuple[dict[str, str], FloatArray, Metric]]:
    """What is agreed on: the choice if there are several, the ratings, and their distance."""
    codes = judged.answers[question.key]
    if question.kind is Kind.SEVERAL:
        for choice in question.choices:
            yield {"choice": choice.label}, has_choice(question, codes, choice.value), Metric.NOMINAL
    elif question.level is not None:
        yield {}, codes, metric_of(question.level)


def _cohen(ratings: Ratings, judged: Judged) -> dict[str, Any] | None:
    """The median over every two raters of their Cohen's kappa; None if they are many, or none is known."""
    if len(judged.raters) > MOST_FOR_COHEN:
        return None
    met = pairwise_kappas(ratings)
    known = [each.kappa.value for each in met if not isinstance(each.kappa, Undefined)]
    return {"value": float(np.median(known)), "pairs": len(known)} if known else None


def _of(values: FloatArray, metric: Metric, judged: Judged, terms: Terms) -> dict[str, Any]:
    known = ~np.isnan(values)
    answered, values = judged.where(known), values[known]
    shared = answered.shared
    several, values = answered.where(shared), values[shared]
    found: dict[str, Any] = {"metric": metric.value, "replies": several.replies, "labels": len(several)}
    if not several.replies:
        return found | {"undefined": "No two workers labelled the same, so their agreement cannot be told."}
    ratings = Ratings.from_columns(several.reply_code, several.rater_code, values)
    percent = percent_pooled(ratings)
    fleiss = fleiss_kappa(ratings)
    if not isinstance(fleiss, Undefined):
        found["fleiss"] = fleiss
        found["is_low"] = fleiss < LOW
    if cohen := _cohen(ratings, several):
        found["cohen"] = cohen
    found["percent"] = None if isinstance(percent, Undefined) else 100 * percent
    dialogues = several.dialogue[np.unique(several.reply_code, return_index=True)[1]]
    return found | alpha_cell(ratings, metric, dialogues, terms)
