"""Logistic regression on hashed n-grams of words and letters: in the place of fastText."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from chatbots.identity import regression
from chatbots.identity.classifiers.base import TrainableClassifier, numbers_of
from chatbots.identity.features import HashedNgrams
from chatbots.identity.labels import LABELS, Label

BUCKETS = 2**16
WORDS = 4
CHARACTERS = (3, 5)
STRENGTH = 30.0


class Ngrams(TrainableClassifier):
    """Linear softmax on the average of a text's n-grams, as fastText has it, without its hidden layer.

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
        """The one minimum of a convex loss: the seed changes nothing.

        Args:
            texts: n of them.
            labels: of each.
            seed: of classifiers that draw.
            strength: of the data against the penalty on the weights, above 0.
            buckets: columns into which n-grams are hashed.
            settings: of other classifiers; ignored.
        """
        features = HashedNgrams(buckets, WORDS, CHARACTERS)
        weights, bias = regression.fit(features(texts), numbers_of(labels), len(LABELS), strength=strength)
        return cls(features, weights.astype(np.float32), bias)

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Softmax of the scores."""
        if len(texts) == 1:  # a sparse matrix of one row costs more than the row
            return self._probabilities_of_one(texts[0])
        return regression.predict(self._features(texts), self._weights, self._bias)

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
