"""MACE: estimate of true answers from raters of whom some answer without looking.

Source: Hovy, Berg-Kirkpatrick, Vaswani & Hovy 2013, Learning Whom to Trust with MACE, NAACL-HLT. A rater
gives the true answer with a probability of their own, the competence, and otherwise draws an answer from a
fixed habit. Given the truth, raters answer independently.

The paper takes all true answers for equally likely beforehand. Where they are not, its maximum lies
elsewhere: shares come out too even and competences too low, with any number of items. So the shares are
estimated here, for each group of units, as Dawid and Skene do. The authors' program knows shares beforehand,
too, but as numbers that somebody gives (its option `--priors`).
"""

from dataclasses import dataclass

import numpy as np
import scipy

from evaluation.rater_agreement.ratings import Ratings
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Competence:
    """The fitted model.

    Attributes:
        posterior: (units, c) probability of each true answer of each unit; rows sum to 1.
        prevalence: (groups, c) share of each true answer in each group of units; rows sum to 1.
        competence: (raters,) probability that a rater gives the true answer on purpose, in [0, 1].
        habit: (raters, c) shares of a rater's other answers; rows sum to 1.
        log_likelihood: log-likelihood of the ratings.
        iterations: EM steps taken.
        converged: whether the last step changed no posterior by more than the tolerance.
    """

    posterior: FloatArray
    prevalence: FloatArray
    competence: FloatArray
    habit: FloatArray
    log_likelihood: float
    iterations: int
    converged: bool


