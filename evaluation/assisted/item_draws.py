"""Draws of items for people, one after the other, such that the probability of every item stays known.

A draw gives each item the probability with which it has been drawn by then. A later draw raises these
probabilities from p to q: what was drawn stays, and each other item is drawn with (q - p) / (1 - p), so the
probability over both draws is q. That holds as long as q depends on nothing that people said after the first
draw; so a later draw uses the uncertainties of the first.
"""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from evaluation.assisted.drawing import EVEN, draw, probabilities
from evaluation.statistics.labels import AnyArray, BoolArray, FloatArray, IntArray

_ROUNDING = 1e-9


def shares(items: int, sizes: dict[str, int]) -> dict[str, int]:
    """Split a number of items over strata: the same number from each, as far as a stratum has so many.

    Args:
        items: number of items, at least one for each stratum and at most their sum.
        sizes: by stratum, its number of items.
    """
    found: dict[str, int] = {}
    left = items
    for number, name in enumerate(sorted(sizes, key=lambda each: (sizes[each], each))):
        found[name] = min(sizes[name], left // (len(sizes) - number))
        left -= found[name]
    return found


def probabilities_within(
    uncertainty: FloatArray, stratum: AnyArray, items: int, *, even: float = EVEN
) -> FloatArray:
    """Probabilities of items within strata, each of which has the same number of items as far as it can.

    Args:
        uncertainty: (N,) as in `drawing.probabilities`.
        stratum: (N,) name of the stratum of each item.
        items: number of items to draw, from the number of strata to N.
        even: share of the draw that is even, in (0, 1].

    Returns:
        (N,) probabilities in (0, 1], which sum to `items`.

    Raises:
        ValueError: an argument out of range.
    """
    names, sizes = np.unique(stratum.astype(str), return_counts=True)
    if not len(names) <= items <= len(stratum):
        raise ValueError(f"items={items} is not from {len(names)}, the number of strata, to {len(stratum)}.")
    wanted = shares(items, dict(zip(names.tolist(), sizes.tolist(), strict=True)))
    found = np.zeros(len(stratum))
    for name, number in wanted.items():
        there = stratum == name
        found[there] = probabilities(uncertainty[there], number, even=even)
    return found


def draw_more(
    before: FloatArray, now: FloatArray, is_drawn: BoolArray, stratum: AnyArray, rng: Generator
) -> BoolArray:
    """Draw further items such that each has been drawn with the new probability.

    Args:
        before: (N,) probabilities by which items were drawn so far; 0 before the first draw.
        now: (N,) new probabilities, not below `before` and at most 1.
        is_drawn: (N,) true for items drawn so far.
        stratum: (N,) name of the stratum; each is drawn by itself.
        rng: seeded generator.

    Returns:
        (N,) true for the items drawn now, none of which was drawn before.

    Raises:
        ValueError: a new probability is smaller than before, not above 0, or above 1.
    """
    if not ((now >= before) & (now > 0) & (now <= 1)).all():
        raise ValueError("A new probability is smaller than before, not above 0, or above 1.")
    found = np.zeros(len(now), dtype=np.bool_)
    for name in sorted(set(stratum.tolist())):
        rows = np.flatnonzero((stratum == name) & ~is_drawn)
        chance = (now[rows] - before[rows]) / np.maximum(1 - before[rows], _ROUNDING)
        possible = rows[chance > 0]
        if possible.size:
            found[possible[draw(np.minimum(chance[chance > 0], 1.0), rng)]] = True
    return found


@dataclass(frozen=True, eq=False)
class ItemDraws:
    """All draws of the N items of an ask.

    Attributes:
        probability: (draws, N) probability with which the item had been drawn by then, in (0, 1]; 1 for items
            that people had begun before the first draw.
        drawn_in: (N,) number of the draw that drew the item, from 1; 0 for items that were not drawn.
        begun_before: (N,) true for items that people had begun to judge before the first draw.
    """

    probability: FloatArray
    drawn_in: IntArray
    begun_before: BoolArray

    def of_judged(self, is_judged: BoolArray) -> FloatArray:
        """Probability that the item has been drawn and judged by now.

        People judge what was drawn in random order. As long as they have not judged all of it, the
        probability is smaller by the share of each draw's items that they have judged. Once they have, it
        is that of the newest draw.

        Args:
            is_judged: (N,) true for items that people have judged.

        Returns:
            (N,) probabilities in (0, 1].
        """
        kept = self.begun_before
        steps = np.diff(self.probability, axis=0, prepend=0.0)
        found = np.zeros(len(kept))
        for number, step in enumerate(steps, 1):
            found += step * _share(is_judged, ~kept & (self.drawn_in == number))
        found[kept] = _share(is_judged, kept)
        return np.where(found > 0, np.minimum(found, 1.0), self.probability[-1])


def _share(is_judged: BoolArray, of: BoolArray) -> float:
    return float(is_judged[of].mean()) if of.any() else 0.0


@dataclass(frozen=True, slots=True)
class ExpectedGain:
    """Expected worth of a draw for one system, if the judge's errors are as large as its uncertainty.

    Attributes:
        items: expected number of the system's items that people judge.
        evenly: number of evenly drawn items with the same precision, with the judge's help.
        people_alone: number of evenly drawn items with the same precision without the judge, at most as many
            as there are.
    """

    items: float
    evenly: float
    people_alone: float


def expected_gain(uncertainty: FloatArray, probability: FloatArray, judge: FloatArray) -> ExpectedGain:
    """Expected worth of a draw for the mean of one system.

    The variance of an estimate whose residuals have the size u is Σ u² / p; if all p are n / N, it is
    N / n Σ u². People's labels have the variance of the judge's, and u² beyond.

    Args:
        uncertainty: (N,) expected size u of the judge's error.
        probability: (N,) probabilities p.
        judge: (N,) the judge's label on the scale of `uncertainty`; NaN for none.
    """
    squares = np.maximum(uncertainty, _ROUNDING) ** 2
    variance = float((squares / probability).sum()) / len(squares)
    known = judge[~np.isnan(judge)]
    of_people = (float(known.var()) if known.size else 0.0) + float(squares.mean())
    size = float(len(squares))
    return ExpectedGain(
        float(probability.sum()),
        min(size, size * float(squares.mean()) / variance),
        min(size, size * of_people / variance),
    )
