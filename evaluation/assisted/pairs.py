"""Pairs with judgments of people and of a machine judge, and the share of its pairs that each system wins."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from evaluation.assisted.estimates import LEAST, AssistedEstimate, assisted_mean
from evaluation.assisted.intervals import IntervalRule
from evaluation.assisted.samples import AssistedSample
from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.inference import NOUNS, Nouns
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import AnyArray, FloatArray, IntArray
from evaluation.statistics.pairwise import Duels

PAIRS = "pairs"
_SCORES = np.array([1.0, 0.0, 0.5])
"""Points of the first side by outcome: it is better, the second is, a tie."""


@dataclass(frozen=True, eq=False)
class AssistedPairs:
    """N pairs of systems, the judge's label of each, and n judgments of people.

    Attributes:
        bots: (b,) names in order.
        first: (N,) code of one system of each pair.
        second: (N,) code of the other, above that of the first.
        cluster: (N,) code from 0 up of each pair's context or conversation.
        judge: (N, 3) shares of the judge's answers for the first, for the second, and for a tie, over both
            orders of the sides; NaN if it gave none.
        item: (n,) row of the pair that each of people's judgments is about, in [0, N).
        outcome: (n,) 0 if the first is better, 1 if the second is, 2 for a tie.
        rater: (n,) code from 0 up of each judgment's rater; None: unknown.
        probability: (N,) probability in (0, 1] with which each pair was drawn for people; None: equal.

    Raises:
        LabelsError: as `AssistedSample`.
    """

    bots: AnyArray
    first: IntArray
    second: IntArray
    cluster: IntArray
    judge: FloatArray
    item: IntArray
    outcome: IntArray
    rater: IntArray | None = None
    probability: FloatArray | None = None

    def __post_init__(self) -> None:
        if (self.first >= self.second).any():
            raise ValueError("The first system of each pair must have the smaller code.")
        assert len(self.sample) == len(self.first)

    @cached_property
    def sample(self) -> AssistedSample:
        """The pairs with the points of the first side, in [0, 1]."""
        return AssistedSample(
            self.cluster, self.judge @ _SCORES, self.item, _SCORES[self.outcome], self.rater,
            probability=self.probability,
        )  # fmt: skip

    @cached_property
    def duels(self) -> Duels:
        """People's judgments."""
        first, second = self.first[self.item], self.second[self.item]
        return Duels(self.bots, first, second, self.outcome, self.cluster[self.item], self.rater)

    def of(self, bot: int) -> AssistedSample:
        """The pairs of one system, with its points: 1 if it is better, 0 if the other is, 1/2 for ties."""
        has_bot = (self.first == bot) | (self.second == bot)
        rows = has_bot[self.item]
        is_second = self.second == bot
        judge, value = self.sample.judge, self.sample.value
        judge, value = np.where(is_second, 1 - judge, judge), np.where(is_second[self.item], 1 - value, value)
        return AssistedSample(
            self.cluster[has_bot], judge[has_bot], (np.cumsum(has_bot) - 1)[self.item[rows]], value[rows],
            None if self.rater is None else self.rater[rows],
            probability=None if self.probability is None else self.probability[has_bot],
        )  # fmt: skip


def assisted_win_shares(
    pairs: AssistedPairs, *, level: float = LEVEL, power: float | None = None, nouns: Nouns = NOUNS,
    rule: IntervalRule = IntervalRule.SCORE,
) -> dict[str, AssistedEstimate | Undefined]:  # fmt: skip
    """Share of its pairs in which each system is better, with ties by half, with the help of a judge.

    Args:
        pairs: pairs of which people judged a random draw.
        level: nominal coverage, in (0, 1).
        power: a fixed λ in [0, 1] for all systems; None: tuned.
        nouns: words for the reasons.
        rule: how the intervals of both are computed.

    Returns:
        By system, what `assisted_mean` gives.
    """
    found: dict[str, AssistedEstimate | Undefined] = {}
    for bot, name in enumerate(pairs.bots.tolist()):
        few = too_few(pairs, bot)
        share = few or assisted_mean(pairs.of(bot), level=level, power=power, nouns=nouns, rule=rule)
        found[name] = share if isinstance(share, Undefined) else replace(share, noun=PAIRS)
    return found


def too_few(pairs: AssistedPairs, bot: int) -> Undefined | None:
    """The reason why nothing is estimated about a system; None if there is none."""
    has_labels = pairs.sample.has_labels
    number = int(np.count_nonzero(has_labels & ((pairs.first == bot) | (pairs.second == bot))))
    if number >= LEAST:
        return None
    return Undefined(
        f"People judged {number} pairs of {pairs.bots[bot]}. With fewer than {LEAST}, nothing reliable can "
        f"be said about the judge's errors."
    )
