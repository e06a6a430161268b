"""Uncertainty of a machine judge about each item, from its repeated answers or its errors elsewhere."""

from collections.abc import Sequence

import numpy as np

from evaluation.statistics.labels import FloatArray, IntArray

LEAST_ERRORS = 30
"""Smallest number of items, labelled by people and the judge, from which its errors are estimated."""
_BINS = 4
_PRIOR = 5.0
"""Items with the overall error that are added to each bin, so that a few lucky ones do not look sure."""
MOST = 0.5
"""Largest standard deviation of a number in [0, 1]: of an item about which the judge says nothing."""


def by_answers(answers: FloatArray, item: IntArray, items: int) -> FloatArray:
    """Standard deviation of the judge's repeated answers about each item.

    One answer at either end of the scale is added, half of each, since a judge that says yes three times of
    three is not certain. Of yes and no it is √(p (1 - p)) with p = (yes + ½) / (answers + 1).

    Args:
        answers: (n,) answers on the scale from 0 to 1; NaN for none.
        item: (n,) number of the item of each answer, in [0, N).
        items: number N of items.

    Returns:
        (N,) standard deviations in [0, 0.5]; 0.5 for items without an answer.
    """
    known = ~np.isnan(answers)
    of, values = item[known], answers[known]
    counts = np.bincount(of, minlength=items) + 1.0
    mean = (np.bincount(of, values, items) + 0.5) / counts
    squares = (np.bincount(of, values**2, items) + 0.5) / counts
    found: FloatArray = np.sqrt(np.maximum(squares - mean**2, 0.0))
    return found


def by_errors(judge: FloatArray, people: FloatArray) -> FloatArray:
    """Expected size of the judge's error on each item, from its errors on items that people labelled.

    Items are grouped into quarters of the scale by the judge's label; each group has the root of its mean
    squared error, drawn towards that of all items.

    Args:
        judge: (N,) the judge's label of each item on the scale from 0 to 1; NaN for none.
        people: (N,) mean label of people; NaN for items that they did not label.

    Returns:
        (N,) errors of 0 and more; 0.5 for items without a label of the judge.

    Raises:
        ValueError: fewer than 30 items have labels of both.
    """
    both = ~np.isnan(judge) & ~np.isnan(people)
    if both.sum() < LEAST_ERRORS:
        raise ValueError(
            f"People and the judge both labelled {both.sum()} items; the judge's errors need {LEAST_ERRORS}."
        )
    squared = (people[both] - judge[both]) ** 2
    group = np.clip(np.floor(np.nan_to_num(judge) * _BINS), 0, _BINS - 1).astype(np.int64)
    counts = np.bincount(group[both], minlength=_BINS)
    sums = np.bincount(group[both], squared, _BINS)
    of_group = np.sqrt((sums + _PRIOR * squared.mean()) / (counts + _PRIOR))
    return np.where(np.isnan(judge), MOST, of_group[group])


def of_scores(found: Sequence[FloatArray]) -> FloatArray:
    """(N,) uncertainty over several scores: the root of the mean of squares.

    Args:
        found: for each score, (N,) uncertainties; at least one.
    """
    total: FloatArray = np.sqrt(np.mean(np.square(found), axis=0))
    return total
