"""Comparison of two groups of raters on the same items, and of chatters with readers of their turns. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.random import Generator

from evaluation.questions import Answer, Combine, QuestionSet, Score, bounds, coded_answers, score_values
from evaluation.rater_agreement.kappa import Kappa, cohen_kappa, kappa_interval
from evaluation.report.figures import coded_questions
from evaluation.statistics.differences import difference
from evaluation.statistics.inference import NOUNS, Estimate, Nouns, Sample, mean
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import BoolArray, FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class Group:
    """Judgments of one group, one row each; both groups use the same codes.

    Attributes:
        item: (n,) code from 0 up of the judged item.
        cluster: (n,) code from 0 up of its conversation or context.
        rater: (n,) code from 0 up of the rater.
        answers: by question key, (n,) the answers as numbers; NaN for no answer.
    """

    item: IntArray
    cluster: IntArray
    rater: IntArray
    answers: Mapping[str, FloatArray]


def compared_groups(
    questions: QuestionSet,
    first: Group,
    second: Group,
    rng: Generator,
    *,
    resamples: int,
    nouns: Nouns = NOUNS,
) -> list[dict[str, Any]]:
    """Compare two groups by every score on the items that both judged, with their agreement.

    Every judgment counts once. For a share, Cohen's kappa compares the strict majorities of the two groups
    item by item; if exactly half of a group says yes, the item has no majority there.

    Args:
        questions: the question set of both groups.
        first: judgments of one group, of one system or of all.
        second: judgments of the other group.
        rng: seeded generator, for the intervals of kappa over clusters.
        resamples: number of resamples of clusters.
        nouns: nouns for the reasons.

    Returns:
        For each score `title`, the number of common `items`, and if there are any: `first` and `second`, each
        with `value` and `low` and `high` or `undefined`; `difference` (first minus second) likewise; `words`;
        and for a share `agreement`: `items`, `agree` in percent, `kappa` with its ends, or `undefined`.
    """
    return [_of_score(questions, score, first, second, rng, resamples, nouns) for score in questions.scores]


def _of_score(
    questions: QuestionSet,
    score: Score,
    first: Group,
    second: Group,
    rng: Generator,
    resamples: int,
    nouns: Nouns,
) -> dict[str, Any]:
    values = [score_values(questions, score, group.answers) for group in (first, second)]
    defined = [~np.isnan(each) for each in values]
    common = np.intersect1d(first.item[defined[0]], second.item[defined[1]])
    row: dict[str, Any] = {"title": score.title, "items": len(common)}
    if not len(common):
        return row
    common_rows = [
        there & np.isin(group.item, common) for there, group in zip(defined, (first, second), strict=True)
    ]
    samples = [
        Sample(of[there], group.cluster[there], group.rater[there])
        for of, there, group in zip(values, common_rows, (first, second), strict=True)
    ]
    scale = _scale(questions, score)
    estimates = [mean(sample, low=scale[0], high=scale[1], nouns=nouns) for sample in samples]
    compared = difference(*samples, low=scale[0], high=scale[1])
    named = replace(compared, first="the first group", second="the second group")
    row |= {
        "first": _cell(estimates[0], score.factor),
        "second": _cell(estimates[1], score.factor),
        "difference": {"value": score.factor * compared.difference, **_ends(compared.interval, score.factor)},
        "words": named.sentence(nouns),
    }
    if score.is_percent and len(score.terms) == 1:
        rows = [
            (of[there], group.item[there], group.cluster[there])
            for of, there, group in zip(values, common_rows, (first, second), strict=True)
        ]
        row["agreement"] = _agreement(rows[0], rows[1], common, rng, resamples)
    return row


def _scale(questions: QuestionSet, score: Score) -> tuple[float, float]:
    if score.is_percent and score.combine is Combine.MEAN:
        return 0.0, 1.0
    return bounds(questions, score)


def _cell(estimate: Estimate | Undefined, factor: int) -> dict[str, Any]:
    if isinstance(estimate, Undefined):
        return {"value": None, "undefined": estimate.reason}
    return {"value": factor * estimate.value, **_ends(estimate.interval, factor)}


def _ends(interval: Interval | Undefined, factor: int) -> dict[str, Any]:
    if isinstance(interval, Undefined):
        return {"undefined": interval.reason}
    return {"low": factor * interval.low, "high": factor * interval.high}


_Rows = tuple[FloatArray, IntArray, IntArray]


def _agreement(
    first: _Rows, second: _Rows, common: IntArray, rng: Generator, resamples: int
) -> dict[str, Any]:
    """Agreement of the strict majorities of both groups, over items with a majority in both."""
    shares = [_shares(rows, common) for rows in (first, second)]
    decided: BoolArray = (shares[0] != 0.5) & (shares[1] != 0.5)
    if not decided.any():
        return {"items": 0, "undefined": "No item has a majority in both groups."}
    cluster = np.zeros(len(common), dtype=np.int64)
    cluster[np.searchsorted(common, first[1])] = first[2]
    cluster = np.unique(cluster[decided], return_inverse=True)[1]
    yes = [(each[decided] > 0.5).astype(np.int64) for each in shares]
    count = int(cluster.max()) + 1
    cells = np.bincount(cluster * 4 + yes[0] * 2 + yes[1], minlength=4 * count)
    tables = cells.reshape(count, 2, 2).astype(np.float64)
    kappa, interval = cohen_kappa(tables.sum(axis=0)), kappa_interval(tables, rng, resamples=resamples)
    row = {"items": int(decided.sum()), "agree": 100 * float((yes[0] == yes[1]).mean())}
    if isinstance(kappa, Undefined):
        return row | {"undefined": kappa.reason}
    return row | {"kappa": kappa.value, **_ends(interval, 1)}


def _shares(rows: _Rows, common: IntArray) -> FloatArray:
    """(items,) share of yes among a group's raters, for each common item."""
    values, item, _ = rows
    row = np.searchsorted(common, item)
    shares: FloatArray = np.bincount(row, values, len(common)) / np.bincount(row, minlength=len(common))
    return shares


