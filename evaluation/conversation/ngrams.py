"""Distinct n-grams among all n-grams: of each response, and of all responses together.

Words are what blanks separate, in lower case: so the people of Topical-Chat's frequent validation set have
.94 and .996 per response for n of 1 and 2, and .06 and .34 over the corpus. A corpus has the fewer distinct
n-grams the larger it is, so only corpora of one size can be compared; the mean over responses has no such
fault, but long responses have fewer.

How alike the conversations of a bot are, to each other and to what it learnt from.

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
    """The words of a text as n-grams are counted."""
    return text.lower().split()


def grams(words: Sequence[str], n: int) -> list[Gram]:
    """All n-grams, in their order.

    Args:
        words: of a text.
        n: words of an n-gram, at least 1.

    Returns:
        len(words) - n + 1 of them; none of fewer than n words.
    """
    return [tuple(words[start : start + n]) for start in range(len(words) - n + 1)]


def per_response(texts: Sequence[str], n: int) -> FloatArray:
    """Distinct-n of each text by itself.

    Args:
        texts: m of them.
        n: words of an n-gram, at least 1.

    Returns:
        (m,) shares in (0, 1] of each text's n-grams that are distinct; NaN of a text without any.
    """
    found = np.full(len(texts), np.nan)
    for row, text in enumerate(texts):
        if of_text := grams(words_of(text), n):
            found[row] = len(set(of_text)) / len(of_text)
    return found


def over_corpus(
    texts: Sequence[str], clusters: Sequence[Hashable], n: int, level: float
) -> tuple[float | Undefined, Interval | Undefined]:
    """The share of distinct n-grams in all texts together, with the jackknife's interval over clusters.

    A number of different things is no mean, and resamples, in which clusters occur twice, would have fewer
    of them than any new data. So one cluster at a time is left out (Heltshe & Forrester 1983, Biometrics 39),
    and the interval is Student's t on the logit.

    Args:
        texts: m responses.
        clusters: the conversation of each.
        n: length of the n-grams.
        level: of the interval.
    """
    of_cluster: dict[Hashable, Counter[Gram]] = {}
    for text, cluster in zip(texts, clusters, strict=True):
        of_cluster.setdefault(cluster, Counter()).update(grams(words_of(text), n))
    holders = Counter(gram for counts in of_cluster.values() for gram in counts)
    total = sum(counts.total() for counts in of_cluster.values())
    if not total:
        return Undefined(f"No response has {n} words."), Undefined(f"No response has {n} words.")
    share = len(holders) / total
    own = np.array([sum(holders[gram] == 1 for gram in counts) for counts in of_cluster.values()])
    lengths = np.array([counts.total() for counts in of_cluster.values()])
    return share, _jackknife(share, len(holders) - own, total - lengths, level)


def _jackknife(share: float, distinct: FloatArray, left: FloatArray, level: float) -> Interval | Undefined:
    """The interval of a share from its numerator and denominator without each cluster."""
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
"""Turns in a row that the paper looks for in pairs of conversations, and in the corpus."""


class Overlap(NamedTuple):
    """How many pairs of conversations have a run of turns in common, of how many pairs."""

    sharing: int
    pairs: int

    @property
    def percent(self) -> float:
        """Share of the pairs, from 0 to 100; 0 of no pairs."""
        return 100 * self.sharing / self.pairs if self.pairs else 0.0


def overlap(conversations: Sequence[Sequence[str]], length: int) -> Overlap:
    """Count the pairs of conversations that have so many equal turns in a row, anywhere in both.

    Args:
        conversations: turns of each, oldest first. Turns are equal if they are after case folding and with
            all white space between words made one space.
        length: turns in a row, at least 1.

    Raises:
        ValueError: `length` is below 1.
    """
    runs = _runs_of_each(conversations, length)
    # For each run, the conversations that have it, as the bits of a number: so a union is one operation.
    having: dict[Run, int] = {}
    for index, each in enumerate(runs):
        for run in each:
            having[run] = having.get(run, 0) | 1 << index
    sharing = sum(_others(each, having) for each in runs) // 2
    return Overlap(sharing, len(runs) * (len(runs) - 1) // 2)


class Known(NamedTuple):
    """How many conversations have a run of turns that a corpus has, of how many; and the first such run."""

    knowing: int
    conversations: int
    example: Run

    @property
    def percent(self) -> float:
        """Share of the conversations, from 0 to 100; 0 of none."""
        return 100 * self.knowing / self.conversations if self.conversations else 0.0


def known(conversations: Sequence[Sequence[str]], corpus: Iterable[Sequence[str]], length: int) -> Known:
    """Count the conversations that have so many turns in a row which stand in a row in a corpus, too.

    Args:
        conversations: turns of each, oldest first; equal as in `overlap`.
        corpus: turns of each of its conversations; read once, and nothing of it is kept.
        length: turns in a row, at least 1.

    Raises:
        ValueError: `length` is below 1.
    """
    runs = _runs_of_each(conversations, length)
    wanted = set().union(*runs)
    found = {
        run for turns in corpus for run in _runs([_plain(turn) for turn in turns], length) if run in wanted
    }
    example = min(found, default=())
    return Known(sum(not run.isdisjoint(found) for run in runs), len(runs), example)


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
    """How many other conversations have one of these runs."""
    found = 0
    for run in runs:
        found |= having[run]
    return max(0, found.bit_count() - 1)


def _plain(turn: str) -> str:
    return " ".join(turn.casefold().split())
