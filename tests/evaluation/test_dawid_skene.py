"""Dawid and Skene against planted error rates and a literal EM."""

import numpy as np
import pytest

from evaluation.rater_agreement.dawid_skene import TrueAnswers, dawid_skene, estimated_shares
from evaluation.rater_agreement.ratings import Ratings
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import Labels
from evaluation.statistics.ssa import Unit, ssa


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


def test_shares_of_bots_correct_a_careless_rater():
    draw = np.random.default_rng(5)
    rows = []
    for bot, rate in (("good", 0.9), ("poor", 0.4)):
        for item in range(400):
            truth = bool(draw.random() < rate)
            for rater, error in (("careful", 0.05), ("fair", 0.15), ("yes-man", 0.0)):
                answer = True if rater == "yes-man" else truth ^ bool(draw.random() < error)
                rows.append((bot, f"d{item}", 0, rater, answer, False if not answer else truth))
    labels = Labels.from_rows(rows)

    shares = estimated_shares(labels)

    assert shares["good"][0] == pytest.approx(0.9, abs=0.04)  # type: ignore[index]
    assert shares["poor"][0] == pytest.approx(0.4, abs=0.05)  # type: ignore[index]
    assert abs(shares["poor"][0] - 0.4) < abs(ssa(labels, Unit.MAJORITY)["poor"].sensibleness - 0.4)  # type: ignore[index]


def test_one_rater_gives_no_error_rates():
    labels = Labels.from_rows([("a", "d", 0, "rita", True, False), ("a", "d", 2, "rita", False, False)])

    assert isinstance(dawid_skene(Ratings.from_matrix([[0, 1, 1]])), Undefined)
    assert isinstance(estimated_shares(labels)["a"], Undefined)
