"""How far workers who labelled the same replies agree. Pure."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

from evaluation.agreement import alpha_interval, krippendorff_alpha, metric_of, percent_pooled
from evaluation.interval import Interval, Undefined
from evaluation.questions import Question
from evaluation.ratings import Ratings
from evaluation.report.judged import Judged


def agreement(questions: Sequence[Question], judged: Judged, rng: Generator) -> list[dict[str, Any]]:
    """For each question the share of agreeing pairs in percent, and Krippendorff's alpha."""
    return [_of_question(question, judged, rng) for question in questions]


def _of_question(question: Question, judged: Judged, rng: Generator) -> dict[str, Any]:
    known = ~np.isnan(judged.answers[question.key])
    answered = judged if known.all() else judged.where(known)
    several = answered.where(answered.shared)
    found: dict[str, Any] = {"question": question.wording, "replies": several.replies, "labels": len(several)}
    if not several.replies:
        return found | {"undefined": "No two workers labelled the same, so their agreement cannot be told."}
    ratings = Ratings.from_columns(several.reply_code, several.rater, several.answers[question.key])
    metric = metric_of(question.level)
    percent, alpha = percent_pooled(ratings), krippendorff_alpha(ratings, metric)
    found["percent"] = None if isinstance(percent, Undefined) else 100 * percent
    if isinstance(alpha, Undefined):
        return found | {"undefined": alpha.reason}
    dialogues = several.dialogue[np.unique(several.reply_code, return_index=True)[1]]
    return found | {"alpha": alpha} | _stored(alpha_interval(ratings, rng, metric, clusters=dialogues))


def _stored(interval: Interval | Undefined) -> dict[str, Any]:
    if isinstance(interval, Undefined):
        return {"no_interval": interval.reason}
    return {"low": interval.low, "high": interval.high}
