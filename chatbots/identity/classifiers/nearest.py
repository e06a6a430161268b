"""The label of the nearest training texts."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from chatbots.identity.classifiers.base import TrainableClassifier, numbers_of
from chatbots.identity.features import TfIdf
from chatbots.identity.labels import LABELS, Label

NEIGHBOURS = 2
_ROWS_AT_ONCE = 512


class Nearest(TrainableClassifier):
    """The labels of the two nearest training texts, weighted by 1 / distance; Euclidean on l2 TF-IDF.

    Its folder holds the training texts themselves: one trained on others' texts is theirs as well.
    """

    kind = "nearest"

    def __init__(self, texts: Sequence[str], columns: NDArray[np.int64]) -> None:
        self._texts, self._columns = tuple(texts), columns
        self._features = TfIdf.fitted(texts)
        self._rows = self._features(texts)

    @classmethod
    def trained(
        cls, texts: Sequence[str], labels: Sequence[Label], *, seed: int = 0, **settings: Any
    ) -> Self:
        """Keep them."""
        return cls(texts, numbers_of(labels))

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Shares of the neighbours' weights; a text at distance 0 of training texts has their labels."""
        found = np.zeros((len(texts), len(LABELS)))
        for start in range(0, len(texts), _ROWS_AT_ONCE):
            some = slice(start, start + _ROWS_AT_ONCE)
            found[some] = self._shares(texts[some])
        return found

    def _shares(self, texts: Sequence[str]) -> NDArray[np.float64]:
        rows = self._features(texts)
        lengths = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        own = np.asarray(self._rows.multiply(self._rows).sum(axis=1)).ravel()
        squares = lengths[:, None] + own[None, :] - 2 * (rows @ self._rows.T).toarray()
        count = min(NEIGHBOURS, squares.shape[1])
        order = np.argsort(squares, axis=1, kind="stable")[:, :count]
        distances = np.sqrt(np.maximum(np.take_along_axis(squares, order, axis=1), 0))
        same = distances < 1e-7
        weights = np.where(same.any(axis=1)[:, None], same, 1 / np.where(same, 1, distances))
        votes = np.zeros((len(texts), len(LABELS)))
        np.add.at(votes, (np.arange(len(texts))[:, None], self._columns[order]), weights)
        shares: NDArray[np.float64] = votes / votes.sum(axis=1, keepdims=True)
        return shares

    def _save(self, folder: Path) -> Mapping[str, Any]:
        kept = {"texts": self._texts, "labels": [LABELS[column] for column in self._columns]}
        (folder / "training.json").write_text(json.dumps(kept, ensure_ascii=False), "utf-8")
        return {}

    @classmethod
    def _load(cls, folder: Path, settings: Mapping[str, Any]) -> Self:
        kept = json.loads((folder / "training.json").read_text("utf-8"))
        return cls(kept["texts"], numbers_of([Label(label) for label in kept["labels"]]))
