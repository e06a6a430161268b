"""Labels of those who chatted beside labels of readers of the same turns, by every declared score. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from evaluation.differences import difference
from evaluation.inference import Sample
from evaluation.interval import Interval, Undefined
from evaluation.kappa import Kappa, cohen_kappa, kappa_interval
from evaluation.labels import FloatArray, IntArray
from evaluation.questions import Answer, QuestionSet, Score, bounds, coded_answers, score_values
from evaluation.report.figures import coded_questions


@dataclass(frozen=True, slots=True)
class Both:
    """A turn with the answers of both parties.

    Attributes:
        conversation: that it is of.
        first: the answers of who chatted.
        third: the answers of each reader.
    """

    conversation: int
    first: Mapping[str, Answer]
    third: Sequence[Mapping[str, Answer]]


def compared_parties(
    questions: QuestionSet, turns: Sequence[Both], rng: Generator, *, resamples: int
) -> list[dict[str, Any]]:
    """By score, the means of both parties over the turns that both judged, and how far they agree.

    Of the readers each turn counts once, with the mean of their labels. Of a share, the chatter is set beside
    the strict majority of the readers, with Cohen's kappa.

    Args:
        questions: what was asked.
        turns: at least one, of one bot.
        rng: seeded generator, for the intervals of kappa over conversations.
        resamples: of conversations.
    """
    conversation = np.unique([turn.conversation for turn in turns], return_inverse=True)[1]
    turn = np.repeat(np.arange(len(turns)), [len(each.third) for each in turns])
    first = _columns(questions, [each.first for each in turns])
    third = _columns(questions, [answers for each in turns for answers in each.third])
    found = []
    for score in questions.scores:
        of_first = score_values(questions, score, first)
        of_third = _means(score_values(questions, score, third), turn, len(turns))
        known = ~np.isnan(of_first) & ~np.isnan(of_third)
        shown = {"title": score.title, "turns": int(known.sum()), "kappa": None}
        if known.any():
            values = of_first[known], of_third[known], conversation[known]
            shown |= _beside(questions, score, *values)
            if score.is_percent and len(score.terms) == 1:
                shown["kappa"] = _agreement(*values, rng, resamples)
        found.append(shown)
    return found


def _columns(questions: QuestionSet, rows: Sequence[Mapping[str, Answer]]) -> dict[str, FloatArray]:
    return {
        each.key: coded_answers(each, [answers.get(each.key) for answers in rows])
        for each in coded_questions(questions)
    }


def _means(values: FloatArray, turn: IntArray, turns: int) -> FloatArray:
    """(turns,) the mean of the labels of each turn; NaN without any."""
    known = ~np.isnan(values)
    counts = np.bincount(turn[known], minlength=turns)
    sums = np.bincount(turn[known], values[known], turns)
    means: FloatArray = np.divide(sums, counts, out=np.full(turns, np.nan), where=counts > 0)
    return means


def _beside(
    questions: QuestionSet, score: Score, first: FloatArray, third: FloatArray, conversation: IntArray
) -> dict[str, Any]:
    low, high = bounds(questions, score)
    samples = (Sample(values, conversation) for values in (first, third))
    found = replace(
        difference(*samples, low=low, high=high),
        first=f"First-party {score.title}",
        second=f"third-party {score.title}",
    )
    return {
        "first": score.factor * float(first.mean()),
        "third": score.factor * float(third.mean()),
        "words": found.in_words(),
    }


def _agreement(
    first: FloatArray, third: FloatArray, conversation: IntArray, rng: Generator, resamples: int
) -> dict[str, Any]:
    """The chatter's yes or no against that of most readers."""
    cell = conversation * 4 + first.astype(np.int64) * 2 + (third > 0.5)
    count = int(conversation.max()) + 1
    tables = np.bincount(cell, minlength=4 * count).reshape(count, 2, 2).astype(np.float64)
    return _kappa(cohen_kappa(tables.sum(axis=0)), kappa_interval(tables, rng, resamples=resamples))


def _kappa(found: Kappa | Undefined, interval: Interval | Undefined) -> dict[str, Any]:
    if isinstance(found, Undefined):
        return {"undefined": found.reason}
    ends = {} if isinstance(interval, Undefined) else {"low": interval.low, "high": interval.high}
    return {"value": found.value, "agree": 100 * found.observed} | ends
