"""Which two things stand side by side: drawn by a seed, as many for every two systems. Pure."""

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from itertools import combinations
from typing import NamedTuple


class Side(NamedTuple):
    """What can be a side of a pair.

    Attributes:
        id: of the response or conversation.
        name: of what it is from, which decides the draw: the key of its context, or its own random name.
        said: its text; empty of a conversation.
    """

    id: int
    name: str
    said: str = ""


class Match(NamedTuple):
    """Two ids, the smaller one first."""

    first: int
    second: int


class Matched(NamedTuple):
    """What was found for two systems.

    Attributes:
        one: a system.
        other: another.
        pairs: new ones, as many as asked for or as there are.
        there: pairs of the two that the study has already; they count.
        alike: contexts left out because both say the same, word for word.
    """

    one: str
    other: str
    pairs: list[Match]
    there: int
    alike: int = 0

    @property
    def total(self) -> int:
        return len(self.pairs) + self.there


Draw = Callable[[Sequence[Side], Sequence[Side], set[Match]], tuple[list[Match], int]]


def of_responses(
    systems: Mapping[str, Sequence[Side]], known: set[Match], *, each: int | None, seed: int
) -> list[Matched]:
    """For every two systems, their responses to contexts that both have, one pair for each context.

    Args:
        systems: by name, its responses, one for each context, named by it.
        known: pairs that the study has already.
        each: contexts wanted for every two systems; None: all that they have in common.
        seed: decides which contexts.
    """

    def draw(one: Sequence[Side], other: Sequence[Side], _: set[Match]) -> tuple[list[Match], int]:
        theirs = {side.name: side for side in other}
        common = [(side, theirs[side.name]) for side in one if side.name in theirs]
        differ = [(a, b) for a, b in common if a.said != b.said]
        differ.sort(key=lambda pair: _lot(pair[0].name, seed))
        return [match(a.id, b.id) for a, b in differ], len(common) - len(differ)

    return _matched(systems, known, draw, each)


def of_conversations(
    systems: Mapping[str, Sequence[Side]], known: set[Match], *, each: int | None, seed: int
) -> list[Matched]:
    """For every two systems, a conversation of the one beside one of the other, each at most once.

    Args:
        systems: by name, its finished conversations.
        known: pairs that the study has already.
        each: pairs wanted for every two systems; None: as many as both have conversations.
        seed: decides which conversations meet.
    """

    def draw(one: Sequence[Side], other: Sequence[Side], there: set[Match]) -> tuple[list[Match], int]:
        used = {conversation for pair in there for conversation in pair}
        free = [
            sorted((side for side in sides if side.id not in used), key=lambda side: _lot(side.name, seed))
            for sides in (one, other)
        ]
        return [*there, *(match(a.id, b.id) for a, b in zip(*free, strict=False))], 0

    return _matched(systems, known, draw, each)


def _matched(
    systems: Mapping[str, Sequence[Side]], known: set[Match], draw: Draw, each: int | None
) -> list[Matched]:
    found = []
    for one, other in combinations(sorted(systems), 2):
        mine, theirs = ({side.id for side in systems[name]} for name in (one, other))
        there = {pair for pair in known if (set(pair) & mine) and (set(pair) & theirs)}
        drawn, alike = draw(systems[one], systems[other], there)
        fresh = [pair for pair in drawn if pair not in there]
        wanted = len(fresh) if each is None else max(0, each - len(there))
        found.append(Matched(one, other, fresh[:wanted], len(there), alike))
    return found


def match(one: int, other: int) -> Match:
    return Match(min(one, other), max(one, other))


def _lot(name: str, seed: int) -> bytes:
    return sha256(f"{seed} {name}".encode()).digest()
