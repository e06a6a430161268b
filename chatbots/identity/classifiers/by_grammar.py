"""The grammar as a classifier."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from chatbots.identity.classifiers.base import TrainableClassifier
from chatbots.identity.features import last_sentences
from chatbots.identity.grammar.recognition import Recogniser
from chatbots.identity.labels import LABELS, Label

MOST_SENTENCES = 5


class ByGrammar(TrainableClassifier):
    """Says the label whose part of the grammar derives a text, for certain; needs no training.

    In this order: the whole text is positive, negative or ambiguous; its last sentence, what follows its last
    full stop or comma, or one of the questions among its two to five sentences is positive; else negative.
    """

    kind = "grammar"

    def __init__(self) -> None:
        self._recogniser = Recogniser()

    @classmethod
    def trained(
        cls, texts: Sequence[str], labels: Sequence[Label], *, seed: int = 0, **settings: Any
    ) -> Self:
        """The grammar that ships."""
        return cls()

    def probabilities(self, texts: Sequence[str]) -> NDArray[np.float64]:
        """1 for the label said, 0 for the others."""
        columns = [LABELS.index(self.label(text)) for text in texts]
        rows: NDArray[np.float64] = np.eye(len(LABELS))[columns]
        return rows

    def label(self, text: str) -> Label:
        """The label of one text."""
        found = self._recogniser.categories(text)
        for label in (Label.POSITIVE, Label.NEGATIVE, Label.AMBIGUOUS):
            if label in found:
                return label
        is_positive = any(Label.POSITIVE in self._recogniser.categories(part) for part in _parts(text))
        return Label.POSITIVE if is_positive else Label.NEGATIVE

    def _save(self, folder: Path) -> Mapping[str, Any]:
        return {}

    @classmethod
    def _load(cls, folder: Path, settings: Mapping[str, Any]) -> Self:
        return cls()


def _parts(text: str) -> Iterator[str]:
    """What of a text may be the question although the whole is not."""
    sentences = list(last_sentences(text))
    if sentences:
        yield sentences[-1]
    for mark in (".", ","):
        yield text.rstrip(". ").rpartition(mark)[2]
    if 2 <= len(sentences) <= MOST_SENTENCES:
        yield from (sentence for sentence in sentences if sentence.endswith("?"))
