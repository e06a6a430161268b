"""Draws of items for people, as a report needs them: each item's probability, and facts about the draws."""

from collections.abc import Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from evaluation.assisted.item_draws import ItemDraws


@dataclass(frozen=True, slots=True)
class DrawFacts:
    """How items of an ask were drawn for people.

    Attributes:
        judge: name of the judge whose uncertainty decided.
        draws: number of draws.
        drawn: number of items drawn, or begun by people before the first draw.
        judged: number of these that people have judged.
        items: number of all items.
    """

    judge: str
    draws: int
    drawn: int
    judged: int
    items: int


@dataclass(frozen=True, slots=True)
class DrawnItems:
    """Items of an ask that were drawn for people.

    Attributes:
        facts: about the draws.
        probability: by key of an item, the probability that it was drawn, and judged by now, in (0, 1].
    """

    facts: DrawFacts
    probability: Mapping[Hashable, float] = field(default_factory=dict)

    def of(self, items: Iterable[Hashable]) -> "np.ndarray[Any, np.dtype[np.float64]]":
        """Probabilities of these items; 1 for items that were in no draw, which nobody judges."""
        return np.array([self.probability.get(item, 1.0) for item in items], dtype=np.float64)


def drawn_items(rows: Iterable[Mapping[str, Any]], judged: Collection[Hashable]) -> DrawnItems | None:
    """Read the draws of one ask.

    Args:
        rows: a row for each item and draw, with `item`, `draw` from 1, `judge`, `probability`, `drawn` (by
            this draw or an earlier one) and `begun_before`.
        judged: keys of the items that people have judged.

    Returns:
        The drawn items; None without draws.
    """
    by_draw: dict[int, dict[Hashable, Mapping[str, Any]]] = {}
    for row in rows:
        by_draw.setdefault(row["draw"], {})[row["item"]] = row
    if not by_draw:
        return None
    numbers = sorted(by_draw)
    newest = by_draw[numbers[-1]]
    items = list(newest)
    steps = [[by_draw[number][item] for item in items] for number in numbers]
    drawn_in = np.zeros(len(items), dtype=np.int64)
    for number, step in reversed(list(enumerate(steps, 1))):
        drawn_in[[bool(row["drawn"]) for row in step]] = number
    draws = ItemDraws(
        np.array([[row["probability"] for row in step] for step in steps], dtype=np.float64),
        drawn_in,
        np.array([bool(row["begun_before"]) for row in steps[0]], dtype=np.bool_),
    )
    is_judged = np.array([item in judged for item in items], dtype=np.bool_)
    facts = DrawFacts(
        judge=next(iter(newest.values()))["judge"],
        draws=len(numbers),
        drawn=int((drawn_in > 0).sum()),
        judged=int(((drawn_in > 0) & is_judged).sum()),
        items=len(items),
    )
    return DrawnItems(facts, dict(zip(items, draws.of_judged(is_judged).tolist(), strict=True)))
