"""Protocols of the encoders, their error, and the search for their files."""

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
    """An encoder that cannot be used; the message says where and why."""


class Emotions(Protocol):
    """Encoder of the emotions of texts."""

    @property
    def name(self) -> str:
        """Name shown with every figure that uses the encoder."""

    def sentiment(self, texts: Sequence[str]) -> FloatArray:
        """(t,) sentiments from -1, bad, to 1, good."""

    def distribution(self, texts: Sequence[str]) -> Vectors | None:
        """(t, e) probabilities of e emotions; None if the encoder has no emotions."""


class SentenceEncoder(Protocol):
    """Encoder of the meaning of texts as vectors."""

    @property
    def name(self) -> str:
        """Name shown with every figure that uses the encoder."""

    def encode(self, texts: Sequence[str]) -> Vectors:
        """(t, d) a vector for each text."""


class WordVectors(Protocol):
    """Encoder of the meaning of words as vectors."""

    @property
    def name(self) -> str:
        """Name shown with every figure that uses the encoder."""

    def of(self, words: Collection[str]) -> tuple[dict[str, list[int]], Vectors]:
        """Return rows by word and the vectors (v, d) of these words; words without vectors are left out."""


@dataclass(frozen=True, slots=True)
class Encoders:
    """The available encoders.

    Attributes:
        emotions: encoder for sentiment.
        sentences: encoder for semantic similarity.
        vectors: encoder for word coherence.
        missing: by purpose of a missing encoder, the reason.
    """

    emotions: Emotions | None = None
    sentences: SentenceEncoder | None = None
    vectors: WordVectors | None = None
    missing: Mapping[str, Undefined] = field(default_factory=dict)


def only_file(folder: Path, patterns: Sequence[str], what: str) -> Path:
    """Find the only file of a folder that matches a pattern.

    Raises:
        EncoderError: no such folder, no such file, or several.
    """
    if not folder.is_dir():
        raise EncoderError(f"{folder}: there is no such folder. Name the one with {what}.")
    for pattern in patterns:
        matches = sorted(folder.glob(pattern))
        if len(matches) > 1:
            listed = ", ".join(path.name for path in matches)
            raise EncoderError(f"{folder}: {listed} could each be {what}. Leave one of them.")
        if matches:
            return matches[0]
    raise EncoderError(f"{folder}: there is no {' or '.join(patterns)}, which is {what}. Put it there.")
