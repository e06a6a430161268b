"""Signs of careless work: machine-like phrases, runs of equal answers, haste, pasted messages.

Machine-like phrases are marks and wordings that people rarely type in chats. No text is certainly a
machine's, and anyone who wants to hide it can, so this is the weakest sign: a person must read the messages.
Pasting is a sign, no proof: some people draft elsewhere. Haste is measured against reading speed, and against
other raters of the same items.
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
"""Fewest messages with a mark that are a sign."""
LEAST_SHARE = 0.3
"""Smallest share of a person's messages with a mark that is a sign."""

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
    """Number of a person's messages with a mark, and of all their messages."""

    marked: int
    messages: int

    @property
    def is_sign(self) -> bool:
        """True if enough messages have a mark, in number and as a share."""
        return self.marked >= FEWEST and self.marked >= LEAST_SHARE * self.messages


def marked(texts: Sequence[str]) -> Marked:
    """Count messages with a mark of a language model.

    Args:
        texts: the messages of one person. The phrases are English; the punctuation marks hold in any
            language.
    """
    return Marked(sum(_MARKS.search(text) is not None for text in texts), len(texts))


class Run(NamedTuple):
    """The longest run of one answer: its length, the answer, and its start (from 0)."""

    length: int
    answer: Hashable
    start: int


def longest_run(answers: Sequence[Hashable]) -> Run | None:
    """Find the longest run of equal answers, the first of several; None without answers."""
    best, start = None, 0
    for position, answer in enumerate(answers):
        if answer != answers[start]:
            start = position
        if best is None or position - start + 1 > best.length:
            best = Run(position - start + 1, answer, start)
    return best


def chance_of_run(answers: int, length: int, share: float) -> float:
    """Upper bound of the probability of a run in independent answers.

    By Boole's inequality: a run begins at one of `answers - length + 1` positions, each with the probability
    share^length. So a run never looks rarer than it is.

    Args:
        answers: number of answers.
        length: length of the run.
        share: share of other raters' answers that equal this one, in [0, 1].

    Returns:
        A bound of at most 1; 0 if the run cannot fit.
    """
    if not 0 < length <= answers:
        return 0.0
    return min(1.0, (answers - length + 1) * share**length)


def entropy(answers: Sequence[Hashable]) -> float:
    """Shannon entropy of the answers in bits: 0 if all are equal, 1 for two equally frequent answers."""
    total = len(answers)
    return -sum(n / total * math.log2(n / total) for n in Counter(answers).values()) + 0.0


WORDS_A_MINUTE = 700.0
"""Adults read 238 words a minute (Brysbaert 2019); anyone three times as fast has skimmed at best."""


def unread(answer_ms: FloatArray, words: FloatArray, *, words_a_minute: float = WORDS_A_MINUTE) -> IntArray:
    """Find judgments that came too soon for the item to have been read.

    Args:
        answer_ms: (n,) time from display to answer; NaN if not measured.
        words: (n,) number of words in the item.
        words_a_minute: fastest reading speed.

    Returns:
        Rows of these judgments.
    """
    with np.errstate(invalid="ignore"):
        return np.flatnonzero(answer_ms < words / words_a_minute * 60_000)


def paces(
    rater: Sequence[str] | AnyArray, item: AnyArray, answer_ms: FloatArray
) -> dict[str, tuple[float, int]]:
    """Compute each rater's pace: the median ratio of their time to the median of the others on the same item.

    Long items therefore make no rater look slow. A pace of 0.5 is twice as fast as the others.

    Args:
        rater: (n,) raters.
        item: (n,) judged items.
        answer_ms: (n,) time to the answer; NaN if not measured.

    Returns:
        By rater, the pace and the number of items behind it; raters without a shared timed item are left out.
    """
    timed = ~np.isnan(answer_ms) & (answer_ms > 0)
    raters, who = coded(np.asarray(rater, dtype=object)[timed])
    code, ms = coded(item[timed])[1], answer_ms[timed]
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
"""Shorter pasted texts may be a name or an address."""


@dataclass(frozen=True, slots=True)
class Message:
    """One message.

    Attributes:
        characters: length of the sent text.
        pasted: number of pasted characters.
        typing_ms: typing time, in milliseconds.
    """

    characters: int
    pasted: int
    typing_ms: int

    @property
    def is_pasted(self) -> bool:
        """True if at least half of the message was pasted."""
        return self.characters >= LEAST_CHARACTERS and 2 * self.pasted >= self.characters


@dataclass(frozen=True, slots=True)
class Pasted:
    """Count of pasted messages.

    Attributes:
        pasted: number of pasted messages.
        messages: number of measured messages.
        seconds: typing time of all messages.
    """

    pasted: int
    messages: int
    seconds: float

    @property
    def is_sign(self) -> bool:
        """True if enough messages were pasted, in number and as a share."""
        return self.pasted >= FEWEST_MESSAGES and self.pasted >= SHARE_OF_MESSAGES * self.messages


def pasted(messages: Sequence[Message]) -> Pasted:
    """Count pasted messages."""
    return Pasted(
        sum(each.is_pasted for each in messages),
        len(messages),
        sum(each.typing_ms for each in messages) / 1000,
    )
