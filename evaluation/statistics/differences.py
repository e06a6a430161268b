"""Differences between systems for any score: one t test gives interval, p-value and sentence.

The difference is that of the two scores, each over all its labels. If both systems share contexts or raters,
the covariance of their sums is taken out of the error. So systems judged on the same contexts are compared in
pairs, and one missing context changes next to nothing. There is no resampling. Sources as in
`compared_samples`; Schuirmann 1987 (equivalence); Holm 1979, Scandinavian Journal of Statistics 6(2).
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import scipy

from evaluation.files.writing import percent
from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.compared_samples import KINDS, Gram, Pair, hidden
from evaluation.statistics.comparison import holm
from evaluation.statistics.effect_sizes import EffectSize, Standardiser, odds_ratio
from evaluation.statistics.inference import NOUNS, Nouns, Sample, check, generalises, t, two_sided_p
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.variance import Numbers, Over, Spread


@dataclass(frozen=True, slots=True)
class Difference:
    """Difference between the scores of two systems, by a t test.

    Attributes:
        first: name of one system.
        second: name of the other.
        difference: score of the first minus score of the second, each over all its labels.
        error: standard error of the difference.
        freedom: its degrees of freedom.
        interval: interval of the difference, for this pair alone; 0 lies outside exactly if p < 1 - level.
        p: two-sided p-value of "both score the same".
        p_holm: p-value after Holm's correction over all pairs compared together.
        pairs_compared: number of these pairs.
        odds_ratio: odds of yes of the first over those of the second; `Undefined` for other scores, and at
            0 or 100 %.
        effect: the difference in standard deviations between conversations, Cohen's d of their means. Its
            interval excludes 0 exactly if that of the difference does.
        over: what the test generalises to; None if it has none.
        clusters: number of conversations or contexts of the first, of the second, and common to both.
        raters: number of raters of the first, of the second, and common to both.
        scale: ends of the scale of the scores.
    """

    first: Hashable
    second: Hashable
    difference: float
    error: float | Undefined
    freedom: float
    interval: Interval | Undefined
    p: float | Undefined
    p_holm: float | Undefined
    pairs_compared: int
    odds_ratio: EffectSize | Undefined
    effect: EffectSize | Undefined
    over: Over | None
    clusters: tuple[int, int, int]
    raters: tuple[int, int, int]
    scale: tuple[float, float]

    def sentence(self, nouns: Nouns = NOUNS) -> str:
        """State which system leads by how much, or that there is no clear difference, with interval and p.

        Args:
            nouns: what clusters and raters are called.
        """
        if isinstance(self.interval, Undefined) or isinstance(self.p, Undefined):
            reason = self.interval.reason if isinstance(self.interval, Undefined) else ""
            return f"Whether {self.first} or {self.second} is ahead cannot be told: {reason}"
        leads = self.difference >= 0
        ahead, behind = (self.first, self.second) if leads else (self.second, self.first)
        ends = (self.interval.low, self.interval.high) if leads else (-self.interval.high, -self.interval.low)
        low, high = (self._format(end) for end in ends)
        numbers = f"{percent(self.interval.level)} interval {low} to {high}, {format_p(self.p)}"
        if self.p >= 1 - self.interval.level:
            return f"{ahead} and {behind} cannot be told apart: {self._distance} apart, {numbers}."
        sentence = f"{ahead} is ahead of {behind} by {self._distance}, {numbers}"
        if (
            isinstance(self.p_holm, float)
            and self.pairs_compared > 1
            and self.p_holm >= 1 - self.interval.level
        ):
            sentence += (
                f"; among the {self.pairs_compared} pairs compared this may be chance "
                f"(Holm-corrected {format_p(self.p_holm)})"
            )
        return sentence + "."

    def describe_basis(self, nouns: Nouns = NOUNS) -> str:
        """State in sentences what the comparison rests on and generalises to.

        Args:
            nouns: what clusters and raters are called.
        """
        common, raters = self.clusters[2], self.raters[2]
        both = [f"{common} {nouns.cluster}s"] * (common > 1) + [f"{raters} {nouns.rater}s"] * (raters > 1)
        pairing = f"Paired on {' and '.join(both)} that both have. " if both else ""
        if self.over is None or isinstance(self.interval, Undefined):
            return pairing.strip()
        fewest = Numbers(min(self.clusters[:2]), min(self.raters[:2]), 0)
        return pairing + generalises(self.over, fewest, self.interval.level, nouns)

    def equivalence(self, margin: float) -> float | Undefined:
        """p-value of "they differ by `margin` or more", by two one-sided t tests (Schuirmann 1987).

        Below 0.05 the two are equivalent within the margin: the 90 % interval lies within ± margin.

        Args:
            margin: positive, in the unit of the scores: 0.05 is 5 points of a share.

        Raises:
            ValueError: a margin that is not positive.
        """
        if not margin > 0:
            raise ValueError(
                f"margin={margin} must be positive: the largest difference that does not matter."
            )
        if isinstance(self.error, Undefined):
            return self.error
        return float(scipy.special.stdtr(self.freedom, (abs(self.difference) - margin) / self.error))

    @property
    def equal_within(self) -> float | Undefined:
        """The smallest margin within which the two are equivalent: its `equivalence` is 1 - level.

        It is the end furthest from 0 of the interval with twice that error rate, at most the scale's width.
        """
        if isinstance(self.error, Undefined):
            return self.error
        if isinstance(self.interval, Undefined):
            return self.interval
        half = float(scipy.special.stdtrit(self.freedom, self.interval.level)) * self.error
        return min(abs(self.difference) + half, self.scale[1] - self.scale[0])

    @property
    def _distance(self) -> str:
        unit = " points" if self.scale == (0, 1) else ""
        return self._format(abs(self.difference)) + unit

    def _format(self, difference: float) -> str:
        value, digits = (100 * difference, 1) if self.scale == (0, 1) else (difference, 2)
        return f"{round(value, digits) + 0.0:.{digits}f}".replace("-", "\N{MINUS SIGN}")


def format_p(p: float) -> str:
    """Format a p-value with three digits, as papers do: "p = 0.042", "p < 0.001"."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def difference(
    first: Sample, second: Sample, *, low: float = 0.0, high: float = 1.0, level: float = LEVEL
) -> Difference:
    """Compare two systems, named "first" and "second"; otherwise like `differences`."""
    return differences({"first": first, "second": second}, low=low, high=high, level=level)[0]


