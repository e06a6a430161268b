"""Contexts that tell raters too little: short contexts, and contexts with unknown words.

Ghandeharioun et al. 2019, arXiv:1906.09308, A.8, leaves out contexts of at most 10 tokens or with an unknown
word.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.texts.repetition import words

SHORT = 10
"""Most words of a context that the paper leaves out as too short."""

_UNKNOWN = re.compile(r"<\s*unk(?:nown)?\s*>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fit:
    """Filter for contexts.

    Attributes:
        least_words: fewest words of all turns together; 0: any number.
        unknown: true if contexts with `<unknown>` or `<unk>` are accepted.
    """

    least_words: int = 0
    unknown: bool = True

    def holds(self, turns: Sequence[str]) -> bool:
        """True if a context with these turns is accepted."""
        if not self.unknown and has_unknown(turns):
            return False
        return not self.least_words or word_count(turns) >= self.least_words


def word_count(turns: Sequence[str]) -> int:
    """Number of words of all turns, split as in `repetition.words`, without marks of unknown words."""
    return sum(len(words(_UNKNOWN.sub(" ", text))) for text in turns)


def has_unknown(turns: Sequence[str]) -> bool:
    """True if a turn has the mark of an unknown word."""
    return any(_UNKNOWN.search(text) for text in turns)


@dataclass(frozen=True, slots=True)
class Contexts:
    """Summary of the contexts of some items.

    Attributes:
        items: number of items with a context.
        fewest_words: number of words of the shortest context.
        short: number of contexts with at most `SHORT` words.
        unknown: number of contexts with the mark of an unknown word.
    """

    items: int = 0
    fewest_words: int = 0
    short: int = 0
    unknown: int = 0

    @classmethod
    def of(cls, contexts: Sequence[Sequence[str]]) -> "Contexts":
        """Summarise these contexts; those without turns are left out."""
        there = [turns for turns in contexts if turns]
        counts = [word_count(turns) for turns in there]
        short = sum(count <= SHORT for count in counts)
        return cls(len(there), min(counts, default=0), short, sum(map(has_unknown, there)))


NO_CONTEXTS = Contexts()
