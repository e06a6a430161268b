"""Drift of a machine judge: whether it still answers its own items as it did, beyond its usual variation.

The test is an exact one of exchangeability (Fisher 1935, "The design of experiments"; Good 2005,
"Permutation, parametric and bootstrap tests of hypotheses", ch. 3). If nothing has changed, today's reply
about an item is as likely as each earlier reply to be the one that stands out.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import lcm
from typing import TypeAlias

ALARM_P = 0.001
"""A judge counts as departed below this p: with a check a day, one false alarm in about three years."""

Reply: TypeAlias = Sequence[Hashable]
"""Answers of one reply, question by question; a reply without answers has the same mark for each."""


@dataclass(frozen=True, slots=True)
class Repeats:
    """Replies about one item in one order.

    Attributes:
        earlier: the first reply, then later ones from before today; at least one.
        now: today's reply.
    """

    earlier: Sequence[Reply]
    now: Reply


@dataclass(frozen=True, slots=True)
class Departure:
    """Today's replies beside earlier ones.

    Attributes:
        items: number of items.
        agreement: share of today's answers, in [0, 1], that are those of the first reply.
        expected: share of the answers of two earlier replies that are the same, in [0, 1]; None if no item
            has two earlier replies.
        changed: number of items with another answer than in the first reply.
        p: probability of today's agreement with earlier replies, or of less, if nothing has changed.
    """

    items: int
    agreement: float
    expected: float | None
    changed: int
    p: float

    @property
    def is_alarm(self) -> bool:
        """Whether the judge departs by more than its repeated answers explain."""
        return self.p < ALARM_P


def departure(repeats: Sequence[Repeats]) -> Departure:
    """Compare today's replies with earlier ones about the same items.

    Each item's agreement is the mean share of answers that a reply has in common with each other reply about
    it. Under the null hypothesis each reply may be today's with the same probability, independently for each
    item, which gives the exact distribution of the sum over items. It needs no assumption about how much a
    judge varies: one that always varies raises no alarm, one that never did raises it after few changes. If
    all items were always answered alike in m earlier replies, k changed answers have p = (m + 1)^-k.

    Args:
        repeats: of each item at least one earlier reply and today's; all of one length.

    Raises:
        ValueError: no items, no questions, an item without an earlier reply, or replies of different lengths.
    """
    _refuse_incomplete(repeats)
    questions = len(repeats[0].now)
    alike = [_alike(first.now, first.earlier[0]) for first in repeats]
    pairs = [_alike(*two) for each in repeats for two in combinations(each.earlier, 2)]
    return Departure(
        items=len(repeats),
        agreement=sum(alike) / (questions * len(repeats)),
        expected=sum(pairs) / (questions * len(pairs)) if pairs else None,
        changed=sum(each < questions for each in alike),
        p=_probability(repeats),
    )


def _refuse_incomplete(repeats: Sequence[Repeats]) -> None:
    if not repeats:
        raise ValueError("There are no items to compare.")
    if not all(each.earlier for each in repeats):
        raise ValueError("An item has no earlier reply. Leave it out.")
    lengths = {len(reply) for each in repeats for reply in (*each.earlier, each.now)}
    if len(lengths) > 1 or lengths == {0}:
        raise ValueError(f"Replies have different numbers of answers, or none: {sorted(lengths)}.")


def _alike(one: Reply, other: Reply) -> int:
    return sum(a == b for a, b in zip(one, other, strict=True))


def _probability(repeats: Sequence[Repeats]) -> float:
    """P(sum over items ≤ today's), with sums as integers by the least common multiple of the divisors."""
    unit = lcm(*(len(each.earlier) for each in repeats))
    observed, chances = 0, {0: 1.0}
    for each in repeats:
        factor = unit // len(each.earlier)
        replies = [*each.earlier, each.now]
        sums = [
            factor * sum(_alike(reply, other) for k, other in enumerate(replies) if k != nth)
            for nth, reply in enumerate(replies)
        ]
        observed += sums[-1]
        chances = _with(chances, sums)
    return min(1.0, sum(chance for total, chance in chances.items() if total <= observed))


def _with(chances: Mapping[int, float], sums: Sequence[int]) -> dict[int, float]:
    """Distribution after one more item, whose sum is each of these with the same probability."""
    found: dict[int, float] = {}
    for total, chance in chances.items():
        for each in sums:
            found[total + each] = found.get(total + each, 0.0) + chance / len(sums)
    return found
