"""Mean, share, and difference of two systems from people's labels and a machine judge's, with intervals.

The estimate is people's mean, less λ times the gap between the judge's mean on people's items and its mean on
the other items (power-tuned prediction-powered inference: Angelopoulos, Duchi & Zrnic 2023, PPI++,
arXiv:2311.01453). Whatever the judge's errors are, they cancel, as long as people's items were drawn at
random. Strata: Fisch et al. 2024 (arXiv:2406.04291). Items drawn with known probabilities: Zrnic & Candès
2024 (active statistical inference, arXiv:2403.03208), normalised by the sum of weights (Hájek 1971). The
variance is over conversations or contexts, raters, or both, as in `evaluation.statistics.inference`.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.assisted.fits import Fit, fit_of
from evaluation.assisted.influence import p_drawn_alike, p_of, units
from evaluation.assisted.intervals import IntervalRule, score_interval
from evaluation.assisted.parts import Parts, parts_of, strata_of
from evaluation.assisted.power import check_power, tuned
from evaluation.assisted.samples import AssistedSample
from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.differences import difference, format_p
from evaluation.statistics.inference import (
    NOUNS,
    Nouns,
    check,
    generalises,
    interval_within,
    mean,
)
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import FloatArray
from evaluation.statistics.variance import Numbers, Over

LEAST = 20
"""Smallest number of items of a system that people must have labelled."""
LEAST_IN_STRATUM = 5
_ALIKE = "People's labels are all alike, so they do not show how the judge errs."
WORTHLESS = (
    "The judge adds nothing: it does not follow people's labels closely enough, or labelled too few further "
    "items."
)


@dataclass(frozen=True, slots=True)
class AssistedEstimate:
    """One estimate from people and a judge, beside people's alone.

    Attributes:
        value: the estimate: a mean, or a difference of two means, in the unit of the labels.
        interval: its interval; people's if the judge adds nothing. With few workers, it can be longer than
            people's by chance.
        people_value: the estimate from people's labels alone.
        people_interval: its interval.
        power: λ in [0, 1] of each stratum of each system; all 0 if the judge adds nothing.
        items: number of items with people's labels.
        pool: number of further items that the judge labelled.
        worth: people's variance / assisted variance, the smaller ratio of that over items and of the squared
            lengths of both t intervals, at least 1: how many times as many evenly drawn items people alone
            would have needed.
        p: two-sided p-value of "the difference is 0"; None for a mean.
        over: what the interval generalises to; None if there is no interval.
        numbers: numbers of clusters, raters, and pairs among people's labels.
        freedom: degrees of freedom of Student's t; 0 if it was not used. With several sources of error, those
            whose quantile gives the length of the interval (`intervals.together`).
        drawn_alike: p-value of "the judge's mean is the same on people's items and on the others". A small
            one casts doubt on the random draw of people's items. `Undefined` if the judge labelled none of
            either.
        note: why the judge is not used; empty if it is.
        noun: plural of what people labelled, for sentences.
    """

    value: float
    interval: Interval | Undefined
    people_value: float
    people_interval: Interval | Undefined
    power: tuple[float, ...]
    items: int
    pool: int
    worth: float
    p: float | Undefined | None
    over: Over | None
    numbers: Numbers
    freedom: float
    drawn_alike: float | Undefined
    note: str
    noun: str = "items"

    @property
    def effective_items(self) -> int:
        """Number of items that people alone would have had to label for the same interval, rounded down."""
        return math.floor(self.items * self.worth + 1e-9)

    def sentence(self, nouns: Nouns = NOUNS) -> str:
        """State what the judge was worth and what the interval generalises to, with these nouns."""
        if isinstance(self.interval, Undefined):
            return self.worth_sentence
        return " ".join(filter(None, (self.worth_sentence, self.rests_on(nouns), self.doubt)))

    @property
    def worth_sentence(self) -> str:
        """Worth of the judge in a sentence, or the reason for which there is no interval."""
        if isinstance(self.interval, Undefined):
            return f"No interval: {self.interval.reason}"
        if self.note:
            return f"{self.note} The estimate is that of people alone."
        return (
            f"The interval is as if people had labelled {self.effective_items} {self.noun} instead of "
            f"{self.items}."
        )

    def rests_on(self, nouns: Nouns = NOUNS) -> str:
        """Sentence on what the interval generalises to; empty without an interval."""
        if isinstance(self.interval, Undefined):
            return ""
        return generalises(self.over, self.numbers, self.interval.level, nouns)

    @property
    def doubt(self) -> str:
        """Doubt about the random draw of people's items; empty if there is none."""
        if isinstance(self.drawn_alike, Undefined) or self.drawn_alike >= DOUBTFUL:
            return ""
        return (
            f"The judge scores people's {self.noun} differently from the others "
            f"({format_p(self.drawn_alike)}): check that people's {self.noun} were drawn at random."
        )


