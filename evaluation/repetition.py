"""Cross-turn repetition: a turn that repeats an earlier turn of the same conversation.

The rule, which a response filter can apply word for word:

1. Unit: words. A text is lowercased (Unicode case folding, compatibility forms and apostrophes unified) and
   cut into maximal runs of letters and digits, with apostrophes inside a word; each Chinese, Japanese or
   Korean character is a word of its own, for those scripts put no spaces between words.
2. Algorithm: the longest common subsequence of the two word sequences, which keeps the order of words but
   allows others in between.
3. Threshold: a turn repeats an earlier one if that subsequence has at least `MIN_WORDS` words and at least
   `MIN_SHARE` of the words of the shorter turn.

Adiwardana et al. 2020, arXiv:2001.09977, section 5.2, removes candidates where "any two turns contain long
common sub-sequences" and gives no threshold. Ours catch the repetitions of the paper's Tables 5 and 6 and
flag 0.3 % of the turns of the published human conversations (`docs/statistics.md` has all four files).
"""

import re
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from unicodedata import normalize

import numpy as np
from numpy.random import Generator

from evaluation.bootstrap import LEVEL, RESAMPLES, Ratio, cluster_interval
from evaluation.interval import Interval, Undefined

MIN_WORDS = 5
MIN_SHARE = 0.6

_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+(?:'[^\W_{_UNSPACED}]+)*")


def words(text: str) -> list[str]:
    """The words that the rule compares."""
    folded = normalize("NFKC", text).casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return _WORD.findall(folded)


def common_subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    """Length of the longest common subsequence of two word sequences.

    Bit-parallel (Hyyrö 2004, Bit-parallel LCS-length computation revisited): one integer operation per word
    of `second` instead of a row of a table.
    """
    positions: dict[str, int] = {}
    for index, word in enumerate(first):
        positions[word] = positions.get(word, 0) | 1 << index
    everything = (1 << len(first)) - 1
    free = everything
    for word in second:
        matches = free & positions.get(word, 0)
        free = ((free + matches) | (free - matches)) & everything
    return len(first) - free.bit_count()


def repeats(turn: Sequence[str], earlier: Sequence[str]) -> bool:
    """Whether one turn repeats another, both given as `words`; symmetric."""
    shorter = min(len(turn), len(earlier))
    if shorter < MIN_WORDS:
        return False
    return common_subsequence(turn, earlier) >= max(MIN_WORDS, MIN_SHARE * shorter)


def repeated_turns(turns: Sequence[str]) -> list[bool]:
    """For each turn of one conversation, oldest first: does it repeat any earlier turn, whoever spoke it?"""
    cut = [words(turn) for turn in turns]
    return [any(repeats(turn, earlier) for earlier in cut[:index]) for index, turn in enumerate(cut)]


@dataclass(frozen=True, slots=True)
class Repetition:
    """Cross-turn repetition of one bot.

    Attributes:
        share: share of its turns that repeat an earlier turn of the conversation, in [0, 1].
        interval: of the share, over conversations.
        dialogues_affected: share of conversations with at least one such turn, in [0, 1].
        turns: number of bot turns.
        dialogues: number of conversations.
    """

    share: float
    interval: Interval | Undefined
    dialogues_affected: float
    turns: int
    dialogues: int


def repetition(
    dialogues: Mapping[Hashable, Sequence[Sequence[tuple[bool, str]]]],
    rng: Generator,
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> dict[Hashable, Repetition | Undefined]:
    """Cross-turn repetition per bot.

    Args:
        dialogues: by bot, its conversations; each is a sequence of (spoken by the bot?, text), oldest first.
        rng: seeded generator.
        resamples: number of resamples of conversations.
        level: nominal coverage.

    Returns:
        By bot; `Undefined` for a bot that never spoke.
    """
    answer: dict[Hashable, Repetition | Undefined] = {}
    for bot, conversations in dialogues.items():
        rows = np.array([_counts(conversation) for conversation in conversations], dtype=np.float64)
        if not rows.size or not rows[:, 1].any():
            answer[bot] = Undefined(f"{bot} has no turns.")
            continue
        repeated, turns = rows.sum(axis=0).tolist()
        interval = cluster_interval(rows, Ratio((1.0, 0.0), 1), rng, resamples=resamples, level=level)
        affected = float((rows[:, 0] > 0).mean())
        answer[bot] = Repetition(repeated / turns, interval, affected, int(turns), len(rows))
    return answer


def _counts(conversation: Sequence[tuple[bool, str]]) -> tuple[int, int]:
    """Number of repeated bot turns and of bot turns."""
    flags = repeated_turns([text for _, text in conversation])
    by_bot = [is_bot for is_bot, _ in conversation]
    return sum(f and b for f, b in zip(flags, by_bot, strict=True)), sum(by_bot)
