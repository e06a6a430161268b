"""Answering the same again and again: the longest run, its chance, and the entropy."""

import math
from collections import Counter
from collections.abc import Hashable, Sequence
from typing import NamedTuple


class Run(NamedTuple):
    """The longest run of one answer: how long, which, and where it begins (from 0)."""

    length: int
    answer: Hashable
    start: int


def longest_run(answers: Sequence[Hashable]) -> Run | None:
    """The longest run of equal answers, the first of several; None of no answers."""
    best, start = None, 0
    for position, answer in enumerate(answers):
        if answer != answers[start]:
            start = position
        if best is None or position - start + 1 > best.length:
            best = Run(position - start + 1, answer, start)
    return best


def chance_of_run(answers: int, length: int, share: float) -> float:
    """An upper bound of the chance of such a run in independent answers.

    By Boole's inequality: a run begins at one of `answers - length + 1` positions, at each with the chance
    share^length. It never makes a run look rarer than it is.

    Args:
        answers: how many were given.
        length: of the run.
        share: with which others give this answer, in [0, 1].

    Returns:
        At most 1; 0 answers have no run.
    """
    if not 0 < length <= answers:
        return 0.0
    return min(1.0, (answers - length + 1) * share**length)


def entropy(answers: Sequence[Hashable]) -> float:
    """Shannon's entropy of the answers, in bits: 0 where all are the same, 1 where two are as frequent."""
    total = len(answers)
    return -sum(n / total * math.log2(n / total) for n in Counter(answers).values()) + 0.0
