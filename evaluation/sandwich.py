"""Errors of least squares that assume neither equal variance nor independence within clusters ("CR2").

The sandwich of Liang & Zeger (1986, Biometrika 73(1)), residuals corrected for the pull that their own
cluster has on the line, with Satterthwaite's degrees of freedom (Bell & McCaffrey 2002, Survey Methodology
28(2)), which allow for few clusters and for single ones that pull most. Pustejovsky & Tipton (2018, Journal
of Business & Economic Statistics 36(4)) describe both. Where every row is a cluster of its own it is "HC2".

Shapes: k estimates, n rows, g clusters, r directions that the rows of the design span.
"""

from typing import NamedTuple

import numpy as np

from evaluation.labels import FloatArray, IntArray

_PINNED = 1e-6
"""A cluster that has a direction nearly to itself leaves no residual in it."""


class Errors(NamedTuple):
    """How far estimates may be off.

    Attributes:
        values: (k,) standard errors.
        freedom: (k,) degrees of freedom of each; 0 where nothing can be told.
    """

    values: FloatArray
    freedom: FloatArray


def orthonormal(design: FloatArray, tolerance: float) -> FloatArray:
    """An orthonormal basis of what the columns of a design span.

    Args:
        design: (n, p).
        tolerance: directions shorter than this share of the longest do not count.

    Returns:
        (n, r) orthonormal columns, r at most p.
    """
    basis, lengths, _ = np.linalg.svd(design, full_matrices=False)
    found: FloatArray = basis[:, lengths > tolerance * lengths[0]]
    return found


def errors(weights: FloatArray, basis: FloatArray, residuals: FloatArray, clusters: IntArray) -> Errors:
    """Errors of estimates that are sums of what is regressed.

    Args:
        weights: (k, n) what each estimate takes of each row: of coefficients the design's pseudoinverse, of
            what the line foretells a sum of its rows.
        basis: (n, r) of the design: `orthonormal`.
        residuals: (n,) what the line leaves.
        clusters: (n,) whose rows may depend on each other, numbered from 0.
    """
    basis, weights = basis[order := np.argsort(clusters, kind="stable")], weights[:, order]
    starts = np.flatnonzero(np.diff(clusters[order], prepend=-1))

    def summed(rows: FloatArray) -> FloatArray:
        """(n, …) over clusters, (g, …)."""
        found: FloatArray = np.add.reduceat(rows, starts, axis=0)
        return found

    pull = summed(basis[:, :, None] * basis[:, None, :])
    grown = _grown(pull)
    taken = summed(weights.T[:, :, None] * basis[:, None, :])  # (g, k, r)
    more = taken @ grown
    # Of a cluster with rows Q of the basis the corrected weights are w (I - QQ')^(-1/2) = w + (w Q) grown Q'.
    left = residuals[order, None]
    scores = summed(weights.T * left) + (more @ summed(basis * left)[:, :, None])[:, :, 0]
    squares = summed(weights.T**2) + (more * (2 * taken + more @ pull)).sum(axis=2)
    return Errors(np.sqrt((scores**2).sum(axis=0)), _freedom(squares, taken + more @ pull))


def _grown(pull: FloatArray) -> FloatArray:
    """(g, r, r) what (I - QQ')^(-1/2) adds to I, between Q and Q', of clusters with Q'Q = `pull`."""
    lengths, directions = np.linalg.eigh(pull)
    left = np.sqrt(np.clip(1 - lengths, 0, 1))
    grown = np.where(left > _PINNED, 1 / (np.maximum(left, _PINNED) * (1 + left)), -1.0)
    found: FloatArray = (directions * grown[:, None, :]) @ directions.swapaxes(1, 2)
    return found


def _freedom(squares: FloatArray, crossed: FloatArray) -> FloatArray:
    """(k,) (tr P)² / |P|², where P = diag(`squares`) - `crossed` `crossed`', for each estimate.

    P has the covariances of the clusters' scores for residuals of equal variance; (g, k) and (g, k, r).
    """
    own = (crossed**2).sum(axis=2)
    between = np.einsum("gkr,gks->krs", crossed, crossed)
    norm = (squares**2 - 2 * squares * own).sum(axis=0) + (between**2).sum(axis=(1, 2))
    trace = (squares - own).sum(axis=0)
    known: FloatArray = np.divide(trace**2, norm, out=np.zeros_like(trace), where=norm > 0)
    return known
