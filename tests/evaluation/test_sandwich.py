"""Errors that allow for unequal variance and for clusters, against statsmodels and against plain matrices."""

import numpy as np
import pytest
import statsmodels.api as sm
from numpy.random import default_rng
from scipy.linalg import block_diag, fractional_matrix_power

from evaluation.statistics.labels import FloatArray, IntArray
from evaluation.statistics.linear_models.sandwich import Errors, errors, orthonormal, wald


def line(seed: int, sizes: list[int]) -> tuple[FloatArray, FloatArray, IntArray]:
    """A design with ones, what is regressed on it, and clusters of these sizes, their rows mixed."""
    rng = default_rng(seed)
    clusters = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    design = np.column_stack([np.ones(len(clusters)), rng.normal(size=(len(clusters), 2)) ** 2])
    return design, design @ [1, 2, 3] + rng.normal(size=len(clusters)) * design[:, 1], clusters


def of_coefficients(design: FloatArray, y: FloatArray, clusters: IntArray) -> Errors:
    weights = np.linalg.pinv(design).astype(np.float64)
    return errors(weights, orthonormal(design, 1e-8), y - design @ (weights @ y), clusters)


def by_matrices(design: FloatArray, y: FloatArray, clusters: IntArray) -> tuple[FloatArray, FloatArray]:
    """Pustejovsky & Tipton 2018, sections 2.1 and 2.3, as they stand; residuals of equal variance assumed."""
    order = np.argsort(clusters, kind="stable")
    x, y, clusters = design[order], y[order], clusters[order]
    bread = np.linalg.inv(x.T @ x)
    hat = x @ bread @ x.T
    left = np.eye(len(x)) - hat
    blocks = [clusters == each for each in np.unique(clusters)]
    grown = block_diag(*(fractional_matrix_power(left[np.ix_(b, b)], -0.5) for b in blocks))
    found, freedom = [], []
    for place in range(x.shape[1]):
        weights = (bread @ x.T)[place] @ grown
        scores = [weights[b] @ (left @ y)[b] for b in blocks]
        p = np.array([[weights[a] @ left[np.ix_(a, b)] @ weights[b] for b in blocks] for a in blocks])
        found.append(np.sqrt(np.sum(np.square(scores))))
        freedom.append(np.trace(p) ** 2 / np.sum(p**2))
    return np.array(found), np.array(freedom)


@pytest.mark.parametrize("sizes", [[1] * 12, [5, 5, 5, 5], [1, 2, 9, 4, 3]])
def test_errors_and_degrees_of_freedom_are_those_of_the_published_matrices(sizes: list[int]) -> None:
    design, y, clusters = line(len(sizes), sizes)

    found = of_coefficients(design, y, clusters)

    wanted, freedom = by_matrices(design, y, clusters)
    assert found.values == pytest.approx(wanted, rel=1e-9)
    assert found.freedom == pytest.approx(freedom, rel=1e-9)


def test_rows_by_themselves_have_statsmodels_hc2_errors() -> None:
    design, y, clusters = line(1, [1] * 30)

    found = of_coefficients(design, y, clusters)

    assert found.values == pytest.approx(sm.OLS(y, design).fit(cov_type="HC2").bse, rel=1e-10)


def test_a_mean_of_equal_variances_has_students_degrees_of_freedom() -> None:
    y = default_rng(2).normal(size=9)

    found = of_coefficients(np.ones((9, 1)), y, np.arange(9))

    assert found.values == pytest.approx([y.std(ddof=1) / 3])
    assert found.freedom == pytest.approx([8])


def test_a_column_that_one_cluster_has_to_itself_leaves_its_error_to_others() -> None:
    """Only the last cluster has the last column, which takes its mean away; the rest is as without it."""
    rng = default_rng(3)
    clusters = np.repeat(np.arange(5), 6)
    last = (clusters == 4).astype(float)
    y = rng.normal(size=30)
    rest = y[clusters < 4]

    found = of_coefficients(np.column_stack([np.ones(30), last]), y, clusters)

    alone = of_coefficients(np.ones((24, 1)), rest, clusters[clusters < 4])
    assert found.values[0] == pytest.approx(alone.values[0])
    assert found.freedom[0] == pytest.approx(alone.freedom[0])


