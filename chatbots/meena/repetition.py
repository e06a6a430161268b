"""The rule of Meena (full) against repeating an earlier turn.

The paper: "a rule that detects if any two turns contain long common sub-sequences"; it gives no numbers.
Ours: words in lower case without punctuation; two turns repeat each other if their longest common subsequence
has at least `LEAST_WORDS` words and at least `LEAST_SHARE` of the words of the shorter turn. Words between
may differ, so that "I'd love to go to Japan too" repeats "I'd love to go to Paris too". `docs/meena.md` has
how the numbers were chosen and how many turns of the published conversations they strike.

Source: arXiv:2001.09977, section 5.2.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

LEAST_WORDS = 5
LEAST_SHARE = 0.5

_WORD = re.compile(r"\w+(?:'\w+)*")


def repeats(candidate: str, earlier: Iterable[str]) -> bool:
    """Whether a candidate repeats any earlier turn, whoever said it."""
    own = words(candidate)
    return any(too_alike(own, words(turn)) for turn in earlier)


def too_alike(first: Sequence[str], second: Sequence[str]) -> bool:
    """Whether two turns' words share a subsequence that is long, and most of the shorter turn."""
    shorter = min(len(first), len(second))
    if shorter < LEAST_WORDS:
        return False
    return longest_common_subsequence(first, second) >= max(LEAST_WORDS, LEAST_SHARE * shorter)


def words(text: str) -> list[str]:
    """Words in lower case, without punctuation; curly apostrophes count as straight ones."""
    return _WORD.findall(text.lower().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'"))


def longest_common_subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    """Length of the longest sequence that both contain in order, with gaps.

    One addition of whole numbers per word of `second`: bit i of `row` is 0 where the length grows at
    `first[i]`.

    Source: Hyyrö 2004, "Bit-parallel LCS-length computation revisited", AWOCA.
    """
    places: dict[str, int] = {}
    for index, word in enumerate(first):
        places[word] = places.get(word, 0) | 1 << index
    everything = (1 << len(first)) - 1
    row = everything
    for word in second:
        matches = row & places.get(word, 0)
        row = ((row + matches) | (row - matches)) & everything
    return len(first) - row.bit_count()
