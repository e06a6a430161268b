"""Baselines: guessing, the nearest training texts, and the grammar as a classifier."""

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from chatbots.identity.classifiers.base import TrainableClassifier, numbers_of
from chatbots.identity.features import TfIdf, last_sentences
from chatbots.identity.grammar.recognition import Recogniser
from chatbots.identity.labels import LABELS, Label


class Guess(TrainableClassifier):
    """Baseline that draws labels with the training labels' shares, by a hash of the text and the seed."""

    kind = "random"

    def __init__(self, shares: Sequence[float], seed: int) -> None:
        self.shares, self.seed = tuple(shares), seed

    @classmethod
    def trained(
        cls, texts: Sequence[str], labels: Sequence[Label], *, seed: int = 0, **settings: Any
    ) -> Self:
        """Count the labels."""
        return cls([sum(each is label for each in labels) / len(labels) for label in LABELS], seed)

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """1 for the drawn label, 0 for the others; independent of the other texts."""
        ends = np.cumsum(self.shares)
        drawn = np.array([self._uniform(text) for text in texts])
        columns = np.minimum(np.searchsorted(ends, drawn, side="right"), len(LABELS) - 1)
        rows: NDArray[np.float64] = np.eye(len(LABELS))[columns]
        return rows

    def _uniform(self, text: str) -> float:
        data = text.encode("utf-8", "surrogatepass")
        digest = hashlib.blake2b(data, key=self.seed.to_bytes(8, "big"), digest_size=8)
        return int.from_bytes(digest.digest(), "big") / 2**64

    def _save(self, folder: Path) -> Mapping[str, Any]:
        return {"shares": self.shares, "seed": self.seed}

    @classmethod
    def _load(cls, folder: Path, settings: Mapping[str, Any]) -> Self:
        return cls(settings["shares"], settings["seed"])


NEIGHBOURS = 2
_ROWS_AT_ONCE = 512


class Nearest(TrainableClassifier):
    """The labels of the two nearest training texts, weighted by 1 / distance; Euclidean on l2 TF-IDF.

    Its folder holds the training texts, so their owners' rights apply to it.
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
        """Store the texts."""
        return cls(texts, numbers_of(labels))

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """Shares of the neighbours' weights; a text equal to training texts has their labels."""
        rows = np.zeros((len(texts), len(LABELS)))
        for start in range(0, len(texts), _ROWS_AT_ONCE):
            some = slice(start, start + _ROWS_AT_ONCE)
            rows[some] = self._shares(texts[some])
        return rows

    def _shares(self, texts: Sequence[str]) -> NDArray[np.float64]:
        rows = self._features(texts)
        lengths = np.asarray(rows.multiply(rows).sum(axis=1)).ravel()
        squared_lengths = np.asarray(self._rows.multiply(self._rows).sum(axis=1)).ravel()
        squares = lengths[:, None] + squared_lengths[None, :] - 2 * (rows @ self._rows.T).toarray()
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
        data = {"texts": self._texts, "labels": [LABELS[column] for column in self._columns]}
        (folder / "training.json").write_text(json.dumps(data, ensure_ascii=False), "utf-8")
        return {}

    @classmethod
    def _load(cls, folder: Path, settings: Mapping[str, Any]) -> Self:
        data = json.loads((folder / "training.json").read_text("utf-8"))
        return cls(data["texts"], numbers_of([Label(label) for label in data["labels"]]))


MOST_SENTENCES = 5


class ByGrammar(TrainableClassifier):
    """Classifies by the part of the grammar that derives a text, with certainty; needs no training.

    Checked in this order: the whole text is positive, negative or ambiguous; its last sentence, the part
    after its last full stop or comma, or one of the questions among its two to five sentences is positive;
    else negative.
    """

    kind = "grammar"

    def __init__(self) -> None:
        self._recogniser = Recogniser()

    @classmethod
    def trained(
        cls, texts: Sequence[str], labels: Sequence[Label], *, seed: int = 0, **settings: Any
    ) -> Self:
        """Return the shipped grammar."""
        return cls()

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """1 for the label of the text, 0 for the others."""
        columns = [LABELS.index(self.label(text)) for text in texts]
        rows: NDArray[np.float64] = np.eye(len(LABELS))[columns]
        return rows

    def label(self, text: str) -> Label:
        """Label one text."""
        labels = self._recogniser.categories(text)
        for label in (Label.POSITIVE, Label.NEGATIVE, Label.AMBIGUOUS):
            if label in labels:
                return label
        is_positive = any(Label.POSITIVE in self._recogniser.categories(part) for part in _parts(text))
        return Label.POSITIVE if is_positive else Label.NEGATIVE

    def _save(self, folder: Path) -> Mapping[str, Any]:
        return {}

    @classmethod
    def _load(cls, folder: Path, settings: Mapping[str, Any]) -> Self:
        return cls()


def _parts(text: str) -> Iterator[str]:
    """Yield the parts of a text that may be the question although the whole text is not."""
    sentences = list(last_sentences(text))
    if sentences:
        yield sentences[-1]
    for mark in (".", ","):
        yield text.rstrip(". ").rpartition(mark)[2]
    if 2 <= len(sentences) <= MOST_SENTENCES:
        yield from (sentence for sentence in sentences if sentence.endswith("?"))
