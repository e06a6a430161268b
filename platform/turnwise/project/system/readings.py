"""Reading of metric families: single values, sums, and quantiles of histograms."""

import math
from collections.abc import Iterable

from prometheus_client.core import Metric

Bucket = tuple[float, float]
"""Upper bound and cumulative count."""


class Readings:
    """Values of metric families by name of the sample."""

    def __init__(self, families: Iterable[Metric]) -> None:
        """Read these families."""
        self._samples: dict[str, list[tuple[dict[str, str], float]]] = {}
        for family in families:
            for sample in family.samples:
                self._samples.setdefault(sample.name, []).append((sample.labels, sample.value))

    def value(self, name: str, **labels: str) -> float | None:
        """Sum of the samples with these labels; None if there is none."""
        found = [value for has, value in self._samples.get(name, []) if labels.items() <= has.items()]
        return sum(found) if found else None

    def by_label(self, name: str, label: str, **labels: str) -> dict[str, float]:
        """Sums of the samples with these labels, by the value of another label."""
        sums: dict[str, float] = {}
        for has, value in self._samples.get(name, []):
            if labels.items() <= has.items():
                sums[has[label]] = sums.get(has[label], 0.0) + value
        return sums

    def quantile(self, name: str, q: float, **labels: str) -> float | None:
        """Quantile of a histogram, estimated from its buckets as Prometheus does; None without data."""
        by_bound = self.by_label(f"{name}_bucket", "le", **labels)
        return quantile([(float(bound), count) for bound, count in by_bound.items()], q)


def quantile(buckets: Iterable[Bucket], q: float) -> float | None:
    """Interpolate a quantile in the bucket that holds it; the last finite bound if it lies beyond.

    Args:
        buckets: with cumulative counts; the last one has no bound.
        q: from 0 to 1.
    """
    ordered = sorted(buckets)
    if not ordered or not ordered[-1][1]:
        return None
    rank, below, before = q * ordered[-1][1], 0.0, 0.0
    for bound, count in ordered:
        if count >= rank and count > before:
            if math.isinf(bound):
                return below
            return below + (bound - below) * (rank - before) / (count - before)
        below, before = bound, count
    return below
