"""The parts that all encoders share: the protocols that they follow, their error, and finding their files."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import FloatArray

Vectors = NDArray[np.float32]
EXTRA = "pip install 'turnwise[conversation]'"


class EncoderError(ValueError):
    """An encoder that cannot be used, with where and why."""


class Emotions(Protocol):
    """How a text feels."""

    @property
    def name(self) -> str:
        """As every figure that rests on it says."""

    def sentiment(self, texts: Sequence[str]) -> FloatArray:
        """(t,) from -1, bad, to 1, good."""

    def distribution(self, texts: Sequence[str]) -> Vectors | None:
        """(t, e) probabilities of e emotions; None if it has none."""


class SentenceEncoder(Protocol):
    """What a text means, as a vector."""

    @property
    def name(self) -> str:
        """As every figure that rests on it says."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """(t, d) a vector for each text."""


class WordVectors(Protocol):
    """What words mean, as vectors."""

    @property
    def name(self) -> str:
        """As every figure that rests on it says."""

    def of(self, words: Collection[str]) -> tuple[dict[str, list[int]], Vectors]:
        """The vectors (v, d) of these words: by word, the rows; a word without vectors is left out."""


@dataclass(frozen=True, slots=True)
class Encoders:
    """Those that are here.

    Attributes:
        emotions: for sentiment.
        sentences: for semantic similarity.
        vectors: for word coherence.
        missing: by what it is for, why there is none.
    """

    emotions: Emotions | None = None
    sentences: SentenceEncoder | None = None
    vectors: WordVectors | None = None
    missing: Mapping[str, Undefined] = field(default_factory=dict)


def only_file(folder: Path, patterns: Sequence[str], what: str) -> Path:
    """The one file of a folder that has such a name.

    Raises:
        EncoderError: no such folder, no such file, or several.
    """
    if not folder.is_dir():
        raise EncoderError(f"{folder}: there is no such folder. Name the one with {what}.")
    for pattern in patterns:
        found = sorted(folder.glob(pattern))
        if len(found) > 1:
            listed = ", ".join(path.name for path in found)
            raise EncoderError(f"{folder}: {listed} could each be {what}. Leave one of them.")
        if found:
            return found[0]
    raise EncoderError(f"{folder}: there is no {' or '.join(patterns)}, which is {what}. Put it there.")
