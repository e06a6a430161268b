"""The decks of a battery study: which items each worker gets, in which order. Pure, drawn by a seed."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from random import Random
from typing import NamedTuple

# At least this many other items lie between an item and its repetition, if a random order allows it.
MIN_GAP = 3
_TRIES = 200


class Member(NamedTuple):
    """Something that a battery may include.

    Attributes:
        items: ids of its items, one for each ask, in the order of the asks.
        cluster: number of its context or conversation.
    """

    items: tuple[int, ...]
    cluster: int


class Card(NamedTuple):
    """An item at its position in a battery.

    Attributes:
        item: its id.
        occasion: 2 if the same worker has judged it before.
        asks_reason: True if the worker is asked for a reason.
    """

    item: int
    occasion: int
    asks_reason: bool


@dataclass(frozen=True)
class Recipe:
    """The ingredients of every battery, for asks about the same kind of subject.

    Attributes:
        targets: members of each target system; one of each goes into a battery.
        fillers: members of which some go into each battery.
        number: number of fillers in a battery.
        repeats: number of fillers that come twice.
        reasons_at: for each ask, the positions from 1 among its items at which a reason is asked.
    """

    targets: Mapping[str, Sequence[Member]]
    fillers: Sequence[Member]
    number: int
    repeats: int
    reasons_at: Sequence[Collection[int]] = ((),)


@dataclass
class _Uses:
    """Counts of uses and repetitions of each member so far."""

    used: Counter[Member] = field(default_factory=Counter)
    repeated: Counter[Member] = field(default_factory=Counter)


def compose(recipes: Sequence[Recipe], decks: int, *, seed: str) -> list[list[Card]]:
    """Compose batteries that use every item of a system equally often, give or take one.

    No context comes twice in a battery if its systems have enough contexts. The items of one ask come
    together.
    Asks about the same kind of subject use the same members, each in an order of its own. The order of the
    asks
    is random.

    Args:
        recipes: each with at least one member of each target and enough fillers.
        decks: number of batteries.
        seed: determines the result completely.
    """
    random, uses = Random(seed), _Uses()  # not for security
    return [_deck(recipes, uses, random) for _ in range(decks)]


def _deck(recipes: Sequence[Recipe], uses: _Uses, random: Random) -> list[Card]:
    met: set[int] = set()
    parts: list[list[Card]] = []
    for recipe in recipes:
        drawn = _draw_members(recipe, uses, met, random)
        for ask, reasons_at in enumerate(recipe.reasons_at):
            parts.append(_numbered(_order([each.items[ask] for each in drawn], random), reasons_at))
    random.shuffle(parts)
    return list(chain.from_iterable(parts))


def _draw_members(recipe: Recipe, uses: _Uses, met: set[int], random: Random) -> list[Member]:
    """Draw the members that a worker judges for each ask of the recipe; repeated ones are listed twice."""
    targets = list(recipe.targets)
    random.shuffle(targets)
    drawn = [_take(recipe.targets[name], uses.used, met, random) for name in targets]
    unused = list(recipe.fillers)
    fillers = []
    for _ in range(recipe.number):
        member = _take(unused, uses.used, met, random)
        unused.remove(member)
        fillers.append(member)
    repeated = sorted(fillers, key=lambda each: (uses.repeated[each], random.random()))[: recipe.repeats]
    uses.repeated.update(repeated)
    return [*drawn, *fillers, *repeated]


def _take(members: Sequence[Member], used: Counter[Member], met: set[int], random: Random) -> Member:
    """Take a member, preferably of a context that the battery lacks, and among these the least used."""
    member = min(members, key=lambda each: (each.cluster in met, used[each], random.random()))
    used[member] += 1
    met.add(member.cluster)
    return member


def _order(items: list[int], random: Random) -> list[int]:
    """Shuffle until repetitions are far enough from each other, or the tries are used up."""
    for _ in range(_TRIES):
        random.shuffle(items)
        if _gap(items) > MIN_GAP:
            break
    return items


def _gap(items: Sequence[int]) -> int:
    """Smallest distance between an item and its repetition; the number of items if nothing repeats."""
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