DOUBTFUL = 0.01
"""Below this p-value, the sentence asks whether people's items were drawn at random."""


def assisted_mean(
    sample: AssistedSample, *, low: float | None = 0.0, high: float | None = 1.0, level: float = LEVEL,
    power: float | None = None, nouns: Nouns = NOUNS, rule: IntervalRule = IntervalRule.SCORE,
) -> AssistedEstimate | Undefined:  # fmt: skip
    """Estimate the mean over items of people's labels, with the help of a judge; a share has labels 0 and 1.

    λ minimises the variance and is kept within [0, 1]. For the interval, each conversation's (or rater's)
    residuals use the λ of all others. The judge is used only if this makes the variance over items
    smaller than people's; otherwise the result is people's. The interval is Wilson's for the effective number
    of labels, for people alone as well.

    Args:
        sample: items with the judge's labels, and people's labels of at least 20 items, drawn at random
            (within each stratum, or with the stated probabilities).
        low: lower end of the scale; None for both ends if it has none.
        high: upper end.
        level: nominal coverage, in (0, 1).
        power: a fixed λ in [0, 1] for all strata; None: tuned.
        nouns: words for the reasons.
        rule: how the intervals of both are computed.

    Returns:
        The estimate; `Undefined` for fewer than 20 items of people, or fewer than 5 in a stratum.

    Raises:
        ValueError: a level or λ out of range, or a label outside the scale.
    """
    refused = _refusal([sample], [""], low, high, level, power)
    if refused:
        return refused
    people = sample.people
    parts = parts_of([(sample, 1.0)])
    alone = mean(people, low=low, high=high, level=level, nouns=nouns)
    assert not isinstance(alone, Undefined)
    none = np.zeros(len(parts.coefficient))
    if alone.over is None or people.is_alike:
        note = _ALIKE if people.is_alike else "There is no interval."
        return AssistedEstimate(
            alone.value, alone.interval, alone.value, alone.interval, tuple(none), sample.labelled_items,
            _pool([sample]), 1.0, None, alone.over, alone.numbers, alone.freedom,
            Undefined(note), note,
        )  # fmt: skip
    fits = _fits(parts, alone.numbers, level, power, rule)
    ends = tuple(
        None
        if fit is None or not _is_inside(fit.value, low, high)
        else score_interval(fit.value, fit.spread, low, high, level)
        if rule is IntervalRule.SCORE
        else interval_within(fit.value, fit.half, low, high, level)
        for fit in fits[:2]
    )
    return _people_or_assisted(fits, ends, [sample], alone.numbers, None, power is not None)


def assisted_difference(
    first: AssistedSample, second: AssistedSample, *, low: float = 0.0, high: float = 1.0,
    level: float = LEVEL, power: float | None = None, nouns: Nouns = NOUNS,
    rule: IntervalRule = IntervalRule.SCORE,
) -> AssistedEstimate | Undefined:  # fmt: skip
    """Estimate the mean of the first system less that of the second, with the help of a judge.

    Each system has a λ of its own, so a judge that favours one system biases nothing. Contexts and raters
    that both systems have are paired: their common part leaves the error. One t test gives the interval and
    p, as in `evaluation.statistics.differences`.

    Args:
        first: the first system, with people's labels of at least 20 items.
        second: the second; the same codes of clusters and raters mean the same contexts and raters.
        low: lower end of the scale.
        high: upper end.
        level: nominal coverage, in (0, 1).
        power: a fixed λ in [0, 1] for both; None: tuned.
        nouns: words for the reasons.
        rule: how the intervals of both are computed.

    Returns:
        The estimate; `Undefined` for fewer than 20 items of people of a system, or fewer than 5 in a stratum.

    Raises:
        ValueError: a level or λ out of range, or a label outside the scale.
    """
    systems = [first, second]
    refused = _refusal(systems, [" of the first system", " of the second system"], low, high, level, power)
    if refused:
        return refused
    alone = difference(first.people, second.people, low=low, high=high, level=level)
    alike = first.people.is_alike or second.people.is_alike
    parts = parts_of([(first, 1.0), (second, -1.0)])
    numbers = _numbers(parts)
    if isinstance(alone.interval, Undefined) or alike:
        note = _ALIKE if alike else "There is no interval."
        return AssistedEstimate(
            alone.difference, alone.interval, alone.difference, alone.interval,
            tuple(np.zeros(len(parts.coefficient))), sum(each.labelled_items for each in systems),
            _pool(systems), 1.0, alone.p, alone.over, numbers, alone.freedom, Undefined(note), note,
        )  # fmt: skip
    fits = _fits(parts, numbers, level, power, rule)
    width = high - low
    ends = tuple(
        None
        if fit is None
        else Interval(max(fit.value - fit.half, -width), min(fit.value + fit.half, width), level, "t")
        for fit in fits[:2]
    )
    # Systems whose labels agree item by item leave no variance.
    ps = [None if fit is None else p_of(fit.value, fit.spread) for fit in fits[:2]]
    return _people_or_assisted(fits, ends, systems, numbers, ps, power is not None)


