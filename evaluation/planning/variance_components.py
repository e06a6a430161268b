"""Variance components of an earlier study, by the method of moments, as a plan needs them.

The mean product of two labels that share some effects, less their systems' means, estimates the sum of the
variances of these effects, whatever the distribution (Searle, Casella & McCulloch 1992, Variance Components,
chapter 5). Here a label is the mean of one worker's labels of one conversation or context of one system.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from evaluation.planning.power import Components
from evaluation.statistics.inference import Sample
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import FloatArray, IntArray


@dataclass(frozen=True, eq=False)
class _Cells:
    """Means of a worker's labels of a conversation or context of a system, less the system's mean."""

    residual: FloatArray
    system: IntArray
    context: IntArray
    worker: IntArray

    def products(self, *codes: IntArray) -> tuple[float, float]:
        """Sum of products of all ordered pairs of different cells with equal codes, and their number."""
        _, group = np.unique(np.column_stack(codes), axis=0, return_inverse=True)
        group = group.ravel()
        sums, sizes = np.bincount(group, self.residual), np.bincount(group)
        pairs = float((sizes.astype(np.float64) * (sizes - 1)).sum())
        return float((sums**2).sum() - (self.residual**2).sum()), pairs

    def mean_product(
        self, shared: Sequence[IntArray], *excluded: Sequence[IntArray], again: Sequence[IntArray] = ()
    ) -> float:
        """Mean product of the pairs that share some codes, less pairs that share others as well.

        Args:
            shared: codes that both cells of a pair share.
            excluded: groups of codes; pairs that share a whole group are left out.
            again: codes of pairs that two groups exclude, which count once.

        Returns:
            The mean; NaN if there is no such pair.
        """
        total, pairs = self.products(*shared)
        parts = [(-1, each) for each in excluded] + ([(1, again)] if len(again) else [])
        for sign, codes in parts:
            product, number = self.products(*codes)
            total, pairs = total + sign * product, pairs + sign * number
        return total / pairs if pairs > 0 else float("nan")


def components(samples: Mapping[Hashable, Sample]) -> Components | Undefined:
    """Estimate the variances of a label's effects from all systems of a study.

    Effects that the study cannot separate, because no worker or no context has two labels, count in the rest.
    A negative estimate counts as 0.

    Args:
        samples: labels of each system; codes of contexts and workers are the same in all of them.

    Returns:
        The variances, in the square of the values' unit; `Undefined` if the study shows no spread.
    """
    kept = {name: sample for name, sample in samples.items() if len(sample)}
    cells = _cells(list(kept.values()))
    if len(cells.residual) <= len(kept):
        return Undefined("The study has one conversation of each system, which shows no spread.")
    s, c, w = cells.system, cells.context, cells.worker
    of_worker = cells.mean_product((w,), (w, s), (w, c), again=(w, s, c))
    same_worker_system = cells.mean_product((w, s), (w, s, c))
    of_context = cells.mean_product((c,), (c, s), (c, w), again=(c, s, w))
    same_context_system = cells.mean_product((c, s), (c, s, w))
    worker, worker_by_system = _split(of_worker, same_worker_system)
    context, context_by_system = _split(of_context, same_context_system)
    total = float((cells.residual**2).sum() / (len(cells.residual) - len(kept)))
    rest = max(0.0, total - worker - worker_by_system - context - context_by_system)
    if total <= 0:
        return Undefined("All conversations of a system have the same score, so the study shows no spread.")
    return Components(context, context_by_system, worker, worker_by_system, rest)


def _split(shared: float, within_system: float) -> tuple[float, float]:
    """Variance of an effect and of its interaction, from the mean products without and with equal systems."""
    general = 0.0 if np.isnan(shared) else max(0.0, shared)
    if np.isnan(within_system):
        return general, 0.0
    within_system = max(0.0, within_system)
    return min(general, within_system), max(0.0, within_system - general)


def _cells(samples: Sequence[Sample]) -> _Cells:
    means: list[FloatArray] = []
    systems, contexts, workers = (list[IntArray]() for _ in range(3))
    for code, sample in enumerate(samples):
        rater = np.zeros_like(sample.cluster) if sample.rater is None else sample.rater
        pairs, cell = np.unique(np.column_stack([sample.cluster, rater]), axis=0, return_inverse=True)
        weight = np.ones(len(sample)) if sample.weight is None else sample.weight
        cell = cell.ravel()
        mean = np.bincount(cell, sample.values * weight) / np.bincount(cell, weight)
        means.append(mean - mean.mean())
        systems.append(np.full(len(pairs), code))
        contexts.append(pairs[:, 0])
        workers.append(pairs[:, 1])
    of_cells = (np.concatenate(each) for each in (systems, contexts, workers))
    return _Cells(np.concatenate(means), *of_cells)
