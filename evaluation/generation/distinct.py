"""Distinct n-grams among all n-grams: of each response, and of all responses together.

Words are what blanks separate, in lower case: so the people of Topical-Chat's frequent validation set have
.94 and .996 per response for n of 1 and 2, and .06 and .34 over the corpus. A corpus has the fewer distinct
n-grams the larger it is, so only corpora of one size can be compared; the mean over responses has no such
fault, but long responses have fewer.
"""

from collections import Counter
from collections.abc import Hashable, Sequence

import numpy as np
import scipy

from evaluation.inference import t
from evaluation.interval import Interval, Undefined
from evaluation.labels import FloatArray

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
