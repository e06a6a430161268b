"""Diversity of responses by distinct n-grams, and overlap of conversations with each other and with a corpus.

Words are lower case and separated by blanks: people in Topical-Chat's frequent validation set then have .94
and .996 per response for n of 1 and 2, and .06 and .34 over the corpus. The share of distinct n-grams falls
with the size of a corpus, so only corpora of one size can be compared. The mean over responses has no such
fault, but it falls with the length of responses.

Ghandeharioun et al. 2019, arXiv:1906.09308, appendix A.13, report the share of pairs of self-play
conversations with three or five equal turns in a row, and of conversations with two or three turns in a row
that are in the training corpus.
"""

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import scipy

from evaluation.statistics.inference import t
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import FloatArray

Gram = tuple[str, ...]


def words_of(text: str) -> list[str]:
    """Split a text into words for n-grams."""
    return text.lower().split()


def grams(words: Sequence[str], n: int) -> list[Gram]:
    """List all n-grams, in their order.

    Args:
        words: words of a text.
        n: words of an n-gram, at least 1.

    Returns:
        len(words) - n + 1 n-grams; none for fewer than n words.
    """
    return [tuple(words[start : start + n]) for start in range(len(words) - n + 1)]


def per_response(texts: Sequence[str], n: int) -> FloatArray:
    """Compute distinct-n of each text.

    Args:
        texts: m texts.
        n: words of an n-gram, at least 1.

    Returns:
        (m,) shares in (0, 1] of distinct n-grams among the text's n-grams; NaN for a text without any.
    """
    shares = np.full(len(texts), np.nan)
    for row, text in enumerate(texts):
        if of_text := grams(words_of(text), n):
            shares[row] = len(set(of_text)) / len(of_text)
    return shares


def over_corpus(
    texts: Sequence[str], clusters: Sequence[Hashable], n: int, level: float
) -> tuple[float | Undefined, Interval | Undefined]:
    """Compute the share of distinct n-grams in all texts together, with a jackknife interval over clusters.

    A bootstrap does not fit: resamples repeat clusters and have fewer distinct n-grams than new data. So one
    cluster at a time is left out (Heltshe & Forrester 1983, Biometrics 39), and the interval is Student's t
    on the logit.

    Args:
        texts: m responses.
        clusters: the conversation of each response.
        n: length of the n-grams.
        level: coverage of the interval.
    """
    of_cluster: dict[Hashable, Counter[Gram]] = {}
    for text, cluster in zip(texts, clusters, strict=True):
        of_cluster.setdefault(cluster, Counter()).update(grams(words_of(text), n))
    holders = Counter(gram for counts in of_cluster.values() for gram in counts)
    total = sum(counts.total() for counts in of_cluster.values())
    if not total:
        return Undefined(f"No response has {n} words."), Undefined(f"No response has {n} words.")
    share = len(holders) / total
    unique = np.array([sum(holders[gram] == 1 for gram in counts) for counts in of_cluster.values()])
    lengths = np.array([counts.total() for counts in of_cluster.values()])
    return share, _jackknife(share, len(holders) - unique, total - lengths, level)


def _jackknife(share: float, distinct: FloatArray, left: FloatArray, level: float) -> Interval | Undefined:
    """Jackknife interval of a share, from its numerator and denominator without each cluster."""
    k = len(left)
    if k < 2 or not left.all():
        return Undefined("All n-grams are of one conversation; an interval needs 2.")
    if share == 1:
        return Undefined("Every n-gram occurs once, so nothing tells how often others would occur again.")
    without = distinct / left
    error = float(np.sqrt((k - 1) / k * ((without - without.mean()) ** 2).sum()))
    if error == 0:
        return Undefined("All conversations are alike, so they cannot tell the uncertainty.")
    half = t(k - 1, level) * error / (share * (1 - share))
    low, high = (float(scipy.special.expit(scipy.special.logit(share) + side * half)) for side in (-1, 1))
    return Interval(low, high, level, "jackknife")


Run = tuple[str, ...]
SHARED, KNOWN = (3, 5), (2, 3)
"""Numbers of consecutive turns that the paper compares between conversations, and with the corpus."""


class Overlap(NamedTuple):
    """Number of pairs of conversations with a common run of turns, and of all pairs."""

    sharing: int
    pairs: int

    @property
    def percent(self) -> float:
        """Percentage of the pairs, from 0 to 100; 0 without pairs."""
        return 100 * self.sharing / self.pairs if self.pairs else 0.0


def overlap(conversations: Sequence[Sequence[str]], length: int) -> Overlap:
    """Count the pairs of conversations with `length` equal consecutive turns, anywhere in both.

    Args:
        conversations: turns of each conversation, oldest first. Turns are compared after case folding and
            with white space between words reduced to one space.
        length: turns in a row, at least 1.

    Raises:
        ValueError: `length` is below 1.
    """
    runs = _runs_of_each(conversations, length)
    # Conversations with a run are the bits of a number, so that a union is one operation.
    having: dict[Run, int] = {}
    for index, each in enumerate(runs):
        for run in each:
            having[run] = having.get(run, 0) | 1 << index
    sharing = sum(_others(each, having) for each in runs) // 2
    return Overlap(sharing, len(runs) * (len(runs) - 1) // 2)


class Known(NamedTuple):
    """Number of conversations with a run of turns from a corpus, of all, and the first such run."""

    knowing: int
    conversations: int
    example: Run

    @property
    def percent(self) -> float:
        """Percentage of the conversations, from 0 to 100; 0 without conversations."""
        return 100 * self.knowing / self.conversations if self.conversations else 0.0


def known(conversations: Sequence[Sequence[str]], corpus: Iterable[Sequence[str]], length: int) -> Known:
    """Count the conversations with `length` consecutive turns that a corpus has, too.

    Args:
        conversations: turns of each conversation, oldest first, compared as in `overlap`.
        corpus: turns of each conversation of the corpus; read once, not kept in memory.
        length: turns in a row, at least 1.

    Raises:
        ValueError: `length` is below 1.
    """
    runs = _runs_of_each(conversations, length)
    candidates = set().union(*runs)
    shared = {
        run
        for turns in corpus
        for run in _runs([_plain(turn) for turn in turns], length)
        if run in candidates
    }
    example = min(shared, default=())
    return Known(sum(not run.isdisjoint(shared) for run in runs), len(runs), example)


def _runs_of_each(conversations: Sequence[Sequence[str]], length: int) -> list[set[Run]]:
    """The runs of each conversation.

    Raises:
        ValueError: `length` is below 1.
    """
    if length < 1:
        raise ValueError(f"{length} turns in a row cannot be compared; give at least 1.")
    return [set(_runs([_plain(turn) for turn in turns], length)) for turns in conversations]


def _runs(turns: Sequence[str], length: int) -> Iterator[Run]:
    return (tuple(turns[start : start + length]) for start in range(len(turns) - length + 1))


def _others(runs: set[Run], having: dict[Run, int]) -> int:
    """Number of other conversations with one of these runs."""
    holders = 0
    for run in runs:
        holders |= having[run]
    return max(0, holders.bit_count() - 1)


def _plain(turn: str) -> str:
    return " ".join(turn.casefold().split())
