"""Bradley-Terry strengths from people's judgments of pairs and a machine judge's.

The strengths solve the likelihood equations of people's judgments, less λ times the gap between the judge's
slopes on people's pairs and its slopes on the other pairs (prediction-powered inference for an M-estimator,
power-tuned: Angelopoulos, Duchi & Zrnic 2023, PPI++, arXiv:2311.01453). The slopes of the likelihood are
linear in the outcome, so a judge with an answer in each order of the sides counts by the mean of both. Its
errors cancel, as long as people's pairs were drawn at random. The variance is over contexts, raters, or both,
as in `evaluation.statistics.pairwise`.
"""

import math
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations

import numpy as np

from evaluation.assisted.estimates import WORTHLESS, AssistedEstimate
from evaluation.assisted.influence import (
    Rows,
    p_drawn_alike,
    p_of,
    spread_by_sources,
    spread_of,
    units,
    variance_over_items,
)
from evaluation.assisted.intervals import (
    IntervalRule,
    score_interval_of_log_odds,
    score_p_of_log_odds,
)
from evaluation.assisted.pairs import PAIRS, AssistedPairs, too_few
from evaluation.assisted.parts import Parts, parts_of, strata_of
from evaluation.assisted.power import check_power, tuned
from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.inference import t
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import FloatArray, IntArray
from evaluation.statistics.pairwise import chances_of_outcomes, fitted, log_odds_of_pairs, why_no_estimate
from evaluation.statistics.variance import Numbers, Spread, dot

_STEPS = 2
"""Number of times that λ and the strengths follow from each other; further times change little."""


@dataclass(frozen=True, slots=True)
class AssistedStrengths:
    """Bradley-Terry strengths from people and a judge, with people's alone in each estimate.

    Attributes:
        strength: by system, its log-strength; they sum to 0.
        differences: first system, second system, and the strength of the first less that of the second: the
            log-odds that it is preferred, ties left out.
        power: λ in [0, 1] of all strengths; 0 if the judge adds nothing.
    """

    strength: dict[str, AssistedEstimate]
    differences: tuple[tuple[str, str, AssistedEstimate], ...]
    power: float


def assisted_strengths(
    pairs: AssistedPairs, *, level: float = LEVEL, power: float | None = None,
    rule: IntervalRule = IntervalRule.SCORE,
) -> AssistedStrengths | Undefined:  # fmt: skip
    """Estimate the strengths of all systems from people's judgments, with the help of a judge.

    One λ serves all strengths, so that they stay on one scale. It minimises the sum of their variances and is
    kept within [0, 1]. The judge is used only if this sum, over contexts, is smaller than people's;
    otherwise the result is people's. Each pair counts once, with the mean of its raters.

    Args:
        pairs: pairs of which people judged a random draw, at least 20 of each system.
        level: nominal coverage of the intervals, in (0, 1).
        power: a fixed λ in [0, 1]; None: tuned.
        rule: how the intervals of both are computed.

    Returns:
        The strengths; `Undefined` for fewer than 20 pairs of a system, and if people's judgments alone have
        no finite strengths.

    Raises:
        ValueError: a λ out of range.
    """
    check_power(power)
    for bot in range(len(pairs.bots)):
        if few := too_few(pairs, bot):
            return few
    model = _Model(pairs)
    reason = why_no_estimate(pairs.duels) or model.why_no_interval
    alone = None if reason else model.fit(0.0)
    if alone is None:
        return reason or Undefined("There are too few judgments for each side.")
    found = model.assisted(alone, power)
    is_used = found is not None and (power is not None or found.over_items < alone.over_items)
    return _Together(model, alone, found if is_used else None, level, rule).estimates()


@dataclass(frozen=True, eq=False)
class _Fit:
    """Strengths with one λ.

    Attributes:
        power: λ.
        strength: (b,) strengths.
        people: (m, b) influence of people's judgments on each strength, 0 in the judge's rows.
        judge: (m, b) influence of the judge's labels on the gap, which λ multiplies.
        gap: (b,) the judge's gap in the unit of the strengths.
        of_rows: (m,) λ of each row: for people's rows, from all other units.
        over_items: sum of the variances of all strengths over contexts.
    """

    power: float
    strength: FloatArray
    people: FloatArray
    judge: FloatArray
    gap: FloatArray
    of_rows: FloatArray
    over_items: float

    @property
    def influence(self) -> FloatArray:
        """(m, b) influence of each row on each strength."""
        found: FloatArray = self.people - self.of_rows[:, None] * self.judge
        return found


