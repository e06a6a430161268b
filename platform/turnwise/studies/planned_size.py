"""What a task says of a study that is being planned, for its outlook (`turnwise.studies.outlook`)."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum


class Unit(StrEnum):
    """What a study is made of."""

    CONVERSATION = "conversations"
    JUDGMENT = "judgments"
    COMPARISON = "comparisons"
    RESPONSE = "responses"


class Tells(StrEnum):
    """What the result of a study can show."""

    NOTHING = ""
    BOTS = "bots"  # that have conversations of their own
    SYSTEMS = "systems"  # whose responses or conversations are judged
    TARGETS = "targets"  # of a battery, of which everybody judges one item each
    PREFERENCE = "preference"  # which of two is chosen


@dataclass(frozen=True, slots=True)
class Planned:
    """What is wanted, and of how many people.

    Attributes:
        unit: what is counted.
        wanted: so many of them.
        people: who each do their whole share of it; 0: bots do it alone.
        tells: what the result can show.
        samples: independent observations of each system that is compared, such as conversations or contexts;
            of each two that are compared side by side, their pairs.
        turns: of all conversations together, where bots alone talk.
    """

    unit: Unit
    wanted: int
    people: int
    tells: Tells = Tells.NOTHING
    samples: Sequence[int] = ()
    turns: int = 0


def number(text: str | None, *, most: int = 1_000_000) -> int:
    """A whole number that a form sent; 0 for anything else."""
    is_number = bool(text) and str(text).isascii() and str(text).isdecimal() and len(str(text)) < 8
    return min(int(str(text)), most) if is_number else 0


def of_conversations(wanted: Sequence[int], *, together: int) -> Planned:
    """Conversations of people with each of several bots, or with each other."""
    tells = Tells.BOTS if together == 1 else Tells.NOTHING
    return Planned(Unit.CONVERSATION, sum(wanted), sum(wanted) * together, tells, wanted)