def differences(
    of_systems: Mapping[Hashable, Sample], *, low: float = 0.0, high: float = 1.0, level: float = LEVEL,
    nouns: Nouns = NOUNS,
) -> list[Difference]:  # fmt: skip
    """Compare every two systems by one score, with Holm's correction over all these pairs.

    Args:
        of_systems: samples by name; codes of contexts and raters mean the same in all samples, as from
            `samples`. A system without labels is left out.
        low: lower end of the scale.
        high: upper end.
        level: nominal coverage of each interval, for its pair alone.
        nouns: words for the reasons.

    Returns:
        One difference per pair, in the order of the names; none for fewer than two systems.

    Raises:
        ValueError: a level out of range, or a value outside the scale.
    """
    nonempty = {name: sample for name, sample in of_systems.items() if len(sample)}
    names, samples_of = list(nonempty), list(nonempty.values())
    if len(samples_of) < 2:
        return []
    for sample in samples_of:
        check(sample, low, high, level)
    grams = [Gram.of_sums([sample.sums for sample in samples_of], kind) for kind in KINDS]
    unseen = [hidden(each, (low, high)) for each in samples_of]
    standardiser = Standardiser.of_samples(samples_of)
    pairs = []
    for a, b in combinations(range(len(samples_of)), 2):
        kinds = tuple(gram.of(a, b) for gram in grams)
        pair = Pair((samples_of[a], samples_of[b]), kinds, (unseen[a], unseen[b]), (low, high))
        spread = pair.why_not(nouns) or pair.spread()
        effect = standardiser.effect((a, b), pair, spread, level)
        pairs.append(_tested((names[a], names[b]), pair, spread, effect, level))
    return with_holm(pairs)


def with_holm(pairs: Sequence[Difference]) -> list[Difference]:
    """Set `p_holm` of the differences, corrected over all that have a p-value."""
    corrected = iter(holm([each.p for each in pairs if not isinstance(each.p, Undefined)]))
    number = sum(not isinstance(each.p, Undefined) for each in pairs)
    return [
        each
        if isinstance(each.p, Undefined)
        else replace(each, p_holm=next(corrected), pairs_compared=number)
        for each in pairs
    ]


def _tested(
    names: tuple[Hashable, Hashable], pair: Pair, spread: Spread | Undefined, effect: EffectSize | Undefined,
    level: float,
) -> Difference:  # fmt: skip
    gap, width = pair.samples[0].value - pair.samples[1].value, pair.scale[1] - pair.scale[0]
    interval: Interval | Undefined
    error: float | Undefined
    p: float | Undefined
    if isinstance(spread, Undefined):
        error, freedom, interval, p, over = spread, 0.0, spread, spread, None
    else:
        freedom, over = spread.freedom, spread.over
        error = math.sqrt(spread.variance)
        half = t(freedom, level) * error
        interval = Interval(max(gap - half, -width), min(gap + half, width), level, "t")
        p = two_sided_p(gap, error, freedom)
    return Difference(
        *names, gap, error, freedom, interval, p, p, 1, odds_ratio(pair, spread, level), effect, over,
        pair.kinds[0].numbers, pair.kinds[1].numbers, pair.scale,
    )  # fmt: skip
