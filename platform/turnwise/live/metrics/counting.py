"""Histograms and counters that an event loop fills in itself, a quarter of the cost of the library's.

They have no lock, which is most of what the library's take. So only event loops may add to them, of which a
process has one; any thread may read them. A reader sees each number as it was a moment ago.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from itertools import accumulate

from prometheus_client import CollectorRegistry, Metric
from prometheus_client.core import CounterMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from prometheus_client.utils import floatToGoString


class LoopHistogram(Collector):
    """Histogram with one label.

    Args:
        name: of the metric.
        documentation: one sentence.
        label: name of the label.
        bounds: upper bounds of the buckets, ascending; a last one without a bound is added.
        registry: where it is read.
    """

    def __init__(
        self, name: str, documentation: str, label: str, bounds: Sequence[float], registry: CollectorRegistry
    ) -> None:
        self._name, self._documentation, self._label = name, documentation, label
        self._bounds = list(bounds)
        self._titles = [*map(floatToGoString, bounds), "+Inf"]
        self._rows: dict[str | int, list[float]] = {}  # by label: number in each bucket, and last the sum
        registry.register(self)

    def add(self, label: str | int, value: float) -> None:
        """Count a value."""
        row = self._rows.get(label)
        if row is None:
            row = self._rows[label] = [0] * (len(self._titles) + 1)
        row[bisect_left(self._bounds, value)] += 1
        row[-1] += value

    def collect(self) -> Iterable[Metric]:
        """The counts so far."""
        family = HistogramMetricFamily(self._name, self._documentation, labels=[self._label])
        for label, (*counts, total) in list(self._rows.items()):
            buckets = list(zip(self._titles, accumulate(counts), strict=True))
            family.add_metric([str(label)], buckets, total)
        return [family]


class LoopCounter(Collector):
    """Counter with any labels; arguments as of `LoopHistogram`."""

    def __init__(
        self, name: str, documentation: str, labels: Sequence[str], registry: CollectorRegistry
    ) -> None:
        self._name, self._documentation, self._labels = name, documentation, labels
        self._counts: dict[tuple[str | int, ...], int] = {}
        registry.register(self)

    def add(self, *labels: str | int) -> None:
        """Count one."""
        self._counts[labels] = self._counts.get(labels, 0) + 1

    def collect(self) -> Iterable[Metric]:
        """The counts so far."""
        family = CounterMetricFamily(self._name, self._documentation, labels=self._labels)
        for labels, number in list(self._counts.items()):
            family.add_metric([str(label) for label in labels], number)
        return [family]