def _refusal(
    systems: Sequence[AssistedSample], names: Sequence[str], low: float | None, high: float | None,
    level: float, power: float | None,
) -> Undefined | None:  # fmt: skip
    """The reason why nothing is estimated; None if there is none."""
    check_power(power)
    for sample, name in zip(systems, names, strict=True):
        check(sample.people, low, high, level)
        judged = sample.judge[sample.is_judged]
        if low is not None and high is not None and ((judged < low) | (judged > high)).any():
            wrong = judged[(judged < low) | (judged > high)][0]
            raise ValueError(f"The judge gave {wrong:g}, but the scale is {low} to {high}.")
        if sample.labelled_items < LEAST:
            return Undefined(
                f"People labelled {sample.labelled_items} items{name}. With fewer than {LEAST}, nothing "
                f"reliable can be said about the judge's errors."
            )
        for stratum in strata_of(sample, 1.0):
            if stratum.labelled_items < LEAST_IN_STRATUM:
                return Undefined(
                    f"People labelled {stratum.labelled_items} items of a stratum. Each needs "
                    f"{LEAST_IN_STRATUM}: label more of them or join strata."
                )
    return None


def _fits(
    parts: Parts, numbers: Numbers, level: float, power: float | None, rule: IntervalRule
) -> tuple[Fit, Fit | None, FloatArray, float | Undefined]:
    """People's fit, the assisted one (None if it has no spread), λ, and whether items were drawn alike."""
    rows = parts.rows
    over = numbers.over
    assert over is not None
    size = len(parts.coefficient)
    none, no_rows = np.zeros(size), np.zeros_like(parts.judge)
    alone = fit_of(parts, numbers, level, none, no_rows, rule)
    assert alone is not None
    if power is None:
        found, of_rows = tuned(parts.people, parts.judge, rows.cluster, units(rows, over))
    else:
        found = np.where((parts.judge != 0).any(axis=0), power, 0.0)
        of_rows = np.broadcast_to(found, parts.judge.shape)
    most = alone.spread.freedom
    fit = fit_of(parts, numbers, level, found, of_rows, rule, most) if found.any() else None
    gaps = zip(parts.coefficient * parts.judge_gap, parts.judge.T, strict=True)
    return alone, fit, found, p_drawn_alike(rows, gaps, numbers, "items")


def _people_or_assisted(
    fits: tuple[Fit, Fit | None, FloatArray, float | Undefined],
    ends: tuple[Interval | None, ...],
    systems: Sequence[AssistedSample],
    numbers: Numbers,
    ps: Sequence[float | None] | None,
    is_fixed: bool,
) -> AssistedEstimate:
    """People's estimate, or the assisted one if its variance over items is smaller; a fixed λ is obeyed.

    The lengths of the intervals do not decide: with few workers, the shorter one would be chosen by luck.
    """
    alone, fit, power, drawn_alike = fits
    people_interval = ends[0]
    assert people_interval is not None
    uses = fit is not None and ends[1] is not None and (is_fixed or fit.over_items < alone.over_items)
    chosen, interval = (fit, ends[1]) if uses else (alone, people_interval)
    p = ps[1 if uses else 0] if ps else None
    assert chosen is not None
    assert interval is not None
    return AssistedEstimate(
        chosen.value, interval, alone.value, people_interval,
        tuple(power.tolist()) if uses else (0.0,) * len(power),
        sum(each.labelled_items for each in systems), _pool(systems),
        _worth(alone, chosen, systems), p,
        chosen.spread.over, numbers, chosen.spread.freedom, drawn_alike, "" if uses else WORTHLESS,
    )  # fmt: skip


def _worth(alone: Fit, chosen: Fit, systems: Sequence[AssistedSample]) -> float:
    """The smaller of what intervals and variances over items say, beside evenly drawn items; at least 1."""
    if min(chosen.half, chosen.over_items) <= 0:
        return 1.0
    ratio = min((alone.half / chosen.half) ** 2, alone.over_items / chosen.over_items)
    return max(1.0, ratio / max(1.0, *(each.design_effect() for each in systems)))


def _is_inside(value: float, low: float | None, high: float | None) -> bool:
    return low is None or high is None or low < value < high


def _pool(systems: Sequence[AssistedSample]) -> int:
    """Number of items that only the judge labelled."""
    return sum(each.further_items for each in systems)


def _numbers(parts: Parts) -> Numbers:
    """Numbers of clusters, raters and pairs among people's labels of all systems."""
    people = parts.rows.part < len(parts.coefficient)
    rows = parts.rows
    return Numbers(*(len(np.unique(codes[people])) for codes in (rows.cluster, rows.rater, rows.pair)))
