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
    start = np.divide(votes, total, out=np.full_like(votes, 1 / votes.shape[1]), where=total > 0)
    fit = _fitted(ratings, group, start[:, None], None, smoothing, tolerance, most_iterations)
    return TrueAnswers(
        fit.posterior[:, 0], fit.prevalence[:, 0], fit.confusion[:, 0], float(fit.log_likelihood[0]),
        fit.iterations, fit.converged,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Refits:
    """Fits to several weightings of the units; arrays as of `TrueAnswers`, with r weightings as second axis.

    Attributes:
        posterior: (units, r, c).
        prevalence: (groups, r, c).
        confusion: (raters, r, c, c).
        log_likelihood: (r,) of the ratings, all units alike.
        iterations: EM steps taken, of all together.
        converged: whether the last step changed no posterior by more than the tolerance.
    """

    posterior: FloatArray
    prevalence: FloatArray
    confusion: FloatArray
    log_likelihood: FloatArray
    iterations: int
    converged: bool


def refitted(
    fit: TrueAnswers,
    ratings: Ratings,
    group: IntArray,
    weight: FloatArray,
    *,
    smoothing: float = 0.01,
    tolerance: float = 1e-3,
    most_iterations: int = 100,
) -> Refits:
    """Fit the model again with units that count several times or not at all, as in resamples.

    Args:
        fit: fit to all units, from whose posteriors each fit starts.
        ratings: as of `dawid_skene`.
        group: (units,) likewise.
        weight: (units, r) how often each unit counts in each of r fits.
        smoothing: as of `dawid_skene`.
        tolerance: largest change of a posterior at which to stop.
        most_iterations: maximum number of steps.
    """
    start = np.repeat(fit.posterior[:, None], weight.shape[1], axis=1)
    return _fitted(ratings, group, start, weight, smoothing, tolerance, most_iterations)


def _fitted(
    ratings: Ratings,
    group: IntArray,
    posterior: FloatArray,
    weight: FloatArray | None,
    smoothing: float,
    tolerance: float,
    most_iterations: int,
) -> Refits:
    """EM from posteriors (units, r, c), for r weightings (units, r); None: each unit counts once."""
    indicators = _answer_indicators(ratings)
    change, iterations = np.inf, 0
    while change > tolerance and iterations < most_iterations:
        weighted = posterior if weight is None else posterior * weight[:, :, None]
        prevalence, confusion = _maximise(indicators, group, weighted, smoothing)
        previous = posterior
        posterior, log_likelihood = _expect(indicators, group, prevalence, confusion)
        change = float(np.abs(posterior - previous).max())
        iterations += 1
    return Refits(posterior, prevalence, confusion, log_likelihood, iterations, change <= tolerance)


def _answer_indicators(ratings: Ratings) -> "scipy.sparse.csr_array":
    """(units, raters · c) indicators: 1 if the rater gave this answer to the unit."""
    column = ratings.rater * len(ratings.values) + ratings.value
    shape = (ratings.units, ratings.raters * len(ratings.values))
    return scipy.sparse.csr_array((np.ones(len(ratings)), (ratings.unit, column)), shape=shape)


def _maximise(
    indicators: "scipy.sparse.csr_array", group: IntArray, weighted: FloatArray, smoothing: float
) -> tuple[FloatArray, FloatArray]:
    units, r, c = weighted.shape
    flat = weighted.reshape(units, r * c)
    sums = np.column_stack([np.bincount(group, column) for column in flat.T]).reshape(-1, r, c)
    totals = sums.sum(axis=2, keepdims=True)
    # A resample may lack a group.
    prevalence = np.divide(sums, totals, out=np.full_like(sums, 1 / c), where=totals > 0)
    confusion = (indicators.T @ flat).reshape(-1, c, r, c).transpose(0, 2, 3, 1) + smoothing
    row_sums = confusion.sum(axis=3, keepdims=True)
    return prevalence, np.divide(confusion, row_sums, out=np.full_like(confusion, 1 / c), where=row_sums > 0)


def _expect(
    indicators: "scipy.sparse.csr_array", group: IntArray, prevalence: FloatArray, confusion: FloatArray
) -> tuple[FloatArray, FloatArray]:
    raters, r, c, _ = confusion.shape
    with np.errstate(divide="ignore"):
        log_prevalence, log_confusion = np.log(prevalence), np.log(confusion)
    by_answer = log_confusion.transpose(0, 3, 1, 2).reshape(raters * c, r * c)
    log_joint = log_prevalence[group] + (indicators @ by_answer).reshape(-1, r, c)
    top = log_joint.max(axis=2, keepdims=True)
    weight = np.exp(log_joint - top)
    total = weight.sum(axis=2, keepdims=True)
    return weight / total, (top + np.log(total)).sum(axis=(0, 2))
