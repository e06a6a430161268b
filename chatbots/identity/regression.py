"""Multinomial logistic regression with an l2 penalty, by L-BFGS."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import log_softmax, softmax


def fit(
    rows: csr_matrix, labels: NDArray[np.int64], classes: int, *, strength: float = 1.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Weights that minimise strength * sum of the losses -ln p(label | row) + half the squared weights.

    The same problem as scikit-learn's LogisticRegression(C=strength) solves; intercepts are not penalised.

    Args:
        rows: (n, v).
        labels: (n,) from 0 to classes - 1.
        classes: how many labels there are.
        strength: of the data against the penalty, above 0.

    Returns:
        Weights (v, classes) and intercepts (classes,).

    Raises:
        ValueError: the search did not end.
    """
    width = rows.shape[1]
    onehot, columns = np.eye(classes)[labels], rows.T.tocsr()

    share = 1 / (strength * len(labels))  # of one text's loss, so that the tolerance fits any number of texts

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights, bias = flat[: width * classes].reshape(width, classes), flat[width * classes :]
        scores = rows @ weights + bias
        value = -float((onehot * log_softmax(scores, axis=1)).mean(axis=0).sum())
        wrong = (softmax(scores, axis=1) - onehot) / len(labels)
        gradient = columns @ wrong + share * weights
        return value + 0.5 * share * float((weights**2).sum()), np.append(gradient, wrong.sum(axis=0))

    options: dict[str, Any] = {"maxiter": 2_000, "maxfun": 4_000, "gtol": 1e-6, "ftol": 1e-9}
    start: NDArray[np.float64] = np.zeros((width + 1) * classes)
    found: Any = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)  # type: ignore[call-overload]
    if not found.success:
        raise ValueError(f"The regression did not converge: {found.message}. Give a smaller strength.")
    return found.x[: width * classes].reshape(width, classes), found.x[width * classes :]


def predict(
    rows: csr_matrix, weights: NDArray[np.floating], bias: NDArray[np.floating]
) -> NDArray[np.float64]:
    """(n, classes) probabilities; every row sums to 1.

    Args:
        rows: features, (n, width).
        weights: (width, classes).
        bias: (classes,).
    """
    probabilities: NDArray[np.float64] = softmax(rows @ weights + bias, axis=1)
    return probabilities