class _Model:
    """The likelihood of Davidson's model, rectified by the judge with a given λ."""

    def __init__(self, pairs: AssistedPairs) -> None:
        self.pairs = pairs
        self.parts: Parts = parts_of([(pairs.sample, 1.0)])
        self.pool = strata_of(pairs.sample, 1.0)[0].pool
        low, high = pairs.first.tolist(), pairs.second.tolist()
        met = sorted(set(zip(low, high, strict=True)))
        number = {pair: index for index, pair in enumerate(met)}
        self._pair = np.array([number[pair] for pair in zip(low, high, strict=True)], dtype=np.int64)
        has_ties = bool((pairs.outcome == 2).any())
        self._design = log_odds_of_pairs(met, len(pairs.bots), with_ties=has_ties)
        outcomes = self._design.shape[1]
        # Without ties of people the model has none, so a tie of the judge is half for either side.
        judge = pairs.judge if has_ties else pairs.judge[:, :2] + pairs.judge[:, 2:] / 2
        self._of_judge = np.where(np.isnan(judge), 0.0, judge)
        self._of_people = (pairs.outcome[:, None] == np.arange(outcomes)).astype(np.float64)
        weight = pairs.sample.weight
        self._share = weight / weight.sum()
        judged = np.where(pairs.sample.is_judged[pairs.item], weight, 0.0)
        self._can_follow = bool(self.pool.size and judged.any())
        self._share_judged = judged / judged.sum() if self._can_follow else np.zeros_like(judged)

    @property
    def rows(self) -> Rows:
        """Rows of people, then of the judge."""
        return self.parts.rows

    @property
    def numbers(self) -> Numbers:
        """Numbers of contexts, raters and pairs of both among people's judgments."""
        return self.pairs.sample.people.sums.numbers

    @property
    def why_no_interval(self) -> Undefined | None:
        """The reason, if all judgments depend on each other."""
        if self.numbers.over is not None:
            return None
        return Undefined("All judgments depend on each other (one rater or item); an interval needs 2.")

    def assisted(self, alone: _Fit, power: float | None) -> _Fit | None:
        """The fit with this λ, or the best one; None if the judge cannot be followed."""
        if not self._can_follow:
            return None
        if power is not None:
            return self.fit(power)
        found: _Fit | None = alone
        for _ in range(_STEPS):
            assert found is not None
            best, of_rows = self._tuned(found)
            found = self.fit(best, of_rows) if best > 0 else None
            if found is None:
                return None
        return found

    def _tuned(self, found: _Fit) -> tuple[float, FloatArray]:
        """λ with the smallest sum of variances of all strengths; and for each row, without its unit."""
        bots = found.people.shape[1]
        over = self.numbers.over
        assert over is not None
        cluster = (self.rows.cluster[:, None] * bots + np.arange(bots)).ravel()
        unit = np.repeat(units(self.rows, over), bots)
        best, of_rows = tuned(found.people.ravel(), found.judge.reshape(-1, 1), cluster, unit)
        return float(best[0]), of_rows.reshape(-1, bots)[:, 0]

    def fit(self, power: float, of_rows: FloatArray | None = None) -> _Fit | None:
        """Strengths with this λ; None if they are not finite."""
        counts = self._counts(self.pairs.item, self._of_people, self._share)
        if power:
            there = self._counts(self.pairs.item, self._of_judge[self.pairs.item], self._share_judged)
            elsewhere = np.full(len(self.pool), 1 / max(len(self.pool), 1))
            counts -= power * (there - self._counts(self.pool, self._of_judge[self.pool], elsewhere))
        estimate, information = fitted(counts, self._design)
        if not np.isfinite(estimate).all():
            return None
        people, judge, gap = self._influences(estimate, information)
        weights = np.full(len(people), power)
        if of_rows is not None:
            weights = np.where(self.rows.part == 0, of_rows, power)
        influence = people - weights[:, None] * judge
        over_items = sum(variance_over_items(self.rows, each, self.numbers) for each in influence.T)
        return _Fit(power, estimate[: len(self.pairs.bots)], people, judge, gap, weights, over_items)

    def _counts(self, items: IntArray, outcomes: FloatArray, share: FloatArray) -> FloatArray:
        """(p, o) shares of all judgments by pair of systems and outcome."""
        counts = np.zeros(self._design.shape[:2])
        np.add.at(counts, self._pair[items], share[:, None] * outcomes)
        return counts

    def _influences(
        self, estimate: FloatArray, information: FloatArray
    ) -> tuple[FloatArray, FloatArray, FloatArray]:
        """(m, b) influence of people's rows, and of the judge's on the gap; (b,) the gap."""
        bots, items = len(self.pairs.bots), self.pairs.item

        def moves(rows: IntArray, outcomes: FloatArray) -> FloatArray:
            """(k, b) what each row would move the strengths if it were all."""
            surplus = outcomes - chances_of_outcomes(estimate, self._design)[self._pair[rows]]
            slopes = np.einsum("ko,kow->kw", surplus, self._design[self._pair[rows]])
            found: FloatArray = np.linalg.solve(information, slopes.T)[:bots].T
            return found

        def around(moved: FloatArray, share: FloatArray) -> FloatArray:
            centred: FloatArray = share[:, None] * (moved - share @ moved)
            return centred

        of_people = moves(items, self._of_people)
        people = np.zeros((len(self.rows.part), bots))
        judge = np.zeros_like(people)
        people[: len(items)] = around(of_people, self._share)
        if not self._can_follow:
            return people, judge, np.zeros(bots)
        here, there = moves(items, self._of_judge[items]), moves(self.pool, self._of_judge[self.pool])
        judge[: len(items)] = around(here, self._share_judged)
        judge[len(items) :] = -around(there, np.full(len(self.pool), 1 / len(self.pool)))
        return people, judge, self._share_judged @ here - there.mean(axis=0)

    def design_effect(self, of_bot: FloatArray) -> float:
        """Variance with the probabilities of the draw over that of as many evenly drawn pairs; 1 without."""
        if self.pairs.probability is None:
            return 1.0
        items = self.pairs.item
        moved = np.bincount(items, of_bot[: len(items)], len(self.pairs.first))
        share = np.bincount(items, self._share, len(self.pairs.first))
        there = share > 0
        squares = moved[there] ** 2
        evenly = float((squares / share[there]).sum())
        return float(squares.sum()) * np.count_nonzero(there) / evenly if evenly > 0 else 1.0


