"""What single workers do to the scores of a study. Pure.

How far workers who labelled the same agree. Pure.
"""

from collections.abc import Iterator, Sequence
from datetime import date
from typing import Any

import numpy as np

from evaluation.questions import Kind, Question, QuestionSet, Score, has_choice, score_values
from evaluation.rater_agreement.coefficients import fleiss_kappa, percent_pooled
from evaluation.rater_agreement.kappa import median_kappa, pairwise_kappas
from evaluation.rater_agreement.ratings import Metric, Ratings, metric_of
from evaluation.rater_agreement.reliability import further_coefficients
from evaluation.report.intervals import TERMS, Terms, alpha_cell
from evaluation.report.label_columns import Judged
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import FloatArray

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


def _further_coefficients(
    values: FloatArray, answered: Judged, metric: Metric, scale: range | None
) -> dict[str, float]:
    """What can be told of `further_coefficients`, of all who answered; an answer that nobody gave is one, too."""
    ratings = Ratings.from_columns(answered.reply_code, answered.rater_code, values, scale=scale)
    found = further_coefficients(ratings, metric)
    return {key: value for key, value in found.items() if not isinstance(value, Undefined)}


def _of(
    values: FloatArray, metric: Metric, scale: range | None, judged: Judged, terms: Terms
) -> dict[str, Any]:
    known = ~np.isnan(values)
    answered, values = judged.where(known), values[known]
    shared = answered.shared
    beside = _further_coefficients(values, answered, metric, scale) if shared.any() else {}
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


# A reader looks for the workers who matter most; the rest move the score by less than the last of these.
SHOWN = 10
_EPOCH = date(1970, 1, 1).toordinal()


def rater_figures(questions: QuestionSet, judged: Judged) -> dict[str, Any]:
    """How the labels are spread over workers, and whose absence would move a bot's main score most.

    Args:
        questions: what was asked; its main score is looked at.
        judged: the labels.

    Returns:
        As stored: numbers of labels by worker, and differences in points of the scale, shares in percent; of
        labels that were given here `first_day` and `last_day`, and how many are `undated` beside them.
    """
    counts = list(judged.labels_of_raters.values())
    known: dict[str, Any] = {"workers": len(counts), "labels": len(judged), "influence": [], "alone": []}
    if not counts:
        return known
    known |= {"median_labels": float(np.median(counts)), "most_labels": max(counts), **_days(judged)}
    if questions.main_score is None:
        return known
    return known | {"score": questions.main_score.title} | _influence(questions, questions.main_score, judged)


def _days(judged: Judged) -> dict[str, Any]:
    """On which days of UTC the first and the last label were given; nothing if all came with files."""
    if judged.day is None or np.isnan(judged.day).all():
        return {}
    first, last = (_iso(day) for day in (np.nanmin(judged.day), np.nanmax(judged.day)))
    return {"first_day": first, "last_day": last, "undated": int(np.isnan(judged.day).sum())}


def _iso(day: float) -> str:
    return date.fromordinal(_EPOCH + int(day)).isoformat()


def _influence(questions: QuestionSet, score: Score, judged: Judged) -> dict[str, Any]:
    """Leave one worker out: what a bot's mean is without their labels, and how far they move it."""
    values = score_values(questions, score, judged.answers)
    known = ~np.isnan(values)
    bot, values = judged.bot_code[known], score.factor * values[known]
    pairs, pair = np.unique(judged.rater_code[known] * len(judged.bots) + bot, return_inverse=True)
    rater_of, bot_of = np.divmod(pairs, len(judged.bots))
    own = _sums(pair, values, len(pairs))
    everything = _sums(bot, values, len(judged.bots))[bot_of]
    total, left = (everything - own).T
    without = np.divide(total, left, out=np.full(len(left), np.nan), where=left > 0)
    shift = everything[:, 0] / everything[:, 1] - without
    order = [row for row in np.argsort(-np.abs(shift), kind="stable").tolist() if not np.isnan(shift[row])]
    raters, bots = judged.raters, judged.bots
    names = [(raters[rater], bots[of]) for rater, of in zip(rater_of.tolist(), bot_of.tolist(), strict=True)]
    return {
        "influence": [
            {
                "worker": names[row][0],
                "bot": names[row][1],
                "labels": int(own[row, 1]),
                "without": float(without[row]),
                "shift": float(shift[row]),
            }
            for row in order[:SHOWN]
        ],
        "alone": [
            f"{names[row][0]} gave all labels of {names[row][1]}." for row in np.flatnonzero(np.isnan(shift))
        ],
    }


def _sums(group: np.ndarray[Any, np.dtype[np.int64]], values: FloatArray, groups: int) -> FloatArray:
    """(groups, 2) sum and number of the values of each group."""
    return np.column_stack([np.bincount(group, values, groups), np.bincount(group, minlength=groups)])
