"""Dawid and Skene's estimate of true answers from raters of unequal care.

Source: Dawid & Skene 1979, Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm,
Applied Statistics 28(1). Each rater has a table with the probability of each of their answers for each true
answer. Given the truth, raters err independently of each other.
"""

from dataclasses import dataclass

import numpy as np
import scipy

from evaluation.rater_agreement.ratings import Ratings
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class TrueAnswers:
    """The fitted model.

    Attributes:
        posterior: (units, c) probability of each true answer of each unit; rows sum to 1.
        prevalence: (groups, c) share of each true answer in each group of units.
        confusion: (raters, c, c) probability that a rater answers the column where the row is true.
        log_likelihood: log-likelihood of the ratings, at the end.
        iterations: EM steps taken.
        converged: whether the last step changed no posterior by more than the tolerance.
    """

    posterior: FloatArray
    prevalence: FloatArray
    confusion: FloatArray
    log_likelihood: float
    iterations: int
    converged: bool


def dawid_skene(
    ratings: Ratings,
    group: IntArray | None = None,
    *,
    smoothing: float = 0.01,
    tolerance: float = 1e-4,
    most_iterations: int = 500,
) -> TrueAnswers | Undefined:
    """Fit the model by expectation maximisation, starting from the share of votes for each answer.

    Args:
        ratings: any number of raters, ratings may be missing; a unit without ratings gets its group's
            prevalence.
        group: (units,) code from 0 of the group of each unit, for instance its bot. Each group has its own
            prevalence, while a rater has one table for all groups; None: one group.
        smoothing: pseudo-count added to each cell of each rater's table, so that a rater with few ratings
            never gets a probability of 0; 0 is the pure maximum likelihood of the paper.
        tolerance: largest change of a posterior at which to stop.
        most_iterations: maximum number of steps.

    Returns:
        The fit, or `Undefined`: fewer than two raters, or fewer than two answers occur.
    """
    if ratings.raters < 2 or len(ratings.values) < 2:
        return Undefined(
            f"Raters: {ratings.raters}, different answers: {len(ratings.values)}; 2 of each are needed."
        )
    group = np.zeros(ratings.units, np.int64) if group is None else group
    votes = ratings.counts
    total = votes.sum(axis=1, keepdims=True)
    posterior = np.divide(votes, total, out=np.full_like(votes, 1 / votes.shape[1]), where=total > 0)
    indicators = _answer_indicators(ratings)
    change, iterations = np.inf, 0
    while change > tolerance and iterations < most_iterations:
        prevalence, confusion = _maximise(indicators, group, posterior, smoothing)
        previous = posterior
        posterior, log_likelihood = _expect(indicators, group, prevalence, confusion)
        change = float(np.abs(posterior - previous).max())
        iterations += 1
    return TrueAnswers(
        posterior, prevalence, confusion, log_likelihood, iterations, converged=change <= tolerance
    )


def _answer_indicators(ratings: Ratings) -> "scipy.sparse.csr_array":
    """(units, raters · c) indicators: 1 if the rater gave this answer to the unit."""
    column = ratings.rater * len(ratings.values) + ratings.value
    shape = (ratings.units, ratings.raters * len(ratings.values))
    return scipy.sparse.csr_array((np.ones(len(ratings)), (ratings.unit, column)), shape=shape)


def _maximise(
    indicators: "scipy.sparse.csr_array", group: IntArray, posterior: FloatArray, smoothing: float
) -> tuple[FloatArray, FloatArray]:
    c = posterior.shape[1]
    prevalence = np.column_stack([np.bincount(group, posterior[:, k]) for k in range(c)])
    confusion = (indicators.T @ posterior).reshape(-1, c, c).transpose(0, 2, 1) + smoothing
    row_sums = confusion.sum(axis=2, keepdims=True)
    confusion = np.divide(confusion, row_sums, out=np.full_like(confusion, 1 / c), where=row_sums > 0)
    return prevalence / prevalence.sum(axis=1, keepdims=True), confusion


def _expect(
    indicators: "scipy.sparse.csr_array", group: IntArray, prevalence: FloatArray, confusion: FloatArray
) -> tuple[FloatArray, float]:
    c = prevalence.shape[1]
    with np.errstate(divide="ignore"):
        log_prevalence, log_confusion = np.log(prevalence), np.log(confusion)
    log_joint = log_prevalence[group] + indicators @ log_confusion.transpose(0, 2, 1).reshape(-1, c)
    top = log_joint.max(axis=1, keepdims=True)
    weight = np.exp(log_joint - top)
    total = weight.sum(axis=1, keepdims=True)
    return weight / total, float((top + np.log(total)).sum())
