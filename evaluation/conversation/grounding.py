"""What tells whether a conversation over something read was held with care: measures and their limits. Pure.

Source: Gopalakrishnan et al. 2019 (Topical-Chat), section 3.3, had conversations accepted by hand and by
measures above tuned thresholds, and published neither. Measures and limits are ours; the limits that a study
begins with are 5th and 95th percentiles of the published conversations (docs/topical-chat.md).
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from evaluation.texts.repetition import repeated_turns, words

SWEARING = re.compile(
    r"\b(?:\w*fuck\w*|(?:bull)?shit\w*|bitch\w*|assholes?|bastards?|cunts?|dickheads?|wank\w*|twats?)\b",
    re.IGNORECASE,
)
"""English words that are hardly ever anything else. A mark for whoever reviews, no judgment."""


@dataclass(frozen=True, slots=True)
class GroundedTurn:
    """One turn.

    Attributes:
        seat: 0 or 1.
        text: what was said.
        annotation: what the speaker answered about it, in one form; None if nothing.
        is_sourced: whether the speaker named a text as a source.
    """

    seat: int
    text: str
    annotation: object = None
    is_sourced: bool = False


@dataclass(frozen=True, slots=True)
class Limit:
    """What a measure may be.

    Attributes:
        title: of the measure.
        is_least: whether less is suspicious; else more is.
        default: that a study begins with; None: not looked at.
        is_share: whether it is shown in percent.
    """

    title: str
    is_least: bool
    default: float | None
    is_share: bool = False

    def is_broken(self, value: float | None, limit: float | None) -> bool:
        """Whether a value is beyond the limit; what is not known is not."""
        if value is None or limit is None:
            return False
        return value < limit if self.is_least else value > limit


LIMITS: dict[str, Limit] = {
    "turns": Limit("Turns", is_least=True, default=20),
    "words": Limit("Words of a message, mean", is_least=True, default=12),
    "sourced": Limit("Messages with a text as source", is_least=True, default=0.55, is_share=True),
    "seconds": Limit("Seconds for a turn, mean", is_least=True, default=None),
    "copied": Limit("Longest run of words copied from a text", is_least=False, default=9),
    "repeated": Limit("Messages that repeat earlier ones", is_least=False, default=0.05, is_share=True),
    "profane": Limit("Messages with profanity", is_least=False, default=0),
    "alike": Limit("Equal annotations of one person", is_least=False, default=0.75, is_share=True),
}


def measures(
    turns: Sequence[GroundedTurn],
    read: Mapping[int, Sequence[str]],
    seconds: float | None,
) -> dict[str, float | None]:
    """The measures of one conversation.

    Args:
        turns: of both, at least one.
        read: by seat, the texts that its person had.
        seconds: from the first turn to the last; None: not known.

    Returns:
        By the keys of `LIMITS`; None where it cannot be told.

    Raises:
        ValueError: no turns.
    """
    if not turns:
        raise ValueError("A conversation without turns has no measures.")
    texts = [turn.text for turn in turns]
    annotated = [turn for turn in turns if turn.annotation is not None]
    known = {seat: _positions(of) for seat, of in read.items() if of}
    return {
        "turns": float(len(turns)),
        "words": sum(len(text.split()) for text in texts) / len(turns),
        "sourced": sum(turn.is_sourced for turn in turns) / len(turns) if annotated else None,
        "seconds": seconds / (len(turns) - 1) if seconds is not None and len(turns) > 1 else None,
        "copied": _copied(turns, known) if known else None,
        "repeated": sum(repeated_turns(texts)) / len(turns),
        "profane": float(sum(bool(SWEARING.search(text)) for text in texts)),
        "alike": max((_alike(annotated, seat) for seat in (0, 1)), default=None) if annotated else None,
    }


def broken(found: Mapping[str, float | None], limits: Mapping[str, float | None]) -> list[str]:
    """The keys of the measures that are beyond their limits."""
    return [key for key, limit in LIMITS.items() if limit.is_broken(found.get(key), limits.get(key))]


def _alike(annotated: Sequence[GroundedTurn], seat: int) -> float:
    """The share of the annotation that a person gave most often, of all they gave; 0 of one or none."""
    of_seat = Counter(turn.annotation for turn in annotated if turn.seat == seat)
    most = max(of_seat.values(), default=0)
    return most / of_seat.total() if of_seat.total() > 1 else 0.0


Positions = dict[str, list[tuple[int, int]]]


def _positions(texts: Sequence[str]) -> Positions:
    """In which text, and where in it, each word stands."""
    positions: Positions = {}
    for number, text in enumerate(texts):
        for at, word in enumerate(words(text)):
            positions.setdefault(word, []).append((number, at))
    return positions


def _copied(turns: Sequence[GroundedTurn], known: Mapping[int, Positions]) -> float:
    """Words of the longest run in a turn that stands so in a text that its speaker had."""
    longest = 0
    for turn in turns:
        if turn.seat not in known:
            continue
        ending: dict[tuple[int, int], int] = {}
        for word in words(turn.text):
            here = known[turn.seat].get(word, ())
            ending = {(number, at): ending.get((number, at - 1), 0) + 1 for number, at in here}
            longest = max(longest, max(ending.values(), default=0))
    return float(longest)
