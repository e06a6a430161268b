"""The weighted means that make up an assisted estimate of one or two systems."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evaluation.assisted.influence import Rows
from evaluation.assisted.samples import AssistedSample
from evaluation.statistics.labels import BoolArray, FloatArray, IntArray

LEAST_TO_FOLLOW = 10
"""Smallest number of people's items in a stratum in which the judge is followed."""
LEAST_POOL = 20
"""Smallest number of items of a stratum with the judge's label alone on which it predicts."""


@dataclass(frozen=True, eq=False)
class Parts:
    """Rows of all weighted means of an estimate Σ c (people's mean - λ (judge's mean there - elsewhere)).

    A part is a stratum of a system. Rows of people come first, then rows of the judge, then all items of
    systems with strata, whose shares of the items are estimated as well.

    Attributes:
        rows: cluster, rater and share of each of the m rows; people have parts 0 to g - 1, the judge g to
            2 g - 1, strata of a system 2 g and above.
        coefficient: (g,) sign of the system times the stratum's share of its items.
        people_mean: (g,) mean of people's labels of each part.
        judge_gap: (g,) the judge's mean on people's items minus its mean on the items to predict; 0 if it
            has none on either.
        people: (m,) influence of people's labels on the estimate.
        judge: (m, g) influence of the judge's labels on Σ c · gap, which λ multiplies, by part.
        stratum: (m,) part of each of the last rows; -1 for others.
        sign: (m,) of the last rows: sign of the system / number of its items.
        system: (m,) 0 for rows of the first system, 1 for those of the second.
    """

    rows: Rows
    coefficient: FloatArray
    people_mean: FloatArray
    judge_gap: FloatArray
    people: FloatArray
    judge: FloatArray
    stratum: IntArray
    sign: FloatArray
    system: IntArray

    def value(self, power: FloatArray) -> float:
        """The estimate with λ of each part."""
        return float(self.coefficient @ (self.people_mean - power * self.judge_gap))

    def influence(self, power: FloatArray, of_rows: FloatArray) -> FloatArray:
        """(m,) influence of each row.

        Args:
            power: (g,) λ, for the judge's rows on items without people's labels.
            of_rows: (m, g) λ for people's rows, from all other units.
        """
        weight = np.where((self.rows.part < len(power))[:, None], of_rows, power)
        corrections: FloatArray = (weight * self.judge).sum(axis=1)
        return self.people - corrections + self._of_shares(power)

    def _of_shares(self, power: FloatArray) -> FloatArray:
        """Influence of an item through the shares of the strata."""
        found = np.zeros(len(self.people))
        means = self.people_mean - power * self.judge_gap
        for part in np.unique(self.rows.part[self.stratum >= 0]):
            rows = self.rows.part == part
            values = means[self.stratum[rows]]
            found[rows] = self.sign[rows] * (values - values.mean())
        return found


@dataclass(frozen=True, eq=False)
class Stratum:
    """One stratum of one system.

    Attributes:
        sample: the system.
        items: (N,) true for items of the stratum.
        coefficient: sign of the system times the stratum's share of its items.
    """

    sample: AssistedSample
    items: BoolArray
    coefficient: float

    @cached_property
    def labels(self) -> IntArray:
        """Rows of people's labels."""
        return np.flatnonzero(self.items[self.sample.item])

    @cached_property
    def pool(self) -> IntArray:
        """Items on which the judge predicts.

        Those without people's labels; all of them if probabilities differ, since what is left over from an
        unequal draw does not represent the stratum. None if people labelled so few items of the stratum that
        they hardly show its errors, or if so few are left, or so alike, that they hide their variance:
        a single item has a variance of 0, and λ would be 1.
        """
        if self.labelled_items < LEAST_TO_FOLLOW:
            return np.empty(0, dtype=np.int64)
        judged = self.items & self.sample.is_judged
        if self.sample.probability is not None:
            return np.flatnonzero(judged)
        pool = np.flatnonzero(judged & ~self.sample.has_labels)
        hides_variance = pool.size < LEAST_POOL or np.ptp(self.sample.judge[pool]) == 0
        return np.empty(0, dtype=np.int64) if hides_variance else pool

    @cached_property
    def labelled_items(self) -> int:
        """Number of items with people's labels."""
        return int(np.count_nonzero(self.items & self.sample.has_labels))


def strata_of(sample: AssistedSample, sign: float) -> list[Stratum]:
    """Strata of a system, in the order of their codes; the system itself without strata."""
    if sample.stratum is None:
        return [Stratum(sample, np.ones(len(sample), dtype=bool), sign)]
    return [
        Stratum(sample, sample.stratum == code, sign * float((sample.stratum == code).mean()))
        for code in np.unique(sample.stratum).tolist()
    ]


def parts_of(systems: Sequence[tuple[AssistedSample, float]]) -> Parts:
    """Assemble the parts of a sum of means.

    Args:
        systems: samples with their signs: one with 1, or two with 1 and -1. Every stratum has labels.
    """
    strata = [each for sample, sign in systems for each in strata_of(sample, sign)]
    builder = _Builder(len(strata), _first_free_rater([sample for sample, _ in systems]))
    for part, stratum in enumerate(strata):
        builder.add_people(part, stratum)
    for part, stratum in enumerate(strata):
        builder.add_pool(part, stratum)
    for number, (sample, sign) in enumerate(systems):
        if sample.stratum is not None:
            builder.add_shares(number, sample, sign, [s.sample is sample for s in strata].index(True))
    samples = [sample for sample, _ in systems]
    system = [next(k for k, sample in enumerate(samples) if sample is each.sample) for each in strata]
    is_drawn = any(sample.probability is not None for sample in samples)
    return builder.build(is_drawn, [stratum.coefficient for stratum in strata], system)


