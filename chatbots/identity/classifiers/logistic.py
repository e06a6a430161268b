"""Multinomial logistic regression with an l2 penalty, by L-BFGS.

Used on bags of words, and on hashed n-grams of words and letters in place of fastText.
"""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_matrix
from scipy.special import log_softmax, softmax

from chatbots.identity.classifiers.base import TrainableClassifier, numbers_of
from chatbots.identity.features import HashedNgrams, TfIdf
from chatbots.identity.labels import LABELS, Label


def fit(
    rows: csr_matrix, labels: NDArray[np.int64], classes: int, *, strength: float = 1.0
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Minimise strength * sum of the losses -ln p(label | row) + half the squared weights.

    This is the problem of scikit-learn's LogisticRegression(C=strength); intercepts are not penalised.

    Args:
        rows: (n, v).
        labels: (n,) from 0 to classes - 1.
        classes: number of labels.
        strength: strength of the data against the penalty, above 0.

    Returns:
        Weights (v, classes) and intercepts (classes,).

    Raises:
        ValueError: the search did not converge.
    """
    width = rows.shape[1]
    onehot, columns = np.eye(classes)[labels], rows.T.tocsr()

    share = 1 / (
        strength * len(labels)
    )  # scaled to one text's loss, so that the tolerance fits any number of texts

    def loss(flat: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        weights, bias = flat[: width * classes].reshape(width, classes), flat[width * classes :]
        scores = rows @ weights + bias
        value = -float((onehot * log_softmax(scores, axis=1)).mean(axis=0).sum())
        wrong = (softmax(scores, axis=1) - onehot) / len(labels)
        gradient = columns @ wrong + share * weights
        return value + 0.5 * share * float((weights**2).sum()), np.append(gradient, wrong.sum(axis=0))

    options: dict[str, Any] = {"maxiter": 2_000, "maxfun": 4_000, "gtol": 1e-6, "ftol": 1e-9}
    start: NDArray[np.float64] = np.zeros((width + 1) * classes)
    result: Any = minimize(loss, start, jac=True, method="L-BFGS-B", options=options)  # type: ignore[call-overload]
    if not result.success:
        raise ValueError(f"The regression did not converge: {result.message}. Give a smaller strength.")
    return result.x[: width * classes].reshape(width, classes), result.x[width * classes :]


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


class BagOfWords(TrainableClassifier):
    """Logistic regression (l2, strength 1) on l2-normalised TF-IDF of Treebank words."""

    kind = "bow"

    def __init__(self, features: TfIdf, weights: NDArray[np.float64], bias: NDArray[np.float64]) -> None:
        self._features, self._weights, self._bias = features, weights, bias

    @classmethod
    def trained(
        cls, texts: Sequence[str], labels: Sequence[Label], *, seed: int = 0, **settings: Any
    ) -> Self:
        """Find the only minimum of a convex loss: the seed has no effect."""
        features = TfIdf.fitted(texts)
        return cls(features, *fit(features(texts), numbers_of(labels), len(LABELS)))

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Softmax of the scores."""
        return predict(self._features(texts), self._weights, self._bias)

    def _save(self, folder: Path) -> Mapping[str, Any]:
        (folder / "vocabulary.json").write_text(json.dumps(self._features.vocabulary), "utf-8")
        np.savez_compressed(
            folder / "weights.npz", idf=self._features.idf, weights=self._weights, bias=self._bias
        )
        return {}

    @classmethod
    def _load(cls, folder: Path, settings: Mapping[str, Any]) -> Self:
        vocabulary = json.loads((folder / "vocabulary.json").read_text("utf-8"))
        with np.load(folder / "weights.npz", allow_pickle=False) as arrays:
            return cls(TfIdf(vocabulary, arrays["idf"]), arrays["weights"], arrays["bias"])


BUCKETS = 2**16
WORDS = 4
CHARACTERS = (3, 5)
STRENGTH = 30.0


class Ngrams(TrainableClassifier):
    """Linear softmax on the average of a text's n-grams, like fastText without its hidden layer.

    fastText trains an embedding of each n-gram and a softmax on their average: a linear model of limited
    rank, which three labels do not use. Without the limit the loss is convex and has one minimum.

    Source: Joulin et al. 2017, Bag of Tricks for Efficient Text Classification.
    """

    kind = "ngrams"

    def __init__(
        self, features: HashedNgrams, weights: NDArray[np.float32], bias: NDArray[np.float64]
    ) -> None:
        self._features, self._weights, self._bias = features, weights, bias

    @classmethod
    def trained(
        cls,
        texts: Sequence[str],
        labels: Sequence[Label],
        *,
        seed: int = 0,
        strength: float = STRENGTH,
        buckets: int = BUCKETS,
        **settings: Any,
    ) -> Self:
        """Find the only minimum of a convex loss: the seed has no effect.

        Args:
            texts: n of them.
            labels: label of each text.
            seed: seed of classifiers that draw.
            strength: strength of the data against the penalty on the weights, above 0.
            buckets: columns into which n-grams are hashed.
            settings: settings of other classifiers; ignored.
        """
        features = HashedNgrams(buckets, WORDS, CHARACTERS)
        weights, bias = fit(features(texts), numbers_of(labels), len(LABELS), strength=strength)
        return cls(features, weights.astype(np.float32), bias)

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Softmax of the scores."""
        if len(texts) == 1:  # a sparse matrix of one row costs more than the row
            return self._probabilities_of_one(texts[0])
        return predict(self._features(texts), self._weights, self._bias)

    def _probabilities_of_one(self, text: str) -> NDArray[np.float64]:
        columns = self._features.columns(text)
        scores = (
            self._weights[columns].sum(axis=0, dtype=np.float64) / max(1, len(columns)) ** 0.5 + self._bias
        )
        exponents = np.exp(scores - scores.max())
        probabilities: NDArray[np.float64] = (exponents / exponents.sum())[None, :]
        return probabilities

    def _save(self, folder: Path) -> Mapping[str, Any]:
        used = np.flatnonzero(np.abs(self._weights).max(axis=1) > 0)
        np.savez_compressed(
            folder / "weights.npz",
            columns=used.astype(np.int32),
            weights=self._weights[used].astype(np.float16),
            bias=self._bias,
        )
        words, characters = self._features.words, self._features.characters
        return {"buckets": self._features.buckets, "words": words, "characters": list(characters)}

    @classmethod
    def _load(cls, folder: Path, settings: Mapping[str, Any]) -> Self:
        shortest, longest = settings["characters"]
        features = HashedNgrams(settings["buckets"], settings["words"], (shortest, longest))
        with np.load(folder / "weights.npz", allow_pickle=False) as arrays:
            weights = np.zeros((features.buckets, len(LABELS)), dtype=np.float32)
            weights[arrays["columns"]] = arrays["weights"]
            return cls(features, weights, arrays["bias"])
