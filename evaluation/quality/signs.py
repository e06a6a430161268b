"""A weak sign that a language model wrote messages: marks and phrases that people rarely type in chats.

No text can be told to be a machine's for certain, and whoever wants to hide it can. So this is the weakest of
all signs: it never stands alone for anything, and it is for a person to read the messages.

Answering the same again and again: the longest run, its chance, and the entropy.

How fast somebody judges: against what reading takes, and against others on the same items.

Messages that were pasted instead of typed, by counts. A sign, no proof: some people draft elsewhere.
"""

import math
import re
from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evaluation.statistics.labels import AnyArray, FloatArray, IntArray, coded

FEWEST = 3
"""Messages with a mark before it is a sign at all."""
LEAST_SHARE = 0.3
"""Share of somebody's messages with a mark from which on it is a sign."""

_MARKS = re.compile(
    r"""—|\*\*\S[^*]*\*\*|^\s*(?:[-*•]|\d+[.)])\s+\S.*\n\s*(?:[-*•]|\d+[.)])\s|^\#{1,4}\s
    |\bas\ an?\ (?:ai\b|artificial\ intelligence|(?:large\ )?language\ model)
    |\bi(?:['\u2019]d|\ would)\ be\ (?:happy|glad)\ to\ (?:help|assist|provide|share)
    |\b(?:it['\u2019]s|it\ is)\ (?:important|worth)\ (?:to\ note|noting)
    |\bfeel\ free\ to\ (?:ask|share|reach)
    |^(?:certainly|absolutely|of\ course|great\ question|what\ a\ (?:great|fascinating|wonderful)\ \w+)!
    |\bdelv(?:e|ing)\b|\btapestry\b|\bin\ (?:conclusion|summary),""",
    re.IGNORECASE | re.MULTILINE | re.VERBOSE,
)


@dataclass(frozen=True, slots=True)
class Marked:
    """How many messages of somebody carry a mark, of how many."""

    marked: int
    messages: int

    @property
    def is_sign(self) -> bool:
        """Whether enough messages carry a mark, and enough of all."""
        return self.marked >= FEWEST and self.marked >= LEAST_SHARE * self.messages


def marked(texts: Sequence[str]) -> Marked:
    """How many of these messages carry a mark of a language model.

    Args:
        texts: the messages of one person, in English; in other languages only the marks, not the phrases.
    """
    return Marked(sum(_MARKS.search(text) is not None for text in texts), len(texts))


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


WORDS_A_MINUTE = 700.0
"""Adults read 238 words a minute (Brysbaert 2019); who takes a third of that time has skimmed at best."""


def unread(answer_ms: FloatArray, words: FloatArray, *, words_a_minute: float = WORDS_A_MINUTE) -> IntArray:
    """Which judgments came before what is judged can have been read.

    Args:
        answer_ms: (n,) from being shown to the answer; NaN where it was not measured.
        words: (n,) in what is judged.
        words_a_minute: faster than this nobody reads.

    Returns:
        Their rows.
    """
    with np.errstate(invalid="ignore"):
        return np.flatnonzero(answer_ms < words / words_a_minute * 60_000)


def paces(
    rater: Sequence[str] | AnyArray, item: AnyArray, answer_ms: FloatArray
) -> dict[str, tuple[float, int]]:
    """By rater, the median of their time over the median time of the others on the same item.

    So items that take everybody long make nobody slow. 0.5 is twice as fast as the others.

    Args:
        rater: (n,) who judged.
        item: (n,) what.
        answer_ms: (n,) how long it took; NaN where it was not measured.

    Returns:
        With the number of items that tell; who shares no timed item with another is left out.
    """
    known = ~np.isnan(answer_ms) & (answer_ms > 0)
    raters, who = coded(np.asarray(rater, dtype=object)[known])
    code, ms = coded(item[known])[1], answer_ms[known]
    ratios: dict[str, list[float]] = {}
    order = np.argsort(code, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(code[order])) + 1):
        for row in rows.tolist():
            others = ms[rows[who[rows] != who[row]]]
            if len(others):
                ratios.setdefault(str(raters[who[row]]), []).append(float(ms[row] / np.median(others)))
    return {name: (float(np.median(of)), len(of)) for name, of in ratios.items()}


FEWEST_MESSAGES = 3
SHARE_OF_MESSAGES = 0.3
LEAST_CHARACTERS = 20
"""Below that somebody may have pasted a name or an address."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message.

    Attributes:
        characters: of the text that was sent.
        pasted: characters that came in by pasting.
        typing_ms: time of typing, in milliseconds.
    """

    characters: int
    pasted: int
    typing_ms: int

    @property
    def is_pasted(self) -> bool:
        """Whether at least half of it was."""
        return self.characters >= LEAST_CHARACTERS and 2 * self.pasted >= self.characters


@dataclass(frozen=True, slots=True)
class Pasted:
    """How many messages were pasted.

    Attributes:
        pasted: of them.
        messages: all that were measured.
        seconds: of typing, for all of them.
    """

    pasted: int
    messages: int
    seconds: float

    @property
    def is_sign(self) -> bool:
        """Whether enough messages were pasted, and enough of all."""
        return self.pasted >= FEWEST_MESSAGES and self.pasted >= SHARE_OF_MESSAGES * self.messages


def pasted(messages: Sequence[Message]) -> Pasted:
    """Count them."""
    return Pasted(
        sum(each.is_pasted for each in messages),
        len(messages),
        sum(each.typing_ms for each in messages) / 1000,
    )
