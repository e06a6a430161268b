"""Sampling of pairs by a seed, equally many for every two systems. Pure."""

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from itertools import combinations
from typing import NamedTuple


class Side(NamedTuple):
    """A response or conversation that can be a side of a pair.

    Attributes:
        id: id of the response or conversation.
        name: key of the response's context, or random name of the conversation; it determines the draw.
        text: text of a response; empty for a conversation.
    """

    id: int
    name: str
    text: str = ""


class PairIds(NamedTuple):
    """Ids of the two sides, the smaller one first."""

    first: int
    second: int


class PairDraw(NamedTuple):
    """The pairs drawn for two systems.

    Attributes:
        one: the first system.
        other: the second system.
        pairs: new pairs, as many as asked for or as are available.
        existing: number of pairs that the study has already; they count towards the wanted number.
        identical: number of contexts left out because both responses are the same text.
    """

    one: str
    other: str
    pairs: list[PairIds]
    existing: int
    identical: int = 0

    @property
    def total(self) -> int:
        return len(self.pairs) + self.existing


Draw = Callable[[Sequence[Side], Sequence[Side], set[PairIds]], tuple[list[PairIds], int]]


def draw_response_pairs(
    systems: Mapping[str, Sequence[Side]], known: set[PairIds], *, each: int | None, seed: int
) -> list[PairDraw]:
    """Pair the responses of every two systems to contexts that both answered, one pair for each context.

    Args:
        systems: responses by system, one for each context, named after the context.
        known: pairs that the study has already.
        each: contexts wanted for every two systems; None: all common ones.
        seed: determines the contexts.
    """

    def draw(one: Sequence[Side], other: Sequence[Side], _: set[PairIds]) -> tuple[list[PairIds], int]:
        by_context = {side.name: side for side in other}
        common = [(side, by_context[side.name]) for side in one if side.name in by_context]
        differ = [(a, b) for a, b in common if a.text != b.text]
        differ.sort(key=lambda pair: _draw_key(pair[0].name, seed))
        return [ordered_pair(a.id, b.id) for a, b in differ], len(common) - len(differ)

    return _draw_pairs(systems, known, draw, each)


def draw_conversation_pairs(
    systems: Mapping[str, Sequence[Side]], known: set[PairIds], *, each: int | None, seed: int
) -> list[PairDraw]:
    """Pair conversations of every two systems, using each conversation at most once.

    Args:
        systems: finished conversations by system.
        known: pairs that the study has already.
        each: pairs wanted for every two systems; None: as many as both have conversations.
        seed: determines which conversations meet.
    """

    def draw(one: Sequence[Side], other: Sequence[Side], existing: set[PairIds]) -> tuple[list[PairIds], int]:
        used = {conversation for pair in existing for conversation in pair}
        free = [
            sorted(
                (side for side in sides if side.id not in used), key=lambda side: _draw_key(side.name, seed)
            )
            for sides in (one, other)
        ]
        return [*existing, *(ordered_pair(a.id, b.id) for a, b in zip(*free, strict=False))], 0

    return _draw_pairs(systems, known, draw, each)


def _draw_pairs(
    systems: Mapping[str, Sequence[Side]], known: set[PairIds], draw: Draw, each: int | None
) -> list[PairDraw]:
    draws = []
    for one, other in combinations(sorted(systems), 2):
        ids_of_one, ids_of_other = ({side.id for side in systems[name]} for name in (one, other))
        existing = {pair for pair in known if (set(pair) & ids_of_one) and (set(pair) & ids_of_other)}
        drawn, identical = draw(systems[one], systems[other], existing)
        fresh = [pair for pair in drawn if pair not in existing]
        wanted = len(fresh) if each is None else max(0, each - len(existing))
        draws.append(PairDraw(one, other, fresh[:wanted], len(existing), identical))
    return draws


def ordered_pair(one: int, other: int) -> PairIds:
    return PairIds(min(one, other), max(one, other))


def _draw_key(name: str, seed: int) -> bytes:
    return sha256(f"{seed} {name}".encode()).digest()
