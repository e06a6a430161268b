"""Power λ, one for each part: how far an estimate follows the judge, by tuned prediction-powered inference.

Source: Angelopoulos, Duchi & Zrnic 2023 (PPI++, arXiv:2311.01453), section 6; here for clustered labels.
"""

import numpy as np

from evaluation.statistics.labels import FloatArray, IntArray

_SWEEPS = 60
_ROUNDING = 1e-14


def box_minimum(products: FloatArray, right: FloatArray) -> FloatArray:
    """Minimise λᵀ M λ - 2 vᵀ λ over 0 ≤ λ ≤ 1 by coordinate descent.

    Args:
        products: (..., g, g) symmetric matrices M without negative eigenvalues.
        right: (..., g) vectors v.

    Returns:
        (..., g) λ in [0, 1]; 0 where the diagonal of M is 0, since such a judge tells nothing.
    """
    diagonal = np.diagonal(products, axis1=-2, axis2=-1)
    useful = diagonal > _ROUNDING
    divisor = np.where(useful, diagonal, 1.0)
    found = np.zeros_like(right)
    for _ in range(_SWEEPS if right.shape[-1] > 1 else 1):
        for g in range(right.shape[-1]):
            others = (products[..., g, :] * found).sum(axis=-1) - diagonal[..., g] * found[..., g]
            step = np.clip((right[..., g] - others) / divisor[..., g], 0.0, 1.0)
            found[..., g] = np.where(useful[..., g], step, 0.0)
    return found


def check_power(power: float | None) -> None:
    """Check a fixed λ; None: it is tuned.

    Raises:
        ValueError: it is out of range.
    """
    if power is not None and not 0 <= power <= 1:
        raise ValueError(f"power={power} is not a λ between 0 and 1.")


def tuned(
    people: FloatArray, judge: FloatArray, cluster: IntArray, unit: IntArray
) -> tuple[FloatArray, FloatArray]:
    """λ that makes the estimate's variance smallest, from all labels and without each unit's labels.

    Variance and covariance are those of sums over clusters, so that they allow for any dependence within one.
    Leaving each unit out keeps the residuals honest: a λ fitted to few labels makes their own residuals
    smaller than those of new labels.

    Args:
        people: (m,) influence of people's labels on the estimate, 0 in the judge's rows.
        judge: (m, g) influence of the judge's labels on the term that λ multiplies, of each part.
        cluster: (m,) cluster of each row, a code from 0 up.
        unit: (m,) independent unit of each row, a code from 0 up; a cluster belongs to one unit.

    Returns:
        (g,) λ from all rows, and (m, g) for each row, from all units but its own.
    """
    ids, code = np.unique(cluster, return_inverse=True)
    scale = float(np.sqrt((judge**2).sum())) or 1.0
    of_people = np.bincount(code, people, len(ids)) / scale
    of_judge = np.column_stack([np.bincount(code, column, len(ids)) for column in judge.T]) / scale
    _, of_row = np.unique(unit, return_inverse=True)
    of_cluster = np.zeros(len(ids), dtype=np.int64)
    of_cluster[code] = of_row
    units = int(of_row.max()) + 1
    right, products = np.zeros((units, judge.shape[1])), np.zeros((units, judge.shape[1], judge.shape[1]))
    np.add.at(right, of_cluster, of_people[:, None] * of_judge)
    np.add.at(products, of_cluster, of_judge[:, :, None] * of_judge[:, None, :])
    total, all_products = right.sum(axis=0), products.sum(axis=0)
    return box_minimum(all_products, total), box_minimum(all_products - products, total - right)[of_row]
