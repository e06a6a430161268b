"""Find the sentence of a speaker's material that is nearest to a text, by TF-IDF.

The paper's oracle asks for the sentence nearest to the turn that must be written: it sees the answer. Bots in
conversations ask for the sentence nearest to the newest turns. Texts are cut into sentences here, too.

Term weights are the defaults of scikit-learn's `TfidfVectorizer`: words of two letters and more in lower
case, idf = ln((1 + n) / (1 + documents with it)) + 1, vectors of length 1. So the cosine of any number of
texts and their own candidates is a few sparse matrix products.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

# A possible end of a sentence: a mark, perhaps with closing signs, before blanks and a beginning.
_END = re.compile(r"(?<=[.!?…])[\"')\]\u201d\u2019]*\s+(?=[\"'(\[\u201c\u2018]*[A-Z0-9])|(?<!\s)\s*\n\s*")
_ABBREVIATION = re.compile(
    r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|Gen|Sen|Rep|Gov|Lt|Col|Sgt|Capt|No|Vol|vs|etc|e\.g|i\.e|approx|cf|al)"
    r"|\b[A-Z](?:\.[A-Z])*)\.$"
)


def sentences_of(text: str) -> list[str]:
    """Split a text into sentences, without outer blanks; none is empty.

    A line break ends a sentence. A mark after a title, a common abbreviation or a single capital does not:
    two joined sentences are better than half a name.
    """
    sentences: list[str] = []
    start = 0
    for end in _END.finditer(text):
        piece = text[start : end.start() + len(end[0].rstrip())]
        if "\n" not in end[0] and _ABBREVIATION.search(piece.rstrip("\"')]\u201d\u2019")):
            continue
        sentences.append(piece.strip())
        start = end.end()
    sentences.append(text[start:].strip())
    return [sentence for sentence in sentences if sentence]


NONE = -1
"""Stands for no sentence, if no candidate shares a word with the text."""
PAIRS_AT_ONCE = 1 << 17
_WORD = re.compile(r"\b\w\w+\b")
_DECIMALS = 12
"""Cosines that agree to this many decimals are equal: sums in another order differ in the last bit."""

IntArray = NDArray[np.int64]
FloatArray = NDArray[np.float64]


class Nearest(NamedTuple):
    """The sentences nearest to n texts.

    Attributes:
        sentences: numbers of sentences, or `NONE`, (n,).
        cosines: cosines of these sentences, 0 for `NONE`, (n,).
    """

    sentences: IntArray
    cosines: FloatArray


class Ranker:
    """Index that finds the nearest of some sentences.

    Args:
        sentences: all candidates, one document each, numbered by their places here.
    """

    def __init__(self, sentences: Sequence[str]) -> None:
        self._number: dict[str, int] = {}
        rows, columns = array("q"), array("q")
        for row, sentence in enumerate(sentences):
            for word in _WORD.findall(sentence.lower()):
                rows.append(row)
                columns.append(self._number.setdefault(word, len(self._number)))
        counts = self._counts(rows, columns, len(sentences))
        documents = np.bincount(counts.indices, minlength=len(self._number))
        self._idf: FloatArray = np.log((1 + len(sentences)) / (1 + documents)) + 1
        self._sentences = self._weighted(counts)

    def nearest(self, texts: Sequence[str], candidates: Sequence[Sequence[int] | IntArray]) -> Nearest:
        """Find each text's candidate of the largest cosine; the first of equal ones; `NONE` for zeros.

        Args:
            texts: n of them.
            candidates: positions of sentences for each text; may be empty.
        """
        nearest_sentences = Nearest(np.full(len(texts), NONE), np.zeros(len(texts)))
        lengths = np.array([len(each) for each in candidates], dtype=np.int64)
        vectors = self._vectors(texts)
        start = 0
        while start < len(texts):
            within = np.cumsum(lengths[start:]) <= PAIRS_AT_ONCE
            stop = start + max(1, int(np.count_nonzero(within)))
            self._fill(
                nearest_sentences, start, vectors[start:stop], candidates[start:stop], lengths[start:stop]
            )
            start = stop
        return nearest_sentences

    def ranked(self, text: str) -> list[int]:
        """All sentences that share a word with a text, the nearest first; equal ones in their order."""
        cosines = np.asarray((self._sentences @ self._vectors([text]).T).todense()).ravel().round(_DECIMALS)
        return [place for place in np.argsort(-cosines, kind="stable").tolist() if cosines[place] > 0]

    def _fill(
        self,
        result: Nearest,
        start: int,
        vectors: Any,
        candidates: Sequence[Sequence[int] | IntArray],
        lengths: IntArray,
    ) -> None:
        nonempty = np.flatnonzero(lengths)
        if not nonempty.size:
            return
        columns = np.concatenate([np.asarray(candidates[i], dtype=np.int64) for i in nonempty.tolist()])
        pairs = vectors[np.repeat(nonempty, lengths[nonempty])].multiply(self._sentences[columns])
        cosines = np.asarray(pairs.sum(axis=1)).round(_DECIMALS)
        begins = np.concatenate([[0], np.cumsum(lengths[nonempty])[:-1]])
        best = np.maximum.reduceat(cosines, begins)
        places = np.arange(len(cosines))
        is_best = cosines == np.repeat(best, lengths[nonempty])
        first = np.minimum.reduceat(np.where(is_best, places, len(places)), begins)
        result.cosines[start + nonempty] = best
        result.sentences[start + nonempty] = np.where(best > 0, columns[first], NONE)

    def _vectors(self, texts: Sequence[str]) -> Any:
        """TF-IDF of texts; words that no sentence has are ignored."""
        rows, columns = array("q"), array("q")
        for row, text in enumerate(texts):
            for word in _WORD.findall(text.lower()):
                number = self._number.get(word)
                if number is not None:
                    rows.append(row)
                    columns.append(number)
        return self._weighted(self._counts(rows, columns, len(texts)))

    def _counts(self, rows: array[int], columns: array[int], length: int) -> Any:
        shape = (length, max(1, len(self._number)))
        counts = csr_array((np.ones(len(rows)), (np.asarray(rows), np.asarray(columns))), shape=shape)
        counts.sum_duplicates()
        return counts

    def _weighted(self, counts: Any) -> Any:
        """Multiply rows of counts by idf, and scale each to length 1 (or 0)."""
        counts.data *= self._idf[counts.indices]
        norms = np.sqrt(np.asarray(counts.multiply(counts).sum(axis=1)))
        counts.data /= np.repeat(norms, np.diff(counts.indptr))
        return counts


def words_near(words: Sequence[str], last: int, most: int) -> str:
    """The query of a bot in a conversation: the newest words, at least the whole last turn.

    Args:
        words: words of all turns, oldest first.
        last: number of words in the last turn.
        most: W_H, words of history that are read.
    """
    return " ".join(words[-max(last, most, 1) :])