@dataclass(frozen=True, slots=True)
class JudgedTurn:
    """A turn with the answers of its chatter and of readers.

    Attributes:
        conversation: number of its conversation.
        first: answers of the chatter.
        third: answers of each reader.
    """

    conversation: int
    first: Mapping[str, Answer]
    third: Sequence[Mapping[str, Answer]]


def compared_parties(
    questions: QuestionSet, turns: Sequence[JudgedTurn], rng: Generator, *, resamples: int
) -> list[dict[str, Any]]:
    """Compare chatters with readers by every score on the turns that both judged, with their agreement.

    Each turn counts once, for readers with the mean of their labels. For a share, Cohen's kappa compares the
    chatter with the strict majority of the readers.

    Args:
        questions: the question set.
        turns: turns of one bot, at least one.
        rng: seeded generator, for the intervals of kappa over conversations.
        resamples: number of resamples of conversations.
    """
    conversation = np.unique([turn.conversation for turn in turns], return_inverse=True)[1]
    turn = np.repeat(np.arange(len(turns)), [len(each.third) for each in turns])
    first = _columns(questions, [each.first for each in turns])
    third = _columns(questions, [answers for each in turns for answers in each.third])
    rows = []
    for score in questions.scores:
        of_first = score_values(questions, score, first)
        of_third = _means(score_values(questions, score, third), turn, len(turns))
        defined = ~np.isnan(of_first) & ~np.isnan(of_third)
        row = {"title": score.title, "turns": int(defined.sum()), "kappa": None}
        if defined.any():
            values = of_first[defined], of_third[defined], conversation[defined]
            row |= _compare_means(questions, score, *values)
            if score.is_percent and len(score.terms) == 1:
                row["kappa"] = _party_agreement(*values, rng, resamples)
        rows.append(row)
    return rows


def _columns(questions: QuestionSet, rows: Sequence[Mapping[str, Answer]]) -> dict[str, FloatArray]:
    return {
        each.key: coded_answers(each, [answers.get(each.key) for answers in rows])
        for each in coded_questions(questions)
    }


def _means(values: FloatArray, turn: IntArray, turns: int) -> FloatArray:
    """(turns,) mean of the labels of each turn; NaN without labels."""
    defined = ~np.isnan(values)
    counts = np.bincount(turn[defined], minlength=turns)
    sums = np.bincount(turn[defined], values[defined], turns)
    means: FloatArray = np.divide(sums, counts, out=np.full(turns, np.nan), where=counts > 0)
    return means


def _compare_means(
    questions: QuestionSet, score: Score, first: FloatArray, third: FloatArray, conversation: IntArray
) -> dict[str, Any]:
    low, high = bounds(questions, score)
    samples = (Sample(values, conversation) for values in (first, third))
    compared = replace(
        difference(*samples, low=low, high=high),
        first=f"First-party {score.title}",
        second=f"third-party {score.title}",
    )
    return {
        "first": score.factor * float(first.mean()),
        "third": score.factor * float(third.mean()),
        "words": compared.sentence(),
    }


def _party_agreement(
    first: FloatArray, third: FloatArray, conversation: IntArray, rng: Generator, resamples: int
) -> dict[str, Any]:
    """Agreement of the chatter's yes or no with the majority of the readers."""
    cell = conversation * 4 + first.astype(np.int64) * 2 + (third > 0.5)
    count = int(conversation.max()) + 1
    tables = np.bincount(cell, minlength=4 * count).reshape(count, 2, 2).astype(np.float64)
    return _kappa(cohen_kappa(tables.sum(axis=0)), kappa_interval(tables, rng, resamples=resamples))


def _kappa(kappa: Kappa | Undefined, interval: Interval | Undefined) -> dict[str, Any]:
    if isinstance(kappa, Undefined):
        return {"undefined": kappa.reason}
    ends = {} if isinstance(interval, Undefined) else {"low": interval.low, "high": interval.high}
    return {"value": kappa.value, "agree": 100 * kappa.observed} | ends
