"""Cross-turn repetition: a turn that repeats an earlier turn of the same conversation.

Reports and the response filters of bots share this rule, so it needs only the standard library:

1. Unit: words. A text is lowercased (Unicode case folding, compatibility forms and apostrophes unified) and
   cut into maximal runs of letters and digits, with apostrophes inside a word; each Chinese, Japanese or
   Korean character is a word of its own, for those scripts put no spaces between words.
2. Algorithm: the longest common subsequence of the two word sequences, which keeps the order of words but
   allows others in between.
3. Threshold: a turn repeats an earlier one if that subsequence has at least `MIN_WORDS` words and at least
   `MIN_SHARE` of the words of the shorter turn.

Adiwardana et al. 2020, arXiv:2001.09977, section 5.2, removes candidates where "any two turns contain long
common sub-sequences" and gives no threshold. Ours catch all repetitions of the paper's Tables 5 and 6 and
flag 0.4 % of the turns of the published human conversations (`docs/statistics.md` has how they were chosen).
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from unicodedata import normalize

MIN_WORDS = 5
MIN_SHARE = 0.55
MIN_SAME = 3

_UNSPACED = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
_WORD = re.compile(rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+(?:'[^\W_{_UNSPACED}]+)*")


def words(text: str) -> list[str]:
    """Split a text into words for the rule: case folded, no punctuation, one word per Chinese character."""
    folded = normalize("NFKC", text).casefold().replace("\N{RIGHT SINGLE QUOTATION MARK}", "'")
    return _WORD.findall(folded)


def repeats(text: str, earlier: Iterable[str]) -> bool:
    """True if a candidate turn of a bot repeats an earlier turn of any speaker.

    This is stricter than in reports: equal turns count from `MIN_SAME` words on. People often say "yes, I do"
    twice, but a bot can say something else.
    """
    bits: dict[str, int] = {}
    this = _Turn.of(words(text), bits)
    others = [_Turn.of(words(turn), bits) for turn in earlier]
    return any(_same(this, other) or _alike(this, other) for other in others)


def repeated_turns(turns: Sequence[str]) -> list[bool]:
    """For each turn of a conversation, oldest first: true if it repeats an earlier turn of any speaker."""
    bits: dict[str, int] = {}
    cut = [_Turn.of(words(turn), bits) for turn in turns]
    return [any(_alike(turn, earlier) for earlier in cut[:index]) for index, turn in enumerate(cut)]


def common_subsequence(first: Sequence[str], second: Sequence[str]) -> int:
    """Length of the longest common subsequence of two word sequences.

    Bit-parallel (Hyyrö 2004, Bit-parallel LCS-length computation revisited): one integer operation per word
    of `second` instead of a row of a table; bit i of `free` is 0 where the length grows at `first[i]`.
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


@dataclass(frozen=True, slots=True)
class _Turn:
    """A turn: its words, their number, a bit for each distinct word, and the number of repeated words."""

    words: Sequence[str]
    length: int
    distinct: int
    again: int

    @classmethod
    def of(cls, cut: Sequence[str], bits: dict[str, int]) -> "_Turn":
        """Make a turn; `bits` maps words of the conversation to bits, and new words are added to it."""
        distinct = 0
        for word in cut:
            distinct |= bits.setdefault(word, 1 << len(bits))
        return cls(cut, len(cut), distinct, len(cut) - distinct.bit_count())


def _same(first: _Turn, second: _Turn) -> bool:
    return first.length >= MIN_SAME and first.words == second.words


def _alike(first: _Turn, second: _Turn) -> bool:
    shorter = min(first.length, second.length)
    if shorter < MIN_WORDS:
        return False
    # A subsequence has at most the common words; this cheap bound rules out most pairs.
    most = (first.distinct & second.distinct).bit_count() + min(first.again, second.again)
    if most < MIN_WORDS or most < MIN_SHARE * shorter:
        return False
    return common_subsequence(first.words, second.words) >= max(MIN_WORDS, MIN_SHARE * shorter)
