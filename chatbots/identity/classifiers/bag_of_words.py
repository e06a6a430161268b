"""Logistic regression on bags of words."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from chatbots.identity import regression
from chatbots.identity.classifiers.base import TrainableClassifier, numbers_of
from chatbots.identity.features import TfIdf
from chatbots.identity.labels import LABELS, Label


class BagOfWords(TrainableClassifier):
    """Logistic regression (l2, strength 1) on l2-normalised TF-IDF of Treebank words."""

    kind = "bow"

    def __init__(self, features: TfIdf, weights: NDArray[np.float64], bias: NDArray[np.float64]) -> None:
        self._features, self._weights, self._bias = features, weights, bias

    @classmethod
    def trained(
        cls, texts: Sequence[str], labels: Sequence[Label], *, seed: int = 0, **settings: Any
    ) -> Self:
        """The one minimum of a convex loss: the seed changes nothing."""
        features = TfIdf.fitted(texts)
        return cls(features, *regression.fit(features(texts), numbers_of(labels), len(LABELS)))

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Softmax of the scores."""
        return regression.predict(self._features(texts), self._weights, self._bias)

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
