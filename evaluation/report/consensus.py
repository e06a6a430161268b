"""How far workers who labelled the same agree. Pure."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from evaluation.agreement import fleiss_kappa, percent_pooled
from evaluation.interval import Undefined
from evaluation.labels import FloatArray
from evaluation.metric import Metric, metric_of
from evaluation.questions import Kind, Question, has_choice
from evaluation.ratings import Ratings
from evaluation.report.intervals import TERMS, Terms, alpha_cell
from evaluation.report.judged import Judged


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
    if metric is Metric.NOMINAL and not isinstance(fleiss, Undefined):
        found["fleiss"] = fleiss
    found["percent"] = None if isinstance(percent, Undefined) else 100 * percent
    dialogues = several.dialogue[np.unique(several.reply_code, return_index=True)[1]]
    return found | alpha_cell(ratings, metric, dialogues, terms)