@dataclass(frozen=True, eq=False)
class _Together:
    """People's fit and the assisted one; None: the judge adds nothing."""

    model: _Model
    alone: _Fit
    assisted: _Fit | None
    level: float
    rule: IntervalRule

    def estimates(self) -> AssistedStrengths:
        """All strengths and differences."""
        names = self.model.pairs.bots.tolist()
        unit = np.eye(len(names))
        strengths = {name: self._estimate(unit[k], is_difference=False) for k, name in enumerate(names)}
        differences = tuple(
            (names[a], names[b], self._estimate(unit[a] - unit[b], is_difference=True))
            for a, b in combinations(range(len(names)), 2)
        )
        return AssistedStrengths(strengths, differences, self.assisted.power if self.assisted else 0.0)

    def _estimate(self, direction: FloatArray, *, is_difference: bool) -> AssistedEstimate:
        """The estimate of this linear form of the strengths."""
        alone = self._spread(self.alone, direction, math.inf)
        chosen = self.assisted or self.alone
        spread = self._spread(chosen, direction, alone.freedom) if self.assisted else alone
        value, of_people = dot(direction, chosen.strength), dot(direction, self.alone.strength)
        sample = self.model.pairs.sample
        return AssistedEstimate(
            value, self._interval(value, spread, is_difference), of_people,
            self._interval(of_people, alone, is_difference),
            (chosen.power,), sample.labelled_items,
            sample.further_items,
            self._worth(direction, alone, spread) if self.assisted else 1.0,
            self._p(value, spread) if is_difference else None,
            spread.over, self.model.numbers, spread.freedom, self._drawn_alike,
            "" if self.assisted else WORTHLESS, PAIRS,
        )  # fmt: skip

    def _spread(self, fit: _Fit, direction: FloatArray, most: float) -> Spread:
        rows, influence, numbers = self.model.rows, fit.influence @ direction, self.model.numbers
        if self.rule is IntervalRule.SCORE:
            by_sources = spread_by_sources(rows, influence, numbers, rows.part == 0)
            assert by_sources is not None
            return by_sources
        found = spread_of(rows, influence, numbers)
        assert found is not None
        return replace(found, freedom=min(max(found.freedom, 1.0), most))

    def _interval(self, value: float, spread: Spread, is_difference: bool) -> Interval:
        if self.rule is IntervalRule.SCORE:
            bots = len(self.model.pairs.bots)
            factor = 1.0 if is_difference else bots / (bots - 1)
            return score_interval_of_log_odds(value, spread, self.level, factor=factor)
        half = t(spread.freedom, self.level) * math.sqrt(spread.variance)
        return Interval(value - half, value + half, self.level, "t")

    def _p(self, value: float, spread: Spread) -> float:
        return score_p_of_log_odds(value, spread) if self.rule is IntervalRule.SCORE else p_of(value, spread)

    def _worth(self, direction: FloatArray, alone: Spread, spread: Spread) -> float:
        """The smaller of what intervals and variances over contexts say, beside an even draw; at least 1."""
        assert self.assisted is not None
        rows, numbers = self.model.rows, self.model.numbers
        of_people, of_both = self.alone.influence @ direction, self.assisted.influence @ direction
        over_items = variance_over_items(rows, of_both, numbers)
        if min(over_items, spread.variance) <= 0:
            return 1.0
        halves = [t(each.freedom, self.level) ** 2 * each.variance for each in (alone, spread)]
        ratio = min(halves[0] / halves[1], variance_over_items(rows, of_people, numbers) / over_items)
        return max(1.0, ratio / max(1.0, self.model.design_effect(of_people)))

    @cached_property
    def _drawn_alike(self) -> float | Undefined:
        """p-value of "no gap in any strength"."""
        fit = self.assisted or self.alone
        gaps = zip(fit.gap.tolist(), fit.judge.T, strict=True)
        return p_drawn_alike(self.model.rows, gaps, self.model.numbers, PAIRS)
