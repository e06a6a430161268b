"""Dawid and Skene against planted error rates and a literal EM."""

import numpy as np
import pytest

from evaluation.rater_agreement.dawid_skene import TrueAnswers, dawid_skene
from evaluation.rater_agreement.ratings import Ratings
from evaluation.statistics.interval import Undefined


def literal_em(matrix: np.ndarray, steps: int) -> tuple[np.ndarray, np.ndarray]:
    """Equations 2.3 to 2.5 of the paper, as loops over raters, units and answers."""
    raters, units = matrix.shape
    c = int(np.nanmax(matrix)) + 1
    truth = np.array([[np.sum(matrix[:, i] == k) for k in range(c)] for i in range(units)])
    truth = truth / truth.sum(axis=1, keepdims=True)
    for _ in range(steps):
        share = truth.mean(axis=0)
        error = np.zeros((raters, c, c))
        for r in range(raters):
            for i in range(units):
                if not np.isnan(matrix[r, i]):
                    error[r, :, int(matrix[r, i])] += truth[i]
        error /= error.sum(axis=2, keepdims=True)
        truth = np.tile(share, (units, 1))
        for r in range(raters):
            for i in range(units):
                if not np.isnan(matrix[r, i]):
                    truth[i] *= error[r, :, int(matrix[r, i])]
        truth /= truth.sum(axis=1, keepdims=True)
    return truth, share


def noisy(units: int, accuracy: list[float], *, seed: int = 1) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(seed)
    truth = draw.integers(0, 3, units)
    right = draw.random((len(accuracy), units)) < np.array(accuracy)[:, None]
    return truth, np.where(right, truth, draw.integers(0, 3, (len(accuracy), units))).astype(float)


def test_em_equals_the_equations_of_the_paper():
    _, matrix = noisy(25, [0.9, 0.7, 0.5], seed=3)
    matrix[0, ::5] = np.nan
    expected, share = literal_em(matrix, steps=12)

    fit = dawid_skene(Ratings.from_matrix(matrix), smoothing=0, tolerance=0, most_iterations=12)

    assert isinstance(fit, TrueAnswers)
    assert np.allclose(fit.posterior, expected)
    assert np.allclose(fit.prevalence[0], share)
    assert not fit.converged


def test_the_likelihood_never_falls():
    ratings = Ratings.from_matrix(noisy(60, [0.8, 0.6, 0.5, 0.4])[1])

    steps = [
        dawid_skene(ratings, smoothing=0, tolerance=0, most_iterations=k).log_likelihood for k in range(1, 15)
    ]

    assert (np.diff(steps) > -1e-9).all()


def test_simulated_error_rates_are_recovered():
    _, matrix = noisy(6000, [0.9, 0.7, 0.5, 0.3])

    fit = dawid_skene(Ratings.from_matrix(matrix))

    # a rater who errs answers at random, so is right with accuracy + (1 - accuracy) / 3
    right = np.trace(fit.confusion, axis1=1, axis2=2) / 3
    assert right == pytest.approx([0.9 + 0.1 / 3, 0.7 + 0.3 / 3, 0.5 + 0.5 / 3, 0.3 + 0.7 / 3], abs=0.02)
    assert fit.converged


def test_dawid_skene_beats_the_majority_with_one_careful_rater():
    truth, matrix = noisy(2000, [0.97, 0.35, 0.35])
    votes = Ratings.from_matrix(matrix).counts

    fit = dawid_skene(Ratings.from_matrix(matrix))

    assert (fit.posterior.argmax(axis=1) == truth).mean() > (votes.argmax(axis=1) == truth).mean() + 0.1


# Five anaesthetists on the fitness of 45 patients, the first three times (table 1 of the paper).
PATIENTS = """
1111111 3334334 1122122 2223121 2223222 2223322 1222111 3333433 2222223 2322223 4444444 2223343
1111111 2223212 1211111 1112111 1111111 1111111 2222221 2221322 2222222 2222221 2223222 2212222
1111111 1111111 2322222 1111111 1111111 1121121 1111111 3333233 1111111 2222222 2223232 4334343
2212232 2323233 3333432 1111111 1111111 1212111 2322222 1211111 2222222
"""


def test_the_anaesthetists_have_the_published_shares():
    answers = np.array([[int(each) for each in patient] for patient in PATIENTS.split()])
    patient = np.repeat(np.arange(45), 7)
    rater = np.tile([0, 0, 0, 1, 2, 3, 4], 45)
    ratings = Ratings(patient, rater, answers.ravel() - 1, 45, 5, np.array([1, 2, 3, 4]))

    fit = dawid_skene(ratings, smoothing=0, tolerance=1e-8)

    # The marginal probabilities of the four classes that the paper gives.
    assert isinstance(fit, TrueAnswers)
    assert fit.prevalence[0] == pytest.approx([0.40, 0.42, 0.11, 0.07], abs=0.005)


def test_groups_have_shares_of_their_own():
    draw = np.random.default_rng(5)
    bot, rater = np.repeat([0, 1], 400), np.arange(3)
    truth = draw.random(800) < np.where(bot == 0, 0.9, 0.4)
    wrong = draw.random((3, 800)) < np.array([0.05, 0.15, 0.0])[:, None]
    answers = np.where((rater == 2)[:, None], True, truth ^ wrong)  # the third says yes to everything

    fit = dawid_skene(Ratings.from_matrix(answers.astype(float)), bot)

    assert isinstance(fit, TrueAnswers)
    by_majority = (answers.sum(axis=0) > 1)[bot == 1].mean()
    assert fit.prevalence[:, 1] == pytest.approx([0.9, 0.4], abs=0.05)
    assert abs(fit.prevalence[1, 1] - 0.4) < abs(by_majority - 0.4)


def test_one_rater_gives_no_error_rates():
    assert isinstance(dawid_skene(Ratings.from_matrix([[0, 1, 1]])), Undefined)
