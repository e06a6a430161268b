"""Errors of least squares that assume neither equal variance nor independence within clusters ("CR2").

"HC2" if every row is a cluster. They are the sandwich of Liang & Zeger (1986, Biometrika 73(1)), with
residuals corrected for the leverage of their cluster. Satterthwaite's degrees of freedom (Bell & McCaffrey
2002, Survey Methodology 28(2)) allow for few clusters and for single influential ones. `wald` tests several
estimates together, with the degrees of freedom of Hotelling's T². Pustejovsky & Tipton (2018, Journal of
Business & Economic Statistics 36(4)) describe all three.

Shapes: k estimates, n rows, g clusters, r directions that the rows of the design span.
"""

from typing import NamedTuple

import numpy as np
import scipy

from evaluation.statistics.labels import FloatArray, IntArray

_PINNED = 1e-6
"""Residual share below which a cluster determines a direction alone and leaves no residual in it."""


class Errors(NamedTuple):
    """Standard errors of estimates.

    Attributes:
        values: (k,) standard errors.
        freedom: (k,) degrees of freedom of each; 0 if unknown.
    """

    values: FloatArray
    freedom: FloatArray


def orthonormal(design: FloatArray, tolerance: float) -> FloatArray:
    """Orthonormal basis of the space that the columns of a design span.

    Args:
        design: (n, p).
        tolerance: directions shorter than this share of the longest are dropped.

    Returns:
        (n, r) orthonormal columns, r at most p.
    """
    basis, lengths, _ = np.linalg.svd(design, full_matrices=False)
    columns: FloatArray = basis[:, lengths > tolerance * lengths[0]]
    return columns


class Wald(NamedTuple):
    """Test that several estimates are all zero.

    Attributes:
        f: the statistic, scaled to an F distribution.
        numerator: degrees of freedom of the numerator, the number of estimates.
        denominator: degrees of freedom of the denominator.
        p: probability of this F or a larger one if all are zero; NaN if the clusters are too few to tell.
    """

    f: float
    numerator: int
    denominator: float
    p: float


class _Parts(NamedTuple):
    """Contributions of the clusters to the estimates.

    Attributes:
        scores: (g, k) sums of the residuals with the corrected weights.
        weights: (n, k) the weights, sorted by cluster.
        starts: (g,) first row of each cluster in `weights`.
        taken: (g, k, r) weights on the basis.
        more: (g, k, r) correction of the weights on the basis.
        pull: (g, r, r) Q'Q of the cluster's rows Q of the basis.
    """

    scores: FloatArray
    weights: FloatArray
    starts: IntArray
    taken: FloatArray
    more: FloatArray
    pull: FloatArray

    @property
    def crossed(self) -> FloatArray:
        """(g, k, r) the corrected weights on the basis."""
        return self.taken + self.more @ self.pull


def errors(weights: FloatArray, basis: FloatArray, residuals: FloatArray, clusters: IntArray) -> Errors:
    """Compute standard errors of estimates that are weighted sums of the response.

    Args:
        weights: (k, n) weight of each row in each estimate: for coefficients the design's pseudoinverse, for
            predictions a sum of its rows.
        basis: (n, r) basis of the design, from `orthonormal`.
        residuals: (n,) residuals of the fit.
        clusters: (n,) cluster of each row, numbered from 0; rows of a cluster may depend on each other.
    """
    parts = _parts(weights, basis, residuals, clusters)
    own = np.add.reduceat(parts.weights**2, parts.starts, axis=0)
    squares = own + (parts.more * (2 * parts.taken + parts.more @ parts.pull)).sum(axis=2)
    return Errors(np.sqrt((parts.scores**2).sum(axis=0)), _freedom(squares, parts.crossed))


