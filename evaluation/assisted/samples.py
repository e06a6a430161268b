"""Items of one system with a judge's labels, and people's labels of some of these items."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from evaluation.statistics.inference import Sample
from evaluation.statistics.labels import BoolArray, FloatArray, IntArray, LabelsError


@dataclass(frozen=True, eq=False)
class AssistedSample:
    """N items, the judge's label of each, and n labels of people.

    Each item counts once: its people's label is the mean of its raters.

    Attributes:
        cluster: (N,) code from 0 up of each item's conversation or context. The same code in another sample
            means the same context.
        judge: (N,) the judge's label on people's scale: a score, a probability of yes, or 0 and 1; NaN if
            the judge gave none.
        item: (n,) row of the item that each of people's labels is about, in [0, N).
        value: (n,) people's labels, finite.
        rater: (n,) code from 0 up of each label's rater, the same in all samples; None if the labels are not
            of single raters, such as majorities.
        worker: (N,) code, among those of `rater`, of the person who had the item's conversation; -1 if
            unknown. None: unknown for all. It matters if the raters are these workers.
        stratum: (N,) code from 0 up of the stratum from which people's items were drawn; None: one stratum.
        probability: (N,) probability in (0, 1] with which each item was drawn for people; None: equal within
            each stratum.

    Raises:
        LabelsError: columns of different length, an item that does not exist, a label or judge's label that
            is infinite, a probability outside (0, 1], or the same rater twice on an item; names the row.
    """

    cluster: IntArray
    judge: FloatArray
    item: IntArray
    value: FloatArray
    rater: IntArray | None = None
    worker: IntArray | None = None
    stratum: IntArray | None = None
    probability: FloatArray | None = None

    def __post_init__(self) -> None:
        self._check_lengths()
        outside = (self.item < 0) | (self.item >= len(self.cluster))
        _refuse(outside, "item", self.item, "is none of the items.")
        _refuse(~np.isfinite(self.value), "value", self.value, "is not a finite number.")
        _refuse(np.isinf(self.judge), "judge", self.judge, "is not a finite number.")
        if self.probability is not None:
            wrong = ~((self.probability > 0) & (self.probability <= 1))
            _refuse(
                wrong, "probability", self.probability,
                "is not above 0 and at most 1: an item that could not be drawn stands for nothing.",
            )  # fmt: skip
        if self.rater is not None:
            _refuse_repeated(self.item, self.rater)

    def _check_lengths(self) -> None:
        groups = (
            (self.cluster, self.judge, self.worker, self.stratum, self.probability),
            (self.item, self.value, self.rater),
        )
        for columns in groups:
            lengths = {len(column) for column in columns if column is not None}
            if len(lengths) > 1:
                raise LabelsError(f"The columns have {', '.join(map(str, sorted(lengths)))} rows.", "value")

    def __len__(self) -> int:
        return len(self.cluster)

    @cached_property
    def is_judged(self) -> BoolArray:
        """(N,) true for items with a label of the judge."""
        return ~np.isnan(self.judge)

    @cached_property
    def labels_of_item(self) -> IntArray:
        """(N,) number of people's labels of each item."""
        return np.bincount(self.item, minlength=len(self))

    @property
    def has_labels(self) -> BoolArray:
        """(N,) true for items that people labelled."""
        return self.labels_of_item > 0

    @property
    def labelled_items(self) -> int:
        """Number of items that people labelled."""
        return int(np.count_nonzero(self.has_labels))

    @property
    def further_items(self) -> int:
        """Number of items that only the judge labelled."""
        return int(np.count_nonzero(self.is_judged & ~self.has_labels))

    @cached_property
    def weight(self) -> FloatArray:
        """(n,) how much each of people's labels counts: 1 / (labels of its item · its probability)."""
        weight = 1.0 / self.labels_of_item[self.item]
        return weight if self.probability is None else weight / self.probability[self.item]

    def design_effect(self, power: float = 0.0) -> float:
        """Variance with these probabilities over that of as many evenly drawn items; 1 without probabilities.

        Args:
            power: λ; the variance is that of people's labels less λ times the judge's.

        Returns:
            A ratio above 0; above 1 if an even draw would have been better.
        """
        weight = np.bincount(self.item, self.weight, len(self))
        there = weight > 0
        judge = np.where(self.is_judged, self.judge, 0.0)[there]
        weight, sums = weight[there], np.bincount(self.item, self.weight * self.value, len(self))[there]
        values = sums / weight - power * judge
        squares = (values - np.average(values, weights=weight)) ** 2
        evenly = float(weight.sum() * (weight * squares).sum())
        return float(len(weight) * (weight**2 * squares).sum()) / evenly if evenly > 0 else 1.0

    @property
    def people(self) -> Sample:
        """People's labels alone, without strata."""
        return Sample(self.value, self.cluster[self.item], self.rater, self.weight)


def _refuse(wrong: BoolArray, column: str, values: FloatArray | IntArray, reason: str) -> None:
    """Raise an error about the first wrong row."""
    rows = np.flatnonzero(wrong)
    if rows.size:
        row = int(rows[0])
        raise LabelsError(f"{values[row]} {reason}", column, row)


def _refuse_repeated(item: IntArray, rater: IntArray) -> None:
    pair = item * (int(rater.max(initial=0)) + 1) + rater
    _, first, inverse = np.unique(pair, return_index=True, return_inverse=True)
    repeated = np.flatnonzero(first[inverse] != np.arange(len(pair)))
    if repeated.size:
        row = int(repeated[0])
        raise LabelsError("The same rater labelled the item before.", "rater", row, int(first[inverse[row]]))
