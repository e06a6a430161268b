"""How alike the conversations of a bot are, to each other and to what it learnt from.

Ghandeharioun et al. 2019, arXiv:1906.09308, appendix A.13, report the share of pairs of self-play
conversations with three or five equal turns in a row, and of conversations with two or three turns in a row
that are in the training corpus.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

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
    if length < 1:
        raise ValueError(f"{length} turns in a row cannot be compared; give at least 1.")
    runs = [set(_runs([_plain(turn) for turn in turns], length)) for turns in conversations]
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
    if length < 1:
        raise ValueError(f"{length} turns in a row cannot be compared; give at least 1.")
    runs = [set(_runs([_plain(turn) for turn in turns], length)) for turns in conversations]
    wanted = set().union(*runs)
    found = {
        run for turns in corpus for run in _runs([_plain(turn) for turn in turns], length) if run in wanted
    }
    example = min(found, default=())
    return Known(sum(not run.isdisjoint(found) for run in runs), len(runs), example)


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
