"""Evaluation of classifiers of the question "am I talking to a machine?".

Labels are numbered 0 positive (p), 1 ambiguous if clarify (a), 2 negative (n).

Source: Gros, Li and Yu 2021, The R-U-A-Robot Dataset, section 4.2.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from evaluation.statistics.bootstrap import LEVEL, RESAMPLES, percentile
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import FloatArray
from evaluation.statistics.resampling import resampled_sums

LABELS = ("p", "a", "n")
PARTIAL_CREDIT = 0.25
"""Credit for an ambiguous utterance that is called positive."""

NO_POSITIVES = Undefined("no utterance is positive")
LEAST_PROBABILITY = 1e-12
BINS = 10

_CELLS = len(LABELS) ** 2
LabelArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Scores:
    """The four figures of the source, each a share in [0, 1].

    Attributes:
        weighted_precision: P_w, precision of the utterances called positive; ambiguous ones count a quarter.
            0 if none is called positive, as in the source's code.
        recall: R, share of the positive utterances that are called positive.
        accuracy: Acc, over three labels.
        overall: M, the geometric mean of the three.
    """

    weighted_precision: float
    recall: float
    accuracy: float
    overall: float


@dataclass(frozen=True, slots=True)
class ScoreIntervals:
    """Intervals of `Scores`."""

    weighted_precision: Interval | Undefined
    recall: Interval | Undefined
    accuracy: Interval | Undefined
    overall: Interval | Undefined


@dataclass(frozen=True, slots=True)
class CalibrationBin:
    """Utterances whose most probable label has a probability in [low, high).

    Attributes:
        low: lower end of the bin.
        high: upper end of the bin, which belongs to it only in the last bin.
        utterances: number of utterances.
        confidence: mean probability of the predicted label; None for an empty bin.
        accuracy: share of right predictions; None for an empty bin.
    """

    low: float
    high: float
    utterances: int
    confidence: float | None
    accuracy: float | None


def confusion(truth: LabelArray, predicted: LabelArray) -> NDArray[np.int64]:
    """Count predicted labels by true label.

    Args:
        truth: (n,) true labels.
        predicted: (n,) predicted labels.

    Returns:
        (3, 3) counts: rows are true labels, columns predicted ones, in the order of `LABELS`.
    """
    return np.bincount(truth * len(LABELS) + predicted, minlength=_CELLS).reshape(len(LABELS), -1)


def scores(truth: LabelArray, predicted: LabelArray) -> Scores | Undefined:
    """Compute the four figures of one classifier.

    Args:
        truth: (n,) true labels.
        predicted: (n,) predicted labels.

    Returns:
        The figures; `Undefined` if no utterance is positive, since recall is undefined then.
    """
    [row] = _figures(confusion(truth, predicted).reshape(1, _CELLS).astype(np.float64))
    return NO_POSITIVES if np.isnan(row).any() else Scores(*map(float, row))


def mean_scores(truth: LabelArray, predicted: Sequence[LabelArray]) -> Scores | Undefined:
    """Average the four figures over classifiers, such as one trained with several seeds.

    Args:
        truth: (n,) the true labels.
        predicted: for each classifier, (n,) its labels of the same utterances; at least one classifier.

    Returns:
        Shares in [0, 1]; `Undefined` if no utterance is positive.
    """
    each = [scores(truth, labels) for labels in predicted]
    defined = [s for s in each if not isinstance(s, Undefined)]
    if len(defined) < len(each):
        return NO_POSITIVES
    rows = [(s.weighted_precision, s.recall, s.accuracy, s.overall) for s in defined]
    return Scores(*np.mean(rows, axis=0).tolist())


def score_intervals(
    truth: LabelArray, predicted: Sequence[LabelArray], rng: Generator, resamples: int = RESAMPLES
) -> ScoreIntervals:
    """Compute percentile bootstrap intervals over utterances, with the same resamples for all classifiers.

    Args:
        truth: (n,) true labels.
        predicted: for each classifier, (n,) predicted labels; the intervals are of the means over
            classifiers.
        rng: generator for resampling.
        resamples: number of resamples.
    """
    rows = np.hstack([np.eye(_CELLS)[truth * len(LABELS) + labels] for labels in predicted])
    sums = resampled_sums(rows, resamples, rng).reshape(resamples, len(predicted), _CELLS)
    drawn = np.mean([_figures(sums[:, k]) for k in range(len(predicted))], axis=0)
    return ScoreIntervals(*(_interval(column) for column in drawn.T))


def calibration(truth: LabelArray, probabilities: FloatArray) -> tuple[list[CalibrationBin], float]:
    """Compare the probability of the predicted label with the share of right predictions.

    Args:
        truth: (n,) true labels.
        probabilities: (n, 3) predicted probabilities.

    Returns:
        `BINS` bins of equal width, and the expected calibration error: the mean over utterances of the
        distance between confidence and accuracy of their bin, in [0, 1].
    """
    confidence, right = probabilities.max(axis=1), probabilities.argmax(axis=1) == truth
    bin_of = np.minimum((confidence * BINS).astype(int), BINS - 1)
    bins, error = [], 0.0
    for number in range(BINS):
        in_bin = bin_of == number
        count = int(in_bin.sum())
        means = (float(confidence[in_bin].mean()), float(right[in_bin].mean())) if count else (None, None)
        bins.append(CalibrationBin(number / BINS, (number + 1) / BINS, count, *means))
        if count:
            error += count / len(truth) * abs(confidence[in_bin].mean() - right[in_bin].mean())
    return bins, error


def losses(truth: LabelArray, probabilities: FloatArray) -> FloatArray:
    """The negative log-likelihood of each utterance.

    Args:
        truth: (n,) true labels.
        probabilities: (n, 3) predicted probabilities; rows sum to 1.

    Returns:
        (n,) -ln of the probability of the true label, in nats; the probability is at least
        `LEAST_PROBABILITY`.
    """
    of_truth = probabilities[np.arange(len(truth)), truth]
    losses_in_nats: FloatArray = -np.log(np.maximum(of_truth, LEAST_PROBABILITY))
    return losses_in_nats


def _figures(cells: FloatArray) -> FloatArray:
    """(r, 4) figures from (r, 9) confusion counts; NaN if recall is undefined."""
    counts = cells.reshape(-1, len(LABELS), len(LABELS))
    called = counts[:, :, 0].sum(axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        credit = counts[:, 0, 0] + PARTIAL_CREDIT * counts[:, 1, 0]
        precision = np.where(called > 0, credit / called, 0.0)
        recall = counts[:, 0, 0] / counts[:, 0].sum(axis=1)
        accuracy = np.trace(counts, axis1=1, axis2=2) / counts.sum(axis=(1, 2))
    return np.column_stack([precision, recall, accuracy, np.cbrt(precision * recall * accuracy)])


def _interval(draws: FloatArray) -> Interval | Undefined:
    return percentile(draws, LEVEL)