def wald(
    estimates: FloatArray, weights: FloatArray, basis: FloatArray, residuals: FloatArray, clusters: IntArray
) -> Wald:
    """Test that all estimates are zero ("HTZ").

    Args:
        estimates: (k,) the estimates, linearly independent; few, since the work grows with their cube.
        weights: (k, n) as of `errors`.
        basis: (n, r) likewise.
        residuals: (n,) likewise.
        clusters: (n,) likewise.
    """
    expected = weights @ weights.T  # covariance for independent residuals of variance 1
    lengths, directions = np.linalg.eigh(expected)
    to_unit = (directions / np.sqrt(lengths)) @ directions.T
    parts = _parts(to_unit @ weights, basis, residuals, clusters)
    covariance = parts.scores.T @ parts.scores
    k, freedom = len(estimates), _joint_freedom(parts)
    denominator = freedom - k + 1
    unit = to_unit @ estimates
    if denominator <= 0 or np.linalg.matrix_rank(covariance) < k:
        return Wald(float("nan"), k, max(denominator, 0.0), float("nan"))
    f = float(denominator / freedom / k * (unit @ np.linalg.solve(covariance, unit)))
    return Wald(f, k, denominator, float(scipy.special.fdtrc(k, denominator, f)))


def _parts(weights: FloatArray, basis: FloatArray, residuals: FloatArray, clusters: IntArray) -> _Parts:
    basis, weights = basis[order := np.argsort(clusters, kind="stable")], weights[:, order]
    starts = np.flatnonzero(np.diff(clusters[order], prepend=-1))

    def summed(rows: FloatArray) -> FloatArray:
        """Sum rows (n, …) over clusters to (g, …)."""
        sums: FloatArray = np.add.reduceat(rows, starts, axis=0)
        return sums

    pull = summed(basis[:, :, None] * basis[:, None, :])
    taken = summed(weights.T[:, :, None] * basis[:, None, :])
    more = taken @ _grown(pull)
    # A cluster with rows Q of the basis has the corrected weights w (I - QQ')^(-1/2) = w + (w Q) grown Q'.
    left = residuals[order, None]
    scores = summed(weights.T * left) + (more @ summed(basis * left)[:, :, None])[:, :, 0]
    return _Parts(scores, weights.T, starts, taken, more, pull)


def _grown(pull: FloatArray) -> FloatArray:
    """(g, r, r) the matrix G with (I - QQ')^(-1/2) = I + QGQ', for clusters with Q'Q = `pull`."""
    lengths, directions = np.linalg.eigh(pull)
    left = np.sqrt(np.clip(1 - lengths, 0, 1))
    grown = np.where(left > _PINNED, 1 / (np.maximum(left, _PINNED) * (1 + left)), -1.0)
    product: FloatArray = (directions * grown[:, None, :]) @ directions.swapaxes(1, 2)
    return product


def _freedom(squares: FloatArray, crossed: FloatArray) -> FloatArray:
    """(k,) (tr P)² / |P|², where P = diag(`squares`) - `crossed` `crossed`', for each estimate.

    P has the covariances of the clusters' scores for residuals of equal variance. Shapes of the arguments:
    (g, k) and (g, k, r).
    """
    squared_sums = (crossed**2).sum(axis=2)
    between = np.einsum("gkr,gks->krs", crossed, crossed)
    norm = (squares**2 - 2 * squares * squared_sums).sum(axis=0) + (between**2).sum(axis=(1, 2))
    trace = (squares - squared_sums).sum(axis=0)
    freedoms: FloatArray = np.divide(trace**2, norm, out=np.zeros_like(trace), where=norm > 0)
    return freedoms


def _joint_freedom(parts: _Parts) -> float:
    """Degrees of freedom of the estimates' covariance matrix, whose expectation is the identity.

    k (k + 1) over the sum of the variances of its entries, for independent residuals of equal variance.
    """
    taken, more, crossed = parts.taken, parts.more, parts.crossed
    k = taken.shape[1]
    own = np.add.reduceat(parts.weights[:, :, None] * parts.weights[:, None, :], parts.starts, axis=0)
    through = more @ taken.swapaxes(1, 2)
    within = own + through + through.swapaxes(1, 2) + more @ parts.pull @ more.swapaxes(1, 2)  # (g, k, k)
    passed = crossed @ crossed.swapaxes(1, 2)
    between = np.einsum("gsr,gtu->stru", crossed, crossed)
    total = 0.0
    for s in range(k):
        for t in range(k):
            alike = within[:, s, s] * within[:, t, t] + within[:, s, t] ** 2
            mixed = within[:, s, s] * passed[:, t, t] + passed[:, s, s] * within[:, t, t]
            mixed = mixed + 2 * within[:, s, t] * passed[:, s, t]
            far = (between[s, t] ** 2).sum() + np.trace(between[s, t] @ between[s, t])
            total += float((alike - mixed).sum() + far)
    return k * (k + 1) / total if total > 0 else 0.0
