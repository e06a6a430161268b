"""Similarity of two texts by the vectors of their words.

AVG, EXT and GRD of Liu et al. 2016, arXiv:1603.08023, section 4.1 (after Foltz et al. 1998, Forgues et al.
2014, Rus & Lintean 2012), as Ghandeharioun et al. 2019, appendix A.7, use them; "distance" there means this
similarity. Words without a vector are left out.

`cut` splits many texts into words at once and numbers the distinct words, so that properties of words are
computed once for each distinct word.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count

import numpy as np
from numpy.typing import NDArray

from evaluation.statistics.labels import FloatArray, IntArray
from evaluation.texts.repetition import words

# Neither character is printable, so no printable text has one.
_END, _WHOLE = "\x00", "\x01"
_KEPT = {*"abcdefghijklmnopqrstuvwxyz0123456789'", _END, _WHOLE}
_BLANKS = {code: " " for code in range(128) if chr(code) not in _KEPT}


@dataclass(frozen=True, eq=False)
class Cut:
    """Texts split into words as in `repetition.words`.

    Attributes:
        vocabulary: each word once.
        words: (w,) numbers of the words of all texts, one text after the other.
        ends: (t,) end of each text in `words`.
    """

    vocabulary: Sequence[str]
    words: IntArray
    ends: IntArray

    def total(self, of_word: Callable[[str], float]) -> FloatArray:
        """Sum a property of words over each text.

        Args:
            of_word: the property; called once for each distinct word.

        Returns:
            (t,) sums; 0 for a text without words.
        """
        each = np.fromiter(map(of_word, self.vocabulary), np.float64, len(self.vocabulary))
        running = np.concatenate([[0.0], np.cumsum(each[self.words])])
        return np.diff(running[self.ends], prepend=0.0)


def cut(texts: Sequence[str]) -> Cut:
    """Split texts into words: plain ASCII texts all at once, other texts one by one."""
    plain = [
        text if text.isascii() and text.isprintable() else f"{_WHOLE}{number}"
        for number, text in enumerate(texts)
    ]
    tokens = f" {_END} ".join([*plain, ""]).lower().translate(_BLANKS).split()
    numbers = defaultdict(count(1).__next__, {_END: 0})  # a token that is new gets the next number
    coded = np.fromiter(map(numbers.__getitem__, tokens), np.int64, len(tokens))
    vocabulary: dict[str, int] = {}
    of_token = [
        [vocabulary.setdefault(word, len(vocabulary)) for word in _words(token, texts)] for token in numbers
    ]
    found, ends = spread(coded, np.flatnonzero(coded == 0) + 1, of_token)
    return Cut(list(vocabulary), found, ends)


def spread(codes: IntArray, ends: IntArray, of_code: Sequence[Sequence[int]]) -> tuple[IntArray, IntArray]:
    """Replace each code in texts of codes by the numbers that it stands for.

    Args:
        codes: (w,) codes of all texts, one text after the other.
        ends: (t,) end of each text in `codes`.
        of_code: numbers of each code, in order.

    Returns:
        The numbers of all texts, and the end of each text in them.
    """
    counts = np.array([len(each) for each in of_code], dtype=np.int64)
    numbers = np.fromiter((number for each in of_code for number in each), np.int64, int(counts.sum()))
    times = counts[codes]
    stop = np.cumsum(times)
    within = np.arange(int(times.sum())) - np.repeat(stop - times, times)
    first = np.cumsum(counts) - counts
    return numbers[np.repeat(first[codes], times) + within], np.concatenate([[0], stop])[ends]


def _words(token: str, texts: Sequence[str]) -> Sequence[str]:
    if token == _END:
        return ()
    if token[0] == _WHOLE:
        return words(texts[int(token[1:])])
    return (token,) if token.isalnum() else words(token)


Vectors = NDArray[np.float32]
# Size of a block of numbers that fits into the processor's caches.
_AT_ONCE = 1 << 18


@dataclass(frozen=True, eq=False)
class WordRows:
    """The words of texts as rows of a table of vectors.

    Attributes:
        vectors: (v, d) a vector for each word.
        rows: (w,) row of each word of all texts, one text after the other.
        starts: (t,) start of each text in `rows`.
        lengths: (t,) number of words of each text.
    """

    vectors: Vectors
    rows: IntArray
    starts: IntArray
    lengths: IntArray

    def of(self, texts: IntArray, length: int) -> Vectors:
        """(n, length, d) vectors of texts that all have `length` words."""
        positions = self.starts[texts, None] + np.arange(length)
        vectors: Vectors = self.vectors.take(self.rows.take(positions), axis=0)
        return vectors


def word_rows(words: Cut, index: Mapping[str, Sequence[int]], vectors: Vectors) -> WordRows:
    """Map the words of texts to their rows in (v, d) `vectors`; a contraction can have two rows."""
    rows, ends = spread(words.words, words.ends, [index.get(word, ()) for word in words.vocabulary])
    lengths = np.diff(ends, prepend=0)
    return WordRows(vectors, rows, ends - lengths, lengths)


def average(words: WordRows, first: IntArray, second: IntArray) -> FloatArray:
    """AVG: cosine of the mean vectors of two texts (Liu et al. 2016, arXiv:1603.08023, section 4.2).

    Args:
        words: the words of all texts.
        first: (n,) indices of texts.
        second: (n,) indices of the texts to compare with.

    Returns:
        (n,) cosines in [-1, 1]; NaN if a text has no word with a vector.
    """
    # The sum has the direction of the mean.
    return cosines(_of_each(words, lambda vectors: vectors.sum(axis=1)), first, second)


def extrema(words: WordRows, first: IntArray, second: IntArray) -> FloatArray:
    """EXT: cosine of the vectors of extremes: in each dimension the maximum if it is at least |minimum|.

    Arguments and result as in `average`. Source: Forgues et al. 2014, as in Liu et al. 2016.
    """
    return cosines(_of_each(words, _extreme), first, second)


def greedy(words: WordRows, first: IntArray, second: IntArray) -> FloatArray:
    """GRD: ½ (G(a, b) + G(b, a)), where G(a, b) is the mean over words of a of the best cosine in b.

    Arguments and result as in `average`. Source: Rus & Lintean 2012, as in Liu et al. 2016.
    """
    lengths = np.linalg.norm(words.vectors, axis=1, keepdims=True)
    of_unit = replace(words, vectors=words.vectors / np.maximum(lengths, np.finfo(np.float32).tiny))
    similarities = np.full(len(first), np.nan)
    a, b = words.lengths[first], words.lengths[second]
    both = np.flatnonzero((a > 0) & (b > 0))
    # Batches of pairs with equal lengths need no padding.
    for some, m, n in _alike(both, a, b, words.vectors.shape[1]):
        cosine = of_unit.of(first[some], m) @ of_unit.of(second[some], n).transpose(0, 2, 1)  # (p, m, n)
        similarities[some] = (cosine.max(axis=2).mean(axis=1) + cosine.max(axis=1).mean(axis=1)) / 2
    return similarities


def cosines(vectors: Vectors, first: IntArray, second: IntArray) -> FloatArray:
    """Compute cosines of pairs of vectors.

    Args:
        vectors: (t, d).
        first: (n,) rows.
        second: (n,) rows to compare with.

    Returns:
        (n,) cosines in [-1, 1]; NaN if a vector is 0 or not finite.
    """
    lengths = np.linalg.norm(vectors, axis=1).astype(np.float64)
    products = np.empty(len(first))
    at_once = max(1, _AT_ONCE // max(1, vectors.shape[1]))
    for begin in range(0, len(first), at_once):
        rows = slice(begin, begin + at_once)
        left, right = vectors.take(first[rows], axis=0), vectors.take(second[rows], axis=0)
        products[rows] = np.einsum("nd,nd->n", left, right)
    with np.errstate(invalid="ignore", divide="ignore"):
        similarities: FloatArray = products / (lengths[first] * lengths[second])
    return similarities


def _extreme(vectors: Vectors) -> Vectors:
    high, low = vectors.max(axis=1), vectors.min(axis=1)
    extreme: Vectors = np.where(high >= np.abs(low), high, low)
    return extreme


def _of_each(words: WordRows, reduce: Callable[[Vectors], Vectors]) -> Vectors:
    """(t, d) one vector per text, reduced from its words' vectors; 0 without words."""
    means = np.zeros((len(words.lengths), words.vectors.shape[1]), np.float32)
    filled = np.flatnonzero(words.lengths)
    for some, length, _ in _alike(filled, words.lengths, np.zeros_like(words.lengths), means.shape[1]):
        means[some] = reduce(words.of(some, length))
    return means


def _alike(rows: IntArray, a: IntArray, b: IntArray, size: int) -> Iterator[tuple[IntArray, int, int]]:
    """Yield batches of rows with equal lengths `a` and `b`, small enough for the caches."""
    order = rows[np.lexsort((b[rows], a[rows]))]
    changes = np.flatnonzero((np.diff(a[order]) != 0) | (np.diff(b[order]) != 0)) + 1
    for same in np.split(order, changes) if len(order) else ():
        m, n = int(a[same[0]]), int(b[same[0]])
        at_once = max(1, _AT_ONCE // ((m + n) * size))
        for begin in range(0, len(same), at_once):
            yield same[begin : begin + at_once], m, n
