"""Texts as sparse vectors."""

import re
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache

import numpy as np
from nltk.tokenize import TreebankWordTokenizer
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

_TREEBANK = TreebankWordTokenizer()
_WORD = re.compile(r"[^\W_]+(?:'[^\W_]+)*|[?!.,]|[^\w\s]")
MOST_CHARACTERS = 4_000
"""Longer texts are read from their end, because a question stands there."""


class TfIdf:
    """Word counts weighted by rarity, each text's vector of length 1.

    idf(w) = ln((1 + n) / (1 + n_w)) + 1 for n texts, n_w of which have w; as scikit-learn's TfidfVectorizer.

    Args:
        vocabulary: in the order of the columns.
        idf: (v,) one weight per word.
    """

    def __init__(self, vocabulary: Sequence[str], idf: NDArray[np.float64]) -> None:
        self.vocabulary, self.idf = tuple(vocabulary), idf
        self._column = {word: column for column, word in enumerate(self.vocabulary)}

    @classmethod
    def fitted(cls, texts: Sequence[str]) -> "TfIdf":
        """Create one with the vocabulary of the texts."""
        seen = Counter(word for text in texts for word in set(treebank_words(text)))
        vocabulary = sorted(seen)
        having = np.array([seen[word] for word in vocabulary], dtype=np.float64)
        return cls(vocabulary, np.log((1 + len(texts)) / (1 + having)) + 1)

    def __call__(self, texts: Sequence[str]) -> csr_matrix:
        """Vectors of n texts, (n, v); a text without a known word has a row of zeros."""
        counts = [
            Counter(column for w in treebank_words(text) if (column := self._column.get(w)) is not None)
            for text in texts
        ]
        matrix = _matrix(counts, len(self.vocabulary))
        matrix.data *= self.idf[matrix.indices]
        lengths = np.sqrt(np.asarray(matrix.multiply(matrix).sum(axis=1)).ravel())
        matrix.data /= np.repeat(np.where(lengths, lengths, 1.0), np.diff(matrix.indptr))
        return matrix


def treebank_words(text: str) -> list[str]:
    """Lower-case words by the rules of the Penn Treebank."""
    return list(_TREEBANK.tokenize(text[-MOST_CHARACTERS:].lower()))


class HashedNgrams:
    """Word and character n-grams by the remainder of a hash; no vocabulary.

    A text is its last words in lower case between marks of beginning and end. Its features are runs of one to
    `words` of them, pairs with one word left out between them, and, inside each word, runs of `characters`
    letters. Each counts once, and each text's vector has length 1.

    Args:
        buckets: columns, a power of two.
        words: longest run of words.
        characters: shortest and longest run of letters.
    """

    def __init__(self, buckets: int, words: int, characters: tuple[int, int]) -> None:
        self.buckets, self.words, self.characters = buckets, words, characters
        # Cached: a word always has the same runs of letters, and most words repeat.
        self._letters = lru_cache(maxsize=20_000)(self._letters_of)

    def __call__(self, texts: Sequence[str]) -> csr_matrix:
        """Vectors of n texts, (n, buckets), as 32-bit floats."""
        rows = [self.columns(text) for text in texts]
        pointers = np.concatenate([[0], np.cumsum([len(row) for row in rows])])
        weights = [np.full(len(row), 1 / np.sqrt(max(1, len(row))), dtype=np.float32) for row in rows]
        indices = np.concatenate(rows) if rows else np.zeros(0, dtype=np.int32)
        data = np.concatenate(weights) if rows else np.zeros(0, dtype=np.float32)
        return csr_matrix((data, indices, pointers), shape=(len(rows), self.buckets))

    def columns(self, text: str) -> NDArray[np.int32]:
        """The different columns of one text, ascending."""
        words = ngram_words(text)
        mask, buckets = self.buckets - 1, set[int]()
        for word in words:
            buckets.update(self._letters(word))
        hashes = [self._hash(word) for word in ["<s>", *words, "</s>"]]
        for start, first in enumerate(hashes):
            value = first
            buckets.add(value & mask)
            for following in hashes[start + 1 : start + self.words]:
                value = (value * 1_000_003 ^ following) & 0xFFFFFFFF
                buckets.add((value ^ value >> 15) & mask)
            if start + 2 < len(hashes):
                value = (first * 998_244_353 ^ hashes[start + 2]) & 0xFFFFFFFF
                buckets.add((value ^ value >> 13) & mask)
        return np.fromiter(sorted(buckets), dtype=np.int32, count=len(buckets))

    @staticmethod
    @lru_cache(maxsize=20_000)
    def _hash(word: str) -> int:
        return zlib.crc32(word.encode("utf-8", "surrogatepass"))

    def _letters_of(self, word: str) -> frozenset[int]:
        padded = f"<{word[:40]}>".encode("utf-8", "surrogatepass")
        shortest, longest = self.characters
        return frozenset(
            zlib.crc32(padded[start : start + length], 1) & (self.buckets - 1)
            for length in range(shortest, longest + 1)
            for start in range(len(padded) - length + 1)
        )


def ngram_words(text: str) -> list[str]:
    """Lower-case words and marks."""
    return _WORD.findall(text[-MOST_CHARACTERS:].lower().replace("\u2019", "'"))


def last_sentences(text: str) -> Iterator[str]:
    """Yield the sentences of a text, first to last; each keeps its mark."""
    for sentence in re.findall(r"[^.!?\n]+[.!?]*", text):
        if stripped := sentence.strip():
            yield stripped


def _matrix(counts: Sequence[Counter[int]], columns: int) -> csr_matrix:
    pointers = np.concatenate([[0], np.cumsum([len(row) for row in counts])])
    indices = np.array([column for row in counts for column in sorted(row)], dtype=np.int32)
    data = np.array([row[column] for row in counts for column in sorted(row)], dtype=np.float64)
    return csr_matrix((data, indices, pointers), shape=(len(counts), columns))