def mace(
    ratings: Ratings,
    group: IntArray | None = None,
    *,
    as_published: bool = False,
    smoothing: float = 0.01,
    tolerance: float = 1e-4,
    most_iterations: int = 500,
) -> Competence | Undefined:
    """Fit the model by expectation maximisation, starting from the share of votes for each answer.

    The authors start ten times at random and keep the largest likelihood; this start needs no seed.

    Args:
        ratings: any number of raters; ratings may be missing.
        group: (units,) code from 0 of the group of each unit, for instance its bot. Each group has its own
            shares of true answers, while a rater is the same in all; None: one group.
        as_published: true to take all true answers for equally likely instead of estimating their shares.
        smoothing: pseudo-count, divided by the number of answers as in the authors' program; 0 is maximum
            likelihood.
        tolerance: largest change of a posterior at which to stop.
        most_iterations: maximum number of steps.

    Returns:
        The fit, or `Undefined`: fewer than two raters, or fewer than two answers occur.
    """
    c = len(ratings.values)
    if ratings.raters < 2 or c < 2:
        return Undefined(f"Raters: {ratings.raters}, different answers: {c}; 2 of each are needed.")
    votes = ratings.counts
    total = votes.sum(axis=1, keepdims=True)
    start = np.divide(votes, total, out=np.full_like(votes, 1 / c), where=total > 0)
    of_group = np.zeros(ratings.units, np.int64) if group is None else group
    competence, habit = np.full((ratings.raters, 1), 0.5), np.full((ratings.raters, 1, c), 1 / c)
    weight = np.ones((ratings.units, 1))
    fit = _fitted(
        ratings, None if as_published else of_group, start[:, None], competence, habit, weight, smoothing / c,
        tolerance, most_iterations,
    )  # fmt: skip
    prevalence = fit.prevalence[:, 0]
    return Competence(
        fit.posterior[:, 0],
        # Equal shares are those of every group.
        np.repeat(prevalence, int(of_group.max(initial=0)) + 1, axis=0) if as_published else prevalence,
        fit.competence[:, 0], fit.habit[:, 0], float(fit.log_likelihood[0]), fit.iterations, fit.converged,
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Refits:
    """Fits to several weightings of the units; arrays as of `Competence`, with r weightings as second axis.

    Attributes:
        posterior: (units, r, c).
        prevalence: (groups, r, c).
        competence: (raters, r).
        habit: (raters, r, c).
        log_likelihood: (r,) of the ratings, all units alike.
        iterations: EM steps taken, of all together.
        converged: whether the last step changed no posterior by more than the tolerance.
    """

    posterior: FloatArray
    prevalence: FloatArray
    competence: FloatArray
    habit: FloatArray
    log_likelihood: FloatArray
    iterations: int
    converged: bool


def refitted(
    fit: Competence,
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
        fit: fit to all units, with shares that were estimated, from which each fit starts.
        ratings: as of `mace`.
        group: (units,) likewise.
        weight: (units, r) how often each unit counts in each of r fits.
        smoothing: as of `mace`.
        tolerance: largest change of a posterior at which to stop.
        most_iterations: maximum number of steps.
    """
    posterior, competence, habit = (
        np.repeat(each[:, None], weight.shape[1], axis=1)
        for each in (fit.posterior, fit.competence, fit.habit)
    )
    extra = smoothing / len(ratings.values)
    return _fitted(ratings, group, posterior, competence, habit, weight, extra, tolerance, most_iterations)


def _fitted(
    ratings: Ratings,
    group: IntArray | None,
    posterior: FloatArray,
    competence: FloatArray,
    habit: FloatArray,
    weight: FloatArray,
    extra: float,
    tolerance: float,
    most_iterations: int,
) -> Refits:
    """EM for r weightings (units, r), from posteriors (units, r, c), competences and habits.

    Without groups, all true answers are equally likely.
    """
    units, r, c = posterior.shape
    of_unit = np.zeros(units, np.int64) if group is None else group
    prevalence = np.full((1, r, c), 1 / c)
    change, iterations, log_likelihood = np.inf, 0, np.full(r, -np.inf)
    while change > tolerance and iterations < most_iterations:
        if group is not None:
            prevalence = _shares(group, posterior * weight[:, :, None])
        competence, habit = _maximise(ratings, posterior, competence, habit, weight, extra)
        previous = posterior
        posterior, log_likelihood = _expect(ratings, of_unit, prevalence, competence, habit)
        change = float(np.abs(posterior - previous).max())
        iterations += 1
    return Refits(posterior, prevalence, competence, habit, log_likelihood, iterations, change <= tolerance)


def _shares(group: IntArray, weighted: FloatArray) -> FloatArray:
    """(groups, r, c) shares of true answers; equal ones for a group of which a resample has no unit."""
    units, r, c = weighted.shape
    size = int(group.max(initial=0)) + 1
    sums = _summed(group, weighted.reshape(units, r * c), size).reshape(size, r, c)
    totals = sums.sum(axis=2, keepdims=True)
    shares: FloatArray = np.divide(sums, totals, out=np.full_like(sums, 1 / c), where=totals > 0)
    return shares


def _summed(code: IntArray, values: FloatArray, size: int) -> FloatArray:
    """(size, r) sums of rows (n, r) by code."""
    begins = np.concatenate([[0], np.cumsum(np.bincount(code, minlength=size))])
    rows = (np.ones(len(code)), np.argsort(code, kind="stable"), begins)
    sums: FloatArray = scipy.sparse.csr_array(rows, shape=(size, len(code))) @ values
    return sums


def _maximise(
    ratings: Ratings,
    posterior: FloatArray,
    competence: FloatArray,
    habit: FloatArray,
    weight: FloatArray,
    extra: float,
) -> tuple[FloatArray, FloatArray]:
    """New competences and habits, from the probability that each rating was given on purpose."""
    rater, value, (raters, r, c) = ratings.rater, ratings.value, habit.shape
    by_habit = (1 - competence[rater]) * habit[rater, :, value]
    on_purpose = posterior[ratings.unit, :, value] * competence[rater] / (competence[rater] + by_habit)
    counted = weight[ratings.unit]
    purposeful = _summed(rater, on_purpose * counted, raters)
    cells = _summed(rater * c + value, (1 - on_purpose) * counted, raters * c)
    others = cells.reshape(raters, c, r).transpose(0, 2, 1)
    labels = _summed(rater, counted, raters)
    new_competence = (purposeful + extra) / np.maximum(labels + 2 * extra, 1e-300)
    sums = (others + extra).sum(axis=2, keepdims=True)
    new_habit = np.divide(others + extra, sums, out=np.full((raters, r, c), 1 / c), where=sums > 0)
    return new_competence, new_habit


def _expect(
    ratings: Ratings, group: IntArray, prevalence: FloatArray, competence: FloatArray, habit: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Probabilities of the true answers of all units, and the log-likelihoods."""
    c = habit.shape[2]
    by_habit = (1 - competence[ratings.rater]) * habit[ratings.rater, :, ratings.value]
    with np.errstate(divide="ignore"):
        wrong, right = np.log(by_habit), np.log(competence[ratings.rater] + by_habit)
        log_joint = np.log(prevalence)[group]  # (units, r, c)
    # A rating has the same probability under all true answers but its own.
    for answer in range(c):
        terms = np.where((ratings.value == answer)[:, None], right, wrong)
        log_joint[:, :, answer] += _summed(ratings.unit, terms, ratings.units)
    top = log_joint.max(axis=2, keepdims=True)
    shares = np.exp(log_joint - top)
    total = shares.sum(axis=2, keepdims=True)
    return shares / total, (top + np.log(total)).sum(axis=(0, 2))
