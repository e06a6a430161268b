"""Training targets of EI models: emotions and a sentence vector for each utterance.

Neural.chat's EI models learn to predict them from the dialogue so far (Ghandeharioun et al. 2019, section
3.1). `python -m evaluation targets` writes the file that `python -m chatbots hierarchical train` reads:
`.npz` with `keys`, a number for each text; `emotions` and `semantics`, a row for each text; `about`, JSON
with the names of the encoders.
"""

import gzip
import hashlib
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evaluation.conversation.encoders import EXTRA, EncoderError, Encoders, Vectors, WordVectors
from evaluation.conversation.encoders.vader import Vader
from evaluation.conversation.similarity import cut, spread

KEPT = 0.95
"""Share of the variance that the reduced vectors keep, as in the paper."""


@dataclass(frozen=True, slots=True)
class Targets:
    """Targets of distinct texts.

    Attributes:
        keys: (k,) a number for each text.
        emotions: (k, e) probabilities.
        semantics: (k, s) reduced vectors.
        about: names of the encoders.
    """

    keys: NDArray[np.uint64]
    emotions: Vectors
    semantics: Vectors
    about: dict[str, object]

    def to_npz(self) -> bytes:
        """Content of the `.npz` file, with numbers of half precision."""
        content = io.BytesIO()
        np.savez(
            content,
            keys=self.keys,
            emotions=self.emotions.astype(np.float16),
            semantics=self.semantics.astype(np.float16),
            about=np.array(json.dumps(self.about)),
        )
        return content.getvalue()


def key_of(text: str) -> int:
    """Number of a text, computed as in `chatbots.hierarchical.corpus`."""
    return int.from_bytes(hashlib.blake2b(text.strip().encode(), digest_size=8).digest(), "big")


def read_texts(paths: Iterable[Path]) -> Iterator[str]:
    """Read every text of JSON Lines files of conversations or messages; other lines are skipped.

    Raises:
        OSError: a file cannot be read.
    """
    for path in paths:
        with (gzip.open if path.suffix == ".gz" else open)(
            path, "rt", encoding="utf-8-sig", errors="replace"
        ) as lines:
            for line in lines:
                yield from _texts(line)


def _texts(line: str) -> Iterator[str]:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return
    turns = record.get("turns", [record]) if isinstance(record, dict) else []
    for turn in turns if isinstance(turns, list) else []:
        text = turn.get("text") if isinstance(turn, dict) else turn
        if isinstance(text, str) and text.encode(errors="ignore").decode() == text:  # no half surrogate pairs
            yield text.strip()


def compute_targets(
    texts: Iterable[str], encoders: Encoders, *, by_words: bool = False, kept: float = KEPT
) -> Targets:
    """Compute emotions and reduced sentence vectors of each distinct text.

    Args:
        texts: any texts; repeated ones count once.
        encoders: encoders of emotions, and of sentences or words.
        by_words: true to use the mean of the words' vectors instead of a sentence encoder: much faster, but
            much less informative.
        kept: share of the variance that the reduced vectors keep.

    Raises:
        EncoderError: a needed encoder is missing, or there are fewer than two distinct texts.
    """
    different = list(dict.fromkeys(texts))
    if len(different) < 2:
        raise EncoderError("There are fewer than two different texts. Give conversations.")
    emotions, teacher = _emotions(different, encoders)
    vectors, encoder = _sentences(different, encoders, by_words=by_words)
    semantics = reduced(vectors, kept)
    about: dict[str, object] = {"emotions": teacher, "semantics": encoder, "kept_variance": kept}
    return Targets(np.array([key_of(text) for text in different], np.uint64), emotions, semantics, about)


def _emotions(texts: Sequence[str], encoders: Encoders) -> tuple[Vectors, str]:
    encoder = encoders.emotions
    if encoder is None:
        raise EncoderError(f"There is no encoder of emotions: {EXTRA}, or name DeepMoji's folder.")
    if isinstance(encoder, Vader):
        return encoder.shares(texts), f"{encoder.name}: negative, neutral, positive"
    shares = encoder.distribution(texts)
    if shares is None:
        raise EncoderError(f"{encoder.name} has no distribution of emotions. Name DeepMoji's folder.")
    return shares, encoder.name


def _sentences(texts: Sequence[str], encoders: Encoders, *, by_words: bool) -> tuple[Vectors, str]:
    if by_words:
        if encoders.vectors is None:
            raise EncoderError(f"There are no word vectors: {EXTRA}, or name word2vec's folder.")
        return mean_vectors(texts, encoders.vectors), f"{encoders.vectors.name}: mean of the words"
    if encoders.sentences is None:
        raise EncoderError(f"There is no encoder of sentences: {EXTRA}, or name InferSent's folder.")
    return encoders.sentences.encode(texts), encoders.sentences.name


def mean_vectors(texts: Sequence[str], encoder: WordVectors) -> Vectors:
    """Compute the mean word vector of each text.

    Args:
        texts: t texts.
        encoder: word vectors of d numbers.

    Returns:
        (t, d) means over the words with vectors; zeros without any.
    """
    words = cut(texts)
    index, vectors = encoder.of(words.vocabulary)
    rows, ends = spread(words.words, words.ends, [index.get(word, ()) for word in words.vocabulary])
    running = np.concatenate(
        [np.zeros((1, vectors.shape[1])), np.cumsum(vectors[rows], axis=0, dtype=np.float64)]
    )
    starts = np.concatenate([[0], ends[:-1]])
    return np.asarray((running[ends] - running[starts]) / np.maximum(ends - starts, 1)[:, None], np.float32)


def reduced(vectors: Vectors, kept: float) -> Vectors:
    """Reduce vectors to principal components, scaled so that their variances sum to at most 1.

    A model's squared error per number then lies near 1 / s for any encoder.

    Args:
        vectors: (t, d).
        kept: smallest share of the variance that the components keep, in (0, 1].

    Returns:
        (t, s) the fewest components that keep this share.

    Raises:
        EncoderError: all vectors are the same.
    """
    centred = vectors - vectors.mean(axis=0)
    variances, directions = np.linalg.eigh(centred.T.astype(np.float64) @ centred / len(centred))
    variances, directions = np.maximum(variances[::-1], 0), directions[:, ::-1]
    if not variances.sum():
        raise EncoderError("All texts have the same vector, so there is nothing to learn from it.")
    size = int(np.searchsorted(np.cumsum(variances) / variances.sum(), kept)) + 1
    components = centred @ directions[:, :size].astype(np.float32)
    return np.asarray(components / np.sqrt(variances.sum()), np.float32)
