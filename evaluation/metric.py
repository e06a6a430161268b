"""The distances between two ratings that agreement is weighed with."""

from enum import StrEnum

import numpy as np

from evaluation.labels import AnyArray, FloatArray
from evaluation.questions import Level


class Metric(StrEnum):
    """Which distance between two ratings c and k alpha weighs disagreement with."""

    NOMINAL = "nominal"
    """0 if equal, else 1."""
    ORDINAL = "ordinal"
    """Squared difference of mid-ranks: how many ratings lie between the two."""
    INTERVAL = "interval"
    """(c - k)²."""
    RATIO = "ratio"
    """((c - k) / (c + k))²; ratings must not be negative."""


def metric_of(level: Level) -> Metric:
    """The distance that suits a question's level of measurement; binary answers are nominal."""
    return Metric.NOMINAL if level is Level.BINARY else Metric(level.value)


def numbers(values: AnyArray, metric: Metric) -> FloatArray:
    """The ratings as numbers.

    Args:
        values: (c,) ratings of any type.
        metric: the distance that is to be taken between them.

    Raises:
        ValueError: a rating is no number, or negative for the ratio distance.
    """
    if values.dtype.kind not in "iufb":
        raise ValueError(
            f"The {metric} distance needs numbers, but a rating is '{values[0]}'. Give ratings as numbers in "
            f"their order, or use the nominal distance."
        )
    number = values.astype(np.float64)
    if metric is Metric.RATIO and number.min() < 0:
        raise ValueError(f"The ratio distance needs ratings from 0 upward, but one is {number.min():g}.")
    return number
