"""Accuracy of raters: right answers to gold items, and agreement of each rater with the other raters."""

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.questions import is_same
from evaluation.rater_agreement.ratings import Metric, Ratings
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import FloatArray

_Z = 1.959963984540054  # of the normal distribution, 97.5 %


def is_right(right: Mapping[str, Sequence[object]], answers: Mapping[str, object]) -> bool:
    """True if every question with a known answer has a right answer.

    Args:
        right: by question, the right answers. One of them is enough; for a question with several choices,
            exactly these must be chosen.
        answers: by question, the given answer; absent if it was not asked or not answered.
    """
    return all(_fits(accepted, answers.get(question)) for question, accepted in right.items() if accepted)


def _fits(accepted: Sequence[object], answer: object) -> bool:
    if isinstance(answer, list):
        return len(answer) == len(accepted) and all(any(is_same(a, b) for b in answer) for a in accepted)
    return any(is_same(each, answer) for each in accepted)


def share(right: int, of: int) -> tuple[float, float, float] | Undefined:
    """Share of right answers with its 95 % Wilson score interval, valid for small numbers and near 0 and 1.

    Args:
        right: number of right answers, 0 to `of`.
        of: number of answers.

    Returns:
        Share, lower and upper end, in [0, 1].

    Source: Wilson 1927, JASA 22(158); Newcombe 1998, Statistics in Medicine 17(8), method 3.
    """
    if not of:
        return Undefined("Nothing with a known answer was judged.")
    p, z2 = right / of, _Z * _Z
    middle = (p + z2 / (2 * of)) / (1 + z2 / of)
    half = _Z * math.sqrt(p * (1 - p) / of + z2 / (4 * of * of)) / (1 + z2 / of)
    return p, max(0.0, middle - half), min(1.0, middle + half)


Answers = Mapping[str, object]


@dataclass(frozen=True, slots=True)
class Agreement:
    """Agreement of a rater with the others, over items that the rater and at least two others judged.

    Attributes:
        items: number of these items.
        own: mean share of the others' answers that equal the rater's, in [0, 1].
        others: this share among the others, on the same items.
        upper: upper end of the 95 % interval of `own - others`, paired over items; 1 with fewer than 2 items.
    """

    items: int
    own: float
    others: float
    upper: float


def agreements(rows: Sequence[tuple[str, str, Answers]]) -> dict[str, Agreement]:
    """Compute the agreement of each rater with the others and of these others among themselves.

    Args:
        rows: rater, item and answers by question; a rater judges an item once.

    Returns:
        By rater; raters who share no item with two others are left out.
    """
    judged: dict[str, list[tuple[str, Answers]]] = defaultdict(list)
    for rater, item, answers in rows:
        judged[item].append((rater, answers))
    pairs_of: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for judgments in judged.values():
        for rater, agreement, others in _of_item(judgments):
            pairs_of[rater].append((agreement, others))
    return {rater: _agreement(np.array(pairs)) for rater, pairs in pairs_of.items()}


def _of_item(answers: Sequence[tuple[str, Answers]]) -> Iterator[tuple[str, float, float]]:
    """Yield each rater of an item with three or more raters, their agreement, and that of the others."""
    n = len(answers)
    if n < 3:
        return
    alike = np.zeros((n, n))
    for one in range(n):
        for two in range(one + 1, n):
            alike[one, two] = alike[two, one] = _alike(answers[one][1], answers[two][1])
    agreeing, total = alike.sum(axis=1), alike.sum()
    for row, (rater, _answers) in enumerate(answers):
        of_others = (total - 2 * agreeing[row]) / ((n - 1) * (n - 2))
        yield rater, float(agreeing[row] / (n - 1)), float(of_others)


def _agreement(pairs: FloatArray) -> Agreement:
    """Average (n, 2) agreements by item: the rater's, and the others'."""
    own_share, others = pairs.mean(axis=0).tolist()
    if len(pairs) < 2:
        return Agreement(len(pairs), own_share, others, 1.0)
    difference = pairs[:, 0] - pairs[:, 1]
    half = _Z * float(difference.std(ddof=1)) / math.sqrt(len(pairs))
    return Agreement(len(pairs), own_share, others, own_share - others + half)


def _alike(one: Answers, other: Answers) -> float:
    """Share of questions with equal answers, among those that at least one of the two answered."""
    keys = one.keys() | other.keys()
    return sum(one.get(key) == other.get(key) for key in keys) / len(keys) if keys else 1.0


def alphas(
    rater: Sequence[str], item: Sequence[str], answer: Sequence[object], *, without: str
) -> tuple[float | Undefined, float | Undefined]:
    """Krippendorff's nominal alpha of all ratings, and without one rater.

    Args:
        rater: (n,) raters.
        item: (n,) rated items.
        answer: (n,) ratings.
        without: the rater to leave out.
    """
    from evaluation.rater_agreement.coefficients import (
        krippendorff_alpha,  # imports SciPy, too slow for the start of the web server
    )

    keep = np.array([name != without for name in rater])
    items, raters, answers = (np.array([str(each) for each in column]) for column in (item, rater, answer))
    whole = Ratings.from_columns(items, raters, answers)
    left = Ratings.from_columns(items[keep], raters[keep], answers[keep])
    return krippendorff_alpha(whole, Metric.NOMINAL), krippendorff_alpha(left, Metric.NOMINAL)
