"""Agreement of workers who labelled the same replies, and the influence of single workers on scores. Pure."""

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
from evaluation.statistics.labels import FloatArray, IntArray

LOW = 0.4
"""Kappa below which a figure is marked as low; the paper of Topical-Chat withheld results of .29 and .27."""
MOST_FOR_COHEN = 20
"""Most raters for Cohen's kappa of every two."""
_ALONE = "Nothing was labelled by two or more workers, so their agreement cannot be told."


def agreement(questions: Sequence[Question], judged: Judged, terms: Terms = TERMS) -> list[dict[str, Any]]:
    """Compute for each question the share of agreeing pairs in percent, and Krippendorff's alpha.

    Further coefficients are Fleiss' kappa, Gwet's AC1 for answers without order, the intraclass correlation
    for scales if everybody answered about everything, and Cohen's kappa of every two workers if they are few.

    The distance between answers is that of the question's level of measurement. For a question with several
    choices, each choice has its agreement on whether it was chosen. Free text has none.
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
    """Yield the ratings of a question: the choice if there are several, values, distance, and categories.

    The categories are None for ordered answers.
    """
    codes = judged.answers[question.key]
    if question.kind is Kind.SEVERAL:
        for choice in question.choices:
            is_chosen = has_choice(question, codes, choice.value)
            yield {"choice": choice.label}, is_chosen, Metric.NOMINAL, range(2)
    elif question.level is not None:
        metric = metric_of(question.level)
        yield {}, codes, metric, range(len(question.choices)) if metric is Metric.NOMINAL else None


def _cohen(ratings: Ratings, judged: Judged) -> dict[str, Any] | None:
    """Cohen's kappa of every two raters, and the median; None for many raters or without any kappa."""
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
    """Defined values of `further_coefficients`; `scale` includes categories that nobody chose."""
    ratings = Ratings.from_columns(answered.reply_code, answered.rater_code, values, scale=scale)
    coefficients = further_coefficients(ratings, metric)
    return {key: value for key, value in coefficients.items() if not isinstance(value, Undefined)}


def _of(
    values: FloatArray, metric: Metric, scale: range | None, judged: Judged, terms: Terms
) -> dict[str, Any]:
    defined = ~np.isnan(values)
    answered, values = judged.where(defined), values[defined]
    shared = answered.shared
    coefficients = _further_coefficients(values, answered, metric, scale) if shared.any() else {}
    several, values = answered.where(shared), values[shared]
    figures: dict[str, Any] = {"metric": metric.value, "replies": several.replies, "labels": len(several)}
    if not several.replies:
        return figures | {"undefined": _ALONE}
    ratings = Ratings.from_columns(several.reply_code, several.rater_code, values)
    percent = percent_pooled(ratings)
    fleiss = fleiss_kappa(ratings)
    if not isinstance(fleiss, Undefined):
        figures["fleiss"] = fleiss
        figures["is_low"] = fleiss < LOW
    if cohen := _cohen(ratings, several):
        figures["cohen"] = cohen
    figures |= coefficients
    figures["percent"] = None if isinstance(percent, Undefined) else 100 * percent
    dialogues = several.dialogue[np.unique(several.reply_code, return_index=True)[1]]
    return figures | alpha_cell(ratings, metric, dialogues, terms)


# Number of the most influential workers to show.
SHOWN = 10
_EPOCH = date(1970, 1, 1).toordinal()


def rater_figures(questions: QuestionSet, judged: Judged) -> dict[str, Any]:
    """Compute the distribution of labels over workers, and the workers with most influence on the main score.

    Args:
        questions: the question set with the main score.
        judged: the labels.

    Returns:
        As stored: numbers of labels by worker, and shifts in points of the scale, shares in percent; for
        dated labels `first_day` and `last_day`, and the number of `undated` labels.
    """
    counts = list(judged.labels_of_raters.values())
    figures: dict[str, Any] = {"workers": len(counts), "labels": len(judged), "influence": [], "alone": []}
    if not counts:
        return figures
    figures |= {"median_labels": float(np.median(counts)), "most_labels": max(counts), **_days(judged)}
    if questions.main_score is None:
        return figures
    return (
        figures | {"score": questions.main_score.title} | _influence(questions, questions.main_score, judged)
    )


def _days(judged: Judged) -> dict[str, Any]:
    """UTC days of the first and the last label; empty if all labels came with files."""
    if judged.day is None or np.isnan(judged.day).all():
        return {}
    first, last = (_iso(day) for day in (np.nanmin(judged.day), np.nanmax(judged.day)))
    return {"first_day": first, "last_day": last, "undated": int(np.isnan(judged.day).sum())}


def _iso(day: float) -> str:
    return date.fromordinal(_EPOCH + int(day)).isoformat()


def _influence(questions: QuestionSet, score: Score, judged: Judged) -> dict[str, Any]:
    """Compute each bot's mean without each worker's labels, and the shift by that worker."""
    values = score_values(questions, score, judged.answers)
    defined = ~np.isnan(values)
    bot, values = judged.bot_code[defined], score.factor * values[defined]
    pairs, pair = np.unique(judged.rater_code[defined] * len(judged.bots) + bot, return_inverse=True)
    rater_of, bot_of = np.divmod(pairs, len(judged.bots))
    weight = np.ones(len(values)) if judged.weight is None else judged.weight[defined]
    labels = np.bincount(pair, minlength=len(pairs))
    of_pair = _sums(pair, values, weight, len(pairs))
    everything = _sums(bot, values, weight, len(judged.bots))[bot_of]
    total, left = (everything - of_pair).T
    is_left = np.bincount(bot, minlength=len(judged.bots))[bot_of] > labels
    without = np.divide(total, left, out=np.full(len(left), np.nan), where=is_left)
    shift = everything[:, 0] / everything[:, 1] - without
    order = [row for row in np.argsort(-np.abs(shift), kind="stable").tolist() if not np.isnan(shift[row])]
    raters, bots = judged.raters, judged.bots
    names = [(raters[rater], bots[of]) for rater, of in zip(rater_of.tolist(), bot_of.tolist(), strict=True)]
    return {
        "influence": [
            {
                "worker": names[row][0],
                "bot": names[row][1],
                "labels": int(labels[row]),
                "without": float(without[row]),
                "shift": float(shift[row]),
            }
            for row in order[:SHOWN]
        ],
        "alone": [
            f"{names[row][0]} gave all labels of {names[row][1]}." for row in np.flatnonzero(np.isnan(shift))
        ],
    }


def _sums(group: IntArray, values: FloatArray, weight: FloatArray, groups: int) -> FloatArray:
    """(groups, 2) weighted sum and sum of the weights of each group."""
    return np.column_stack([np.bincount(group, each, groups) for each in (weight * values, weight)])
