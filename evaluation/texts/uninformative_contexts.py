"""Contexts that tell raters too little: short ones, and those with words that a vocabulary did not have.

Ghandeharioun et al. 2019, arXiv:1906.09308, A.8, leaves out contexts of at most 10 tokens or with an unknown
word.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from evaluation.texts.repetition import words

SHORT = 10
"""Words of a context that is too short in the paper, at most."""

_UNKNOWN = re.compile(r"<\s*unk(?:nown)?\s*>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Fit:
    """Which contexts are wanted.

    Attributes:
        least_words: of all turns together; 0: any.
        unknown: whether those with `<unknown>` or `<unk>` are wanted, too.
    """

    least_words: int = 0
    unknown: bool = True

    def holds(self, turns: Sequence[str]) -> bool:
        """Whether a context of these turns is wanted."""
        if not self.unknown and has_unknown(turns):
            return False
        return not self.least_words or word_count(turns) >= self.least_words


def word_count(turns: Sequence[str]) -> int:
    """The words of all turns, as the rule of repetition counts them, without the marks of unknown ones."""
    return sum(len(words(_UNKNOWN.sub(" ", text))) for text in turns)


def has_unknown(turns: Sequence[str]) -> bool:
    """Whether a turn has the mark of an unknown word."""
    return any(_UNKNOWN.search(text) for text in turns)


@dataclass(frozen=True, slots=True)
class Contexts:
    """How much the contexts of some items tell raters.

    Attributes:
        items: those that have a context.
        fewest_words: of the shortest one.
        short: those of few words.
        unknown: those with the mark of an unknown word.
    """

    items: int = 0
    fewest_words: int = 0
    short: int = 0
    unknown: int = 0

    @classmethod
    def of(cls, contexts: Sequence[Sequence[str]]) -> "Contexts":
        """Of these; one without turns is none."""
        there = [turns for turns in contexts if turns]
        counts = [word_count(turns) for turns in there]
        short = sum(count <= SHORT for count in counts)
        return cls(len(there), min(counts, default=0), short, sum(map(has_unknown, there)))


NO_CONTEXTS = Contexts()
