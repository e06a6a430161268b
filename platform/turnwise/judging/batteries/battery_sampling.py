"""What each worker of a battery study gets, and in which order: drawn by a seed. Pure."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from random import Random
from typing import NamedTuple

# Between an item and its repetition lie at least so many others, if an order of chance can have it so.
APART = 3
_TRIES = 200


class Member(NamedTuple):
    """Something that a battery may take.

    Attributes:
        items: its ids as an item of each ask, in the order of the asks.
        cluster: number of the context or conversation that it is from.
    """

    items: tuple[int, ...]
    cluster: int


class Card(NamedTuple):
    """An item at its position in a battery.

    Attributes:
        item: its id.
        occasion: 2 if the same worker has judged it before.
        asks_reason: whether its worker is asked why.
    """

    item: int
    occasion: int
    asks_reason: bool


@dataclass(frozen=True)
class Recipe:
    """What every battery is made of, for the asks that are about the same kind of thing.

    Attributes:
        targets: one item of each of these systems, with what there is of them.
        fillers: items of which some go into each battery.
        number: how many of them.
        repeats: how many of these come twice.
        reasons_at: for each ask the positions, from 1, at which a reason is asked among its items.
    """

    targets: Mapping[str, Sequence[Member]]
    fillers: Sequence[Member]
    number: int
    repeats: int
    reasons_at: Sequence[Collection[int]] = ((),)


@dataclass
class _Uses:
    """How often each was taken so far, and repeated."""

    taken: Counter[Member] = field(default_factory=Counter)
    repeated: Counter[Member] = field(default_factory=Counter)


def compose(recipes: Sequence[Recipe], decks: int, *, seed: str) -> list[list[Card]]:
    """So many batteries in which every item of a system comes as often as any other, give or take one.

    Within a battery no context comes twice where its systems have enough of them. The items of an ask come
    one after the other; asks about the same kind of thing are asked about the same things, each time in
    another order. Which ask comes first is left to chance.

    Args:
        recipes: each with at least one item of each target and enough fillers.
        decks: how many.
        seed: decides everything; the same one always the same.
    """
    random, uses = Random(seed), _Uses()  # no secret
    return [_deck(recipes, uses, random) for _ in range(decks)]


def _deck(recipes: Sequence[Recipe], uses: _Uses, random: Random) -> list[Card]:
    met: set[int] = set()
    parts: list[list[Card]] = []
    for recipe in recipes:
        drawn = _drawn(recipe, uses, met, random)
        for ask, reasons_at in enumerate(recipe.reasons_at):
            parts.append(_numbered(_order([each.items[ask] for each in drawn], random), reasons_at))
    random.shuffle(parts)
    return list(chain.from_iterable(parts))


def _drawn(recipe: Recipe, uses: _Uses, met: set[int], random: Random) -> list[Member]:
    """What a worker judges by each ask of the recipe; what comes twice is there twice."""
    targets = list(recipe.targets)
    random.shuffle(targets)
    chosen = [_take(recipe.targets[name], uses.taken, met, random) for name in targets]
    there = list(recipe.fillers)
    fillers = []
    for _ in range(recipe.number):
        member = _take(there, uses.taken, met, random)
        there.remove(member)
        fillers.append(member)
    again = sorted(fillers, key=lambda each: (uses.repeated[each], random.random()))[: recipe.repeats]
    uses.repeated.update(again)
    return [*chosen, *fillers, *again]


def _take(there: Sequence[Member], taken: Counter[Member], met: set[int], random: Random) -> Member:
    """The one whose context the battery lacks, of these one that was taken least."""
    member = min(there, key=lambda each: (each.cluster in met, taken[each], random.random()))
    taken[member] += 1
    met.add(member.cluster)
    return member


def _order(items: list[int], random: Random) -> list[int]:
    """An order of chance, with what comes twice apart; the last one tried if none is found."""
    for _ in range(_TRIES):
        random.shuffle(items)
        if _gap(items) > APART:
            break
    return items


def _gap(items: Sequence[int]) -> int:
    """How far an item and its repetition are apart at least; more than there are if nothing comes twice."""
    last: dict[int, int] = {}
    gap = len(items)
    for position, item in enumerate(items):
        gap = min(gap, position - last.get(item, -len(items)))
        last[item] = position
    return gap


def _numbered(items: Sequence[int], reasons_at: Collection[int]) -> list[Card]:
    seen = Counter[int]()
    cards = []
    for position, item in enumerate(items, 1):
        seen[item] += 1
        cards.append(Card(item, seen[item], position in reasons_at))
    return cards
