"""Guessing: what any classifier must beat."""

import hashlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from chatbots.identity.classifiers.base import TrainableClassifier
from chatbots.identity.labels import LABELS, Label


class Guess(TrainableClassifier):
    """Draws each text's label from the shares of the training labels, by a hash of the text and the seed."""

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
        """1 for the label drawn, 0 for the others; a text has the same one in any company."""
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
