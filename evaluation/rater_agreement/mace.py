"""MACE: estimate of true answers from raters of whom some answer without looking.

Source: Hovy, Berg-Kirkpatrick, Vaswani & Hovy 2013, Learning Whom to Trust with MACE, NAACL-HLT. A rater
gives the true answer with a probability of their own, the competence, and otherwise draws an answer from a
fixed habit. Given the truth, raters answer independently; all true answers are equally likely beforehand.
"""

from dataclasses import dataclass

import numpy as np

from evaluation.rater_agreement.ratings import Ratings
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import FloatArray


@dataclass(frozen=True, slots=True)
class Competence:
    """The fitted model.

    Attributes:
        posterior: (units, c) probability of each true answer of each unit; rows sum to 1.
        competence: (raters,) probability that a rater gives the true answer on purpose, in [0, 1].
        habit: (raters, c) shares of a rater's other answers; rows sum to 1.
        log_likelihood: log-likelihood of the ratings.
        iterations: EM steps taken.
        converged: whether the last step changed no posterior by more than the tolerance.
    """

    posterior: FloatArray
    competence: FloatArray
    habit: FloatArray
    log_likelihood: float
    iterations: int
    converged: bool


def mace(
    ratings: Ratings, *, smoothing: float = 0.01, tolerance: float = 1e-4, most_iterations: int = 500
) -> Competence | Undefined:
    """Fit the model by expectation maximisation, starting from the share of votes for each answer.

    The authors start ten times at random and keep the largest likelihood; this start needs no seed.

    Args:
        ratings: any number of raters; ratings may be missing.
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
    extra = smoothing / c
    votes = ratings.counts
    total = votes.sum(axis=1, keepdims=True)
    posterior = np.divide(votes, total, out=np.full_like(votes, 1 / c), where=total > 0)
    competence, habit = np.full(ratings.raters, 0.5), np.full((ratings.raters, c), 1 / c)
    change, iterations, log_likelihood = np.inf, 0, -np.inf
    while change > tolerance and iterations < most_iterations:
        competence, habit = _maximise(ratings, posterior, competence, habit, extra)
        previous = posterior
        posterior, log_likelihood = _expect(ratings, competence, habit)
        change = float(np.abs(posterior - previous).max())
        iterations += 1
    return Competence(posterior, competence, habit, log_likelihood, iterations, change <= tolerance)


def _maximise(
    ratings: Ratings, posterior: FloatArray, competence: FloatArray, habit: FloatArray, extra: float
) -> tuple[FloatArray, FloatArray]:
    """New competences and habits, from the probability that each rating was given on purpose."""
    rater, c = ratings.rater, habit.shape[1]
    by_habit = (1 - competence[rater]) * habit[rater, ratings.value]
    on_purpose = posterior[ratings.unit, ratings.value] * competence[rater] / (competence[rater] + by_habit)
    purposeful = np.bincount(rater, on_purpose, ratings.raters)
    cells = np.bincount(rater * c + ratings.value, 1 - on_purpose, ratings.raters * c)
    others = cells.reshape(ratings.raters, c)
    labels = np.bincount(rater, minlength=ratings.raters)
    new_competence = (purposeful + extra) / np.maximum(labels + 2 * extra, 1e-300)
    sums = (others + extra).sum(axis=1, keepdims=True)
    new_habit = np.divide(others + extra, sums, out=np.full_like(others, 1 / c), where=sums > 0)
    return new_competence, new_habit


def _expect(ratings: Ratings, competence: FloatArray, habit: FloatArray) -> tuple[FloatArray, float]:
    """Probabilities of the true answers of all units, and the log-likelihood."""
    c = habit.shape[1]
    by_habit = (1 - competence[ratings.rater]) * habit[ratings.rater, ratings.value]
    with np.errstate(divide="ignore"):
        wrong, right = np.log(by_habit), np.log(competence[ratings.rater] + by_habit)
    # A rating has the same probability under all true answers but its own.
    log_joint = np.full((ratings.units, c), -np.log(c))
    for answer in range(c):
        terms = np.where(ratings.value == answer, right, wrong)
        log_joint[:, answer] += np.bincount(ratings.unit, terms, ratings.units)
    top = log_joint.max(axis=1, keepdims=True)
    weight = np.exp(log_joint - top)
    total = weight.sum(axis=1, keepdims=True)
    return weight / total, float((top + np.log(total)).sum())