def test_a_duplicate_column_changes_no_prediction() -> None:
    design, y, clusters = line(4, [4] * 6)
    twice = np.column_stack([design, design[:, 1]])
    weights = np.linalg.pinv(twice)

    of_sum = errors(
        (weights[1] + weights[3])[None], orthonormal(twice, 1e-8), y - twice @ (weights @ y), clusters
    )

    once = of_coefficients(design, y, clusters)
    assert of_sum.values[0] == pytest.approx(once.values[1])
    assert of_sum.freedom[0] == pytest.approx(once.freedom[1])


def joint_by_matrices(
    design: FloatArray, y: FloatArray, clusters: IntArray, picked: list[int]
) -> tuple[float, float]:
    """Wald statistic and degrees of freedom of these coefficients ("HTZ"), from whole matrices."""
    order = np.argsort(clusters, kind="stable")
    x, y, clusters = design[order], y[order], clusters[order]
    bread = np.linalg.inv(x.T @ x)
    left = np.eye(len(x)) - x @ bread @ x.T
    blocks = [clusters == each for each in np.unique(clusters)]
    grown = block_diag(*(fractional_matrix_power(left[np.ix_(b, b)], -0.5) for b in blocks))
    rows = (bread @ x.T)[picked]
    unit = fractional_matrix_power(rows @ rows.T, -0.5)
    weights = unit @ rows @ grown
    scores = np.array([weights[:, b] @ (left @ y)[b] for b in blocks])
    of = unit @ (bread @ x.T @ y)[picked]
    joint = np.array([[weights[:, a] @ left[np.ix_(a, b)] @ weights[:, b].T for b in blocks] for a in blocks])
    variances = [
        (joint[:, :, s, s] * joint[:, :, t, t]).sum() + (joint[:, :, s, t] * joint[:, :, t, s]).sum()
        for s in range(len(picked))
        for t in range(len(picked))
    ]
    k = len(picked)
    return float(of @ np.linalg.inv(scores.T @ scores) @ of), k * (k + 1) / sum(variances)


@pytest.mark.parametrize("sizes", [[1] * 14, [5, 5, 5, 5, 4], [1, 2, 9, 4, 3, 2, 2]])
@pytest.mark.parametrize("picked", [[1], [1, 2]])
def test_a_joint_test_is_that_of_the_published_matrices(sizes: list[int], picked: list[int]) -> None:
    design, y, clusters = line(len(sizes), sizes)
    weights = np.linalg.pinv(design).astype(np.float64)
    residuals = y - design @ (weights @ y)

    found = wald((weights @ y)[picked], weights[picked], orthonormal(design, 1e-8), residuals, clusters)

    statistic, freedom = joint_by_matrices(design, y, clusters, picked)
    k = len(picked)
    assert found.denominator == pytest.approx(freedom - k + 1, rel=1e-9)
    assert found.f == pytest.approx(statistic * (freedom - k + 1) / freedom / k, rel=1e-9)


def test_a_joint_test_of_rows_by_themselves_has_statsmodels_statistic() -> None:
    design, y, clusters = line(1, [1] * 30)
    weights = np.linalg.pinv(design).astype(np.float64)

    found = wald(
        (weights @ y)[1:], weights[1:], orthonormal(design, 1e-8), y - design @ (weights @ y), clusters
    )

    theirs = sm.OLS(y, design).fit(cov_type="HC2").wald_test(np.eye(3)[1:], use_f=True, scalar=True)
    scale = (found.denominator + 1) / found.denominator
    assert found.f * scale == pytest.approx(float(theirs.statistic), rel=1e-9)


def test_a_joint_test_of_one_estimate_is_its_t_test() -> None:
    design, y, clusters = line(4, [3, 5, 2, 4, 6, 3])
    weights = np.linalg.pinv(design).astype(np.float64)
    basis, residuals = orthonormal(design, 1e-8), y - design @ (weights @ y)

    found = wald((weights @ y)[[2]], weights[[2]], basis, residuals, clusters)

    single = errors(weights[[2]], basis, residuals, clusters)
    assert found.f == pytest.approx(float((weights @ y)[2] / single.values[0]) ** 2)
    assert found.denominator == pytest.approx(float(single.freedom[0]))


def test_a_joint_test_of_more_estimates_than_clusters_can_tell_has_no_p() -> None:
    design, y, clusters = line(5, [6, 6, 6])
    weights = np.linalg.pinv(design).astype(np.float64)

    found = wald(weights @ y, weights, orthonormal(design, 1e-8), y - design @ (weights @ y), clusters)

    assert np.isnan(found.p)