def _first_free_rater(samples: Sequence[AssistedSample]) -> int:
    columns = [column for each in samples for column in (each.rater, each.worker) if column is not None]
    return max((int(column.max(initial=0)) for column in columns), default=0) + 1


class _Builder:
    """Collects rows part by part."""

    def __init__(self, parts: int, first_free_rater: int) -> None:
        self._parts, self._free = parts, first_free_rater
        self._columns: list[tuple[IntArray, ...]] = []
        self._numbers: list[tuple[FloatArray, ...]] = []
        self._judge: list[FloatArray] = []
        self._means, self._gaps = np.zeros(parts), np.zeros(parts)

    def add_people(self, part: int, stratum: Stratum) -> None:
        """Add people's labels of a stratum, with the judge's labels of the same items."""
        sample, labels = stratum.sample, stratum.labels
        items = sample.item[labels]
        share = sample.weight[labels] / sample.weight[labels].sum()
        self._means[part] = share @ sample.value[labels]
        people = stratum.coefficient * share * (sample.value[labels] - self._means[part])
        judge, judged = sample.judge[items], sample.is_judged[items]
        of_judge = np.zeros(len(labels))
        if judged.any() and stratum.pool.size:
            weight = np.where(judged, share, 0.0)
            weight /= weight.sum()
            here = float(weight[judged] @ judge[judged])
            self._gaps[part] = here - float(sample.judge[stratum.pool].mean())
            of_judge[judged] = stratum.coefficient * weight[judged] * (judge[judged] - here)
        rater = np.zeros_like(items) if sample.rater is None else sample.rater[labels]
        self._add(part, part, sample.cluster[items], rater, share, people, of_judge)

    def add_pool(self, part: int, stratum: Stratum) -> None:
        """Add the judge's labels on which it predicts."""
        sample, pool = stratum.sample, stratum.pool
        if not pool.size or not sample.is_judged[sample.item[stratum.labels]].any():
            return
        share = np.full(pool.size, 1 / pool.size)
        judge = sample.judge[pool]
        of_judge = -stratum.coefficient * share * (judge - judge.mean())
        raters = self._raters(sample)[pool]
        self._add(
            self._parts + part, part, sample.cluster[pool], raters, share, np.zeros(pool.size), of_judge
        )

    def add_shares(self, number: int, sample: AssistedSample, sign: float, first: int) -> None:
        """Add all items of a system, whose strata are parts from `first` on."""
        assert sample.stratum is not None
        size = len(sample)
        stratum = first + np.unique(sample.stratum, return_inverse=True)[1]
        nothing = np.zeros(size)
        share = np.full(size, 1 / size)
        self._add(
            2 * self._parts + number, 0, sample.cluster, self._raters(sample), share, nothing, nothing,
            stratum, sign * share,
        )  # fmt: skip

    def _raters(self, sample: AssistedSample) -> IntArray:
        """(N,) rater of each item: its worker, else the only rater of its cluster, else a code of its own."""
        if sample.rater is None:
            return np.zeros(len(sample), dtype=np.int64)
        size = int(sample.cluster.max()) + 1
        first, last = np.full(size, self._free, dtype=np.int64), np.full(size, -1, dtype=np.int64)
        np.minimum.at(first, sample.cluster[sample.item], sample.rater)
        np.maximum.at(last, sample.cluster[sample.item], sample.rater)
        of_cluster = np.where(first == last, first, self._free + np.arange(size))
        found = of_cluster[sample.cluster]
        return found if sample.worker is None else np.where(sample.worker >= 0, sample.worker, found)

    def _add(
        self, part: int, column: int, cluster: IntArray, rater: IntArray, share: FloatArray,
        people: FloatArray, judge: FloatArray, stratum: IntArray | None = None,
        sign: FloatArray | None = None,
    ) -> None:  # fmt: skip
        size = len(cluster)
        codes = np.full(size, -1) if stratum is None else stratum
        self._columns.append((np.full(size, part), cluster, rater, codes))
        self._numbers.append((share, people, np.zeros(size) if sign is None else sign))
        of_parts = np.zeros((size, self._parts))
        of_parts[:, column] = judge
        self._judge.append(of_parts)

    def build(self, is_drawn: bool, coefficients: list[float], systems: list[int]) -> Parts:
        """Join all rows.

        Args:
            is_drawn: as in `Rows`.
            coefficients: of each part of people.
            systems: 0 or 1, the system of each part of people.
        """
        part, cluster, rater, stratum = (np.concatenate(c) for c in zip(*self._columns, strict=True))
        share, people, sign = (np.concatenate(c) for c in zip(*self._numbers, strict=True))
        return Parts(
            Rows(part, cluster, rater, share, is_drawn), np.array(coefficients), self._means, self._gaps,
            people, np.concatenate(self._judge), stratum, sign,
            np.array([*systems, *systems, 0, 1])[part],
        )  # fmt: skip
