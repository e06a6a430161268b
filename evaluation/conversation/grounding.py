"""Quality measures of conversations over reading material, with their limits. Pure.

Source: Gopalakrishnan et al. 2019 (Topical-Chat), section 3.3, accepted conversations by hand and by measures
above tuned thresholds, but published neither. Measures and limits are ours; the default limits are the 5th
and 95th percentiles of the published conversations (docs/topical-chat.md).
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
"""English words that are nearly always swearing. A mark for reviewers, not a verdict."""


@dataclass(frozen=True, slots=True)
class GroundedTurn:
    """One turn of a conversation over reading material.

    Attributes:
        seat: 0 or 1.
        text: text of the turn.
        annotation: the speaker's answers about the turn, in a comparable form; None if there are none.
        is_sourced: true if the speaker named a text as a source.
    """

    seat: int
    text: str
    annotation: object = None
    is_sourced: bool = False


@dataclass(frozen=True, slots=True)
class Limit:
    """Limit of a measure.

    Attributes:
        title: title of the measure.
        is_least: true for a lower limit, false for an upper one.
        default: limit of a new study; None: no limit.
        is_share: true if it is shown in percent.
    """

    title: str
    is_least: bool
    default: float | None
    is_share: bool = False

    def is_broken(self, value: float | None, limit: float | None) -> bool:
        """True if a value is beyond the limit; unknown values are not."""
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
    """Compute the measures of one conversation.

    Args:
        turns: turns of both seats, at least one.
        read: by seat, the reading material of its occupant.
        seconds: from the first turn to the last; None if unknown.

    Returns:
        Measures by the keys of `LIMITS`; None if undefined.

    Raises:
        ValueError: no turns.
    """
    if not turns:
        raise ValueError("A conversation without turns has no measures.")
    texts = [turn.text for turn in turns]
    annotated = [turn for turn in turns if turn.annotation is not None]
    positions = {seat: _positions(of) for seat, of in read.items() if of}
    return {
        "turns": float(len(turns)),
        "words": sum(len(text.split()) for text in texts) / len(turns),
        "sourced": sum(turn.is_sourced for turn in turns) / len(turns) if annotated else None,
        "seconds": seconds / (len(turns) - 1) if seconds is not None and len(turns) > 1 else None,
        "copied": _copied(turns, positions) if positions else None,
        "repeated": sum(repeated_turns(texts)) / len(turns),
        "profane": float(sum(bool(SWEARING.search(text)) for text in texts)),
        "alike": max((_alike(annotated, seat) for seat in (0, 1)), default=None) if annotated else None,
    }


def broken(values: Mapping[str, float | None], limits: Mapping[str, float | None]) -> list[str]:
    """List the keys of the measures beyond their limits."""
    return [key for key, limit in LIMITS.items() if limit.is_broken(values.get(key), limits.get(key))]


def _alike(annotated: Sequence[GroundedTurn], seat: int) -> float:
    """Share of a seat's most frequent annotation among all its annotations; 0 for fewer than two."""
    of_seat = Counter(turn.annotation for turn in annotated if turn.seat == seat)
    most = max(of_seat.values(), default=0)
    return most / of_seat.total() if of_seat.total() > 1 else 0.0


Positions = dict[str, list[tuple[int, int]]]


def _positions(texts: Sequence[str]) -> Positions:
    """Positions of each word as (number of the text, position in it)."""
    positions: Positions = {}
    for number, text in enumerate(texts):
        for at, word in enumerate(words(text)):
            positions.setdefault(word, []).append((number, at))
    return positions


def _copied(turns: Sequence[GroundedTurn], positions: Mapping[int, Positions]) -> float:
    """Number of words of the longest run that a turn copies from its speaker's reading material."""
    longest = 0
    for turn in turns:
        if turn.seat not in positions:
            continue
        ending: dict[tuple[int, int], int] = {}
        for word in words(turn.text):
            here = positions[turn.seat].get(word, ())
            ending = {(number, at): ending.get((number, at - 1), 0) + 1 for number, at in here}
            longest = max(longest, max(ending.values(), default=0))
    return float(longest)
