"""The paper's filters, which remove messages that teach nothing good, and counts of repeated texts.

Each filter is a pure function of one message; `reason_to_remove` names the first that matches. The paper
gives no numbers for overlap; this project's are stated here. Texts are counted in memory of fixed size.
Source: arXiv:2001.09977, section 3.1.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

SHORTEST, LONGEST = 2, 128
"""Subwords."""
LEAST_ALPHABETIC = 0.70
"""Share of letters among characters that are not spaces."""
MOST_REPEATS = 100
OVERLAP_WORDS = 3
MOST_OVERLAP = 0.6
"""Largest share of a message's word trigrams that its parent may also have."""

# Without a path, only top-level domains that are no English words: "yesterday.no surprise" lacks a space.
_ENDS = (
    "com|org|net|edu|gov|mil|info|biz|io|co|ai|app|dev|xyz|tv|gg|fm|ly|eu|uk|ie|de|ch|fr|es|nl|se|dk|fi|pl"
    "|cz|sk|hu|ro|gr|pt|ru|ua|tr|il|jp|cn|kr|tw|au|nz|ca|mx|br|cl|za"
)
_URL = re.compile(rf"https?://|\bwww\.|\b[\w-]{{1,63}}\.(?:(?:{_ENDS})\b|[a-z]{{2,10}}/\w)", re.IGNORECASE)
_WORD = re.compile(r"\w+(?:'\w+)?")


class Candidate(NamedTuple):
    """A message with all values that the filters need.

    Attributes:
        text: without quotes of the parent.
        author: user name; empty if unknown.
        parent: the parent's text; empty at a root.
        subwords: tokens of the text.
        occurrences: how often the text occurs in the corpus.
        unsafe: result of the safety classifier.
        context_only: True if it must not be learnt as a response.
    """

    text: str
    author: str
    parent: str
    subwords: int
    occurrences: int
    unsafe: bool
    context_only: bool = False


def wrong_length(message: Candidate) -> bool:
    """True for fewer than 2 or more than 128 subwords."""
    return not SHORTEST <= message.subwords <= LONGEST


def not_alphabetic(message: Candidate) -> bool:
    """True for less than 70 % letters, spaces not counted."""
    characters = "".join(message.text.split())
    return sum(map(str.isalpha, characters)) < LEAST_ALPHABETIC * len(characters)


def has_url(message: Candidate) -> bool:
    """True if it has a web address, with or without its scheme."""
    return _URL.search(message.text) is not None


def by_bot(message: Candidate) -> bool:
    """True if the author's name contains "bot"."""
    return "bot" in message.author.lower()


def repeated(message: Candidate, most: int = MOST_REPEATS) -> bool:
    """True if the text occurs more often than `most`, 100 by default."""
    return message.occurrences > most


def overlaps_parent(message: Candidate) -> bool:
    """True if over 60 % of its word trigrams are the parent's; False for fewer than three words."""
    trigrams = word_ngrams(message.text, OVERLAP_WORDS)
    shared = trigrams & word_ngrams(message.parent, OVERLAP_WORDS)
    return len(shared) > MOST_OVERLAP * len(trigrams)


def unsafe(message: Candidate) -> bool:
    """True if the safety classifier rejects it."""
    return message.unsafe


FILTERS: dict[str, Callable[[Candidate], bool]] = {
    "length": wrong_length,
    "alphabetic": not_alphabetic,
    "url": has_url,
    "bot": by_bot,
    "repeated": repeated,
    "overlap": overlaps_parent,
    "unsafe": unsafe,
}


def reason_to_remove(message: Candidate, most_repeats: int = MOST_REPEATS) -> str | None:
    """Name of the first filter, in the paper's order, that matches; None if the message stays.

    A context-only message stays unless it is empty or too long: a bot must know how people talk, "Yes" and
    insults included.
    """
    if message.context_only:
        return None if message.text and message.subwords <= LONGEST else "length"
    filters = FILTERS | {"repeated": partial(repeated, most=most_repeats)}
    return next((name for name, strikes in filters.items() if strikes(message)), None)


def word_ngrams(text: str, n: int) -> set[tuple[str, ...]]:
    """Collect all runs of n words, in lower case, without punctuation."""
    words = _WORD.findall(text.lower())
    return {tuple(words[start : start + n]) for start in range(len(words) - n + 1)}


def without_quotes(text: str, parent: str) -> str:
    r"""Cut out copies of the parent's text.

    A copy is a line that begins with ">" and continues with words of the parent, or the parent's whole text
    if it has at least three words.

    >>> without_quotes("> I love cheese\nWhich one?", "Well, I love cheese a lot")
    'Which one?'
    """
    lines = (line for line in text.splitlines() if not _quotes(line, parent))
    rest = " ".join(" ".join(lines).split())
    flat = " ".join(parent.split())
    if len(flat.split()) >= OVERLAP_WORDS:
        rest = " ".join(rest.replace(flat, " ").split())
    return rest


def _quotes(line: str, parent: str) -> bool:
    quoted = line.strip()
    return quoted.startswith(">") and quoted.lstrip("> ").strip() in parent


class CountSketch:
    """A count-min sketch: counts are never too small, and hardly ever too large.

    A text is overcounted by about (different texts / columns) at most: with the default, 64 MiB, by 24 in a
    corpus of 100 million different texts. Give a larger corpus more columns. Sketches of parts of a corpus
    can be added.

    Args:
        rows: independent tables.
        columns: counters of each, a power of two.

    Source: Cormode and Muthukrishnan 2005, doi:10.1016/j.jalgor.2003.12.001.
    """

    def __init__(self, *, rows: int = 4, columns: int = 1 << 22) -> None:
        self.counts: NDArray[np.uint32] = np.zeros((rows, columns), dtype=np.uint32)
        self._rows = np.arange(rows)

    def add(self, text: str) -> None:
        """Count one more occurrence."""
        self.counts[self._rows, self._cells(text)] += 1

    def count(self, text: str) -> int:
        """Number of occurrences so far; an upper bound."""
        return int(self.counts[self._rows, self._cells(text)].min())

    def merge(self, other: CountSketch) -> None:
        """Add the counts of another part of the corpus.

        Raises:
            ValueError: the other has a different shape.
        """
        if other.counts.shape != self.counts.shape:
            raise ValueError(
                f"Sketches of shapes {self.counts.shape} and {other.counts.shape} do not add up."
            )
        self.counts += other.counts

    def save(self, path: Path) -> None:
        """Write the counters as a compressed NumPy archive."""
        with path.open("wb") as file:
            np.savez_compressed(file, counts=self.counts)

    @classmethod
    def load(cls, path: Path) -> CountSketch:
        """Read a sketch that `save` wrote."""
        with np.load(path, allow_pickle=False) as archive:
            counts = archive["counts"]
        sketch = cls(rows=counts.shape[0], columns=1)
        sketch.counts = counts
        return sketch

    def _cells(self, text: str) -> NDArray[np.int64]:
        digest = hashlib.blake2b(text.lower().encode(), digest_size=4 * len(self._rows)).digest()
        cells: NDArray[np.int64] = np.frombuffer(digest, dtype="<u4").astype(np.int64) % self.counts.shape[1]
        return cells
