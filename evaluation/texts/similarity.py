"""Similarity of texts: unigram F1 of responses as in ParlAI, and near-duplicates by character n-grams."""

import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from math import comb

# ParlAI's set of marks: quotation marks other than these two, and dashes other than the hyphen, stay.
_MARKS = re.compile(r'[!"#$%&()*+,\-./:;<=>?@\[\]\\^`{|}~_\']')
_ARTICLES = re.compile(r"\b(a|an|the)\b")


def normalised(text: str) -> list[str]:
    """Split a text into lower-case words, without punctuation and without a, an, the."""
    return _ARTICLES.sub(" ", _MARKS.sub(" ", text.lower())).split()


def f1(response: str, references: Sequence[str]) -> float:
    """The largest unigram F1 of a response with any of its references, in [0, 1].

    Words count as often as they occur on both sides. Without common words, also for two empty texts, F1 is 0.

    Args:
        response: the generated response.
        references: the real responses, at least one.
    """
    counts = Counter(normalised(response))
    return max(_f1(counts, Counter(normalised(reference))) for reference in references)


def _f1(response: Counter[str], reference: Counter[str]) -> float:
    common = (response & reference).total()
    return 2 * common / (response.total() + reference.total()) if common else 0.0


GRAM = 4


@dataclass(frozen=True)
class NearDuplicate:
    """Two texts by their positions in the list, first < second, and their overlap in [0, 1]."""

    first: int
    second: int
    overlap: float


class TooAlikeError(ValueError):
    """Too many similar texts: their comparison would take too long."""


def near_duplicates(
    texts: Sequence[str], threshold: float, gram: int = GRAM, *, most: int | None = None
) -> list[NearDuplicate]:
    """Find all pairs of texts whose character n-grams overlap by `threshold` or more, highest first.

    The overlap is the Jaccard index of the two sets of n-grams: shared n-grams / all n-grams of either.

    Args:
        texts: the texts to compare, any number.
        threshold: least overlap to report, in (0, 1].
        gram: characters per n-gram, 1 or more.
        most: bound on the work, the number of pairs of texts summed over their shared n-grams; None: no
            bound.

    Raises:
        TooAlikeError: the work would exceed `most`.
        ValueError: the threshold is outside (0, 1], or `gram` is below 1.
    """
    if not 0 < threshold <= 1:
        raise ValueError(f"threshold is {threshold}; give a value above 0 and up to 1")
    grams = [character_ngrams(text, gram) for text in texts]
    pairs = [
        NearDuplicate(first, second, shared / (len(grams[first]) + len(grams[second]) - shared))
        for (first, second), shared in _shared_counts(grams, most).items()
    ]
    return sorted((p for p in pairs if p.overlap >= threshold), key=lambda p: (-p.overlap, p.first, p.second))


def character_ngrams(text: str, gram: int = GRAM) -> frozenset[str]:
    """Return the set of character n-grams of a text.

    Case, punctuation and the width of spaces do not count; one space at each end marks the words' borders. A
    text shorter than one n-gram is its own single n-gram, and an empty text has none.

    Args:
        text: any text.
        gram: characters per n-gram, 1 or more.

    Raises:
        ValueError: `gram` is below 1.
    """
    if gram < 1:
        raise ValueError(f"gram is {gram}; an n-gram has at least 1 character")
    words = re.findall(r"\w+", unicodedata.normalize("NFKC", text).replace("'", "").casefold())
    if not words:
        return frozenset()
    padded = f" {' '.join(words)} "
    return frozenset(padded[i : i + gram] for i in range(max(1, len(padded) - gram + 1)))


def _shared_counts(grams: Sequence[frozenset[str]], most: int | None) -> dict[tuple[int, int], int]:
    """Count shared n-grams for the pairs that share any: far fewer than all pairs."""
    holders: dict[str, list[int]] = defaultdict(list)
    for position, of_text in enumerate(grams):
        for one in of_text:
            holders[one].append(position)
    work = sum(comb(len(positions), 2) for positions in holders.values())
    if most is not None and work > most:
        raise TooAlikeError(f"{work:,} comparisons are more than {most:,}")
    counts: dict[tuple[int, int], int] = defaultdict(int)
    for positions in holders.values():
        for pair in combinations(positions, 2):
            counts[pair] += 1
    return counts
