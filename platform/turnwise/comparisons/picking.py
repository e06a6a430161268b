"""Which of many scores a page shows. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

# So many are shown of a set before anybody chooses, and at most; no page leaves scores out without saying so.
SHOWN_FIRST = 6
MOST_PICKED = 24
# As many as there are colours.
MOST_LINES = 3

Scale: TypeAlias = tuple[bool, float, float]
"""Whether in percent, the lowest and the highest as shown."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A score to tick.

    Attributes:
        value: what the address says of it.
        title: what it is called.
        is_shown: whether it is ticked.
    """

    value: str
    title: str
    is_shown: bool


def picked(keys: Sequence[str], wanted: Iterable[str], *, first: Iterable[str] = ()) -> list[str]:
    """Those of the keys that are wanted, in their order; before anybody chose, a few, `first` among them."""
    chosen = {*wanted}
    if found := [key for key in keys if key in chosen]:
        return found[:MOST_PICKED]
    few = sorted(keys, key=lambda key: key not in {*first})[:SHOWN_FIRST]
    return [key for key in keys if key in few]


def by_scale(keys: Sequence[str], scales: Mapping[str, Scale]) -> list[list[str]]:
    """The keys of each chart: those that share an axis together, no more than there are colours."""
    found: dict[Scale, list[str]] = {}
    for key in keys:
        found.setdefault(scales[key], []).append(key)
    return [
        alike[start : start + MOST_LINES]
        for alike in found.values()
        for start in range(0, len(alike), MOST_LINES)
    ]
