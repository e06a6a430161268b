"""Plan of a study: its size for the smallest difference that matters, from an earlier study's variances.

The mean product of two labels that share some effects, less their systems' means, estimates the sum of the
variances of these effects, whatever the distribution (Searle, Casella & McCulloch 1992, Variance Components,
chapter 5). Here a label is the mean of one worker's labels of one conversation or context of one system.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from evaluation.planning.power import (
    Components,
    Design,
    power_at,
    smallest_difference,
    units_needed,
)
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


_STEPS = (0.2, 0.3, 0.45, 0.65, 1.0, 1.5, 2.2, 3.2)


@dataclass(frozen=True, slots=True)
class Goal:
    """Difference that a study shall detect, its power, and the effort of a label.

    Attributes:
        difference: smallest difference to detect, in points of the score.
        most: largest possible difference, in points; 100 for a share in percent.
        power: probability to detect it, in (0, 1).
        level: nominal coverage of the interval of all pairs together, in (0, 1).
        minutes: working time of one label, or of one conversation.
        pay: pay of a worker for an hour; 0: unpaid.
    """

    difference: float
    most: float = 100.0
    power: float = 0.8
    level: float = 0.95
    minutes: float = 0.0
    pay: float = 0.0

    def __post_init__(self) -> None:
        if self.difference > self.most:
            raise ValueError(
                f"difference={self.difference:g} is more than the scale allows ({self.most:g} points)."
            )
        for name in ("minutes", "pay"):
            value = getattr(self, name)
            if not 0 <= value < math.inf:
                raise ValueError(f"{name}={value:g} must be 0 or more.")


@dataclass(frozen=True, slots=True)
class Effort:
    """Size of a study with its effort, and the smallest difference that it detects.

    Attributes:
        units: conversations or contexts of each system; pairs, if a label is a preference.
        labels: conversations or judgments of all systems together.
        workers: number of workers.
        hours: working time of all workers.
        cost: pay of all workers.
        power: probability to detect the wanted difference.
        detectable: smallest difference detected with the wanted power, in points; None if none is.
    """

    units: int
    labels: int
    workers: int
    hours: float
    cost: float
    power: float
    detectable: float | None


@dataclass(frozen=True, slots=True)
class StudyPlan:
    """Plan with its curve.

    Attributes:
        needed: smallest sufficient study.
        curve: smaller and larger studies, rising.
        alone: smallest sufficient study without the judge; None if there is no judge.
    """

    needed: Effort
    curve: Sequence[Effort]
    alone: Effort | None

    def to_json(self) -> dict[str, Any]:
        """Plan as a JSON object."""
        keys = Effort.__slots__
        needed, *curve = ({key: getattr(each, key) for key in keys} for each in (self.needed, *self.curve))
        alone = None if self.alone is None else {key: getattr(self.alone, key) for key in keys}
        return {"needed": needed, "curve": curve} | ({"without_the_judge": alone} if alone else {})


def study_plan(goal: Goal, components: Components, design: Design) -> StudyPlan:
    """Plan a study that detects a difference of every two systems.

    Args:
        goal: difference and power.
        components: variances of a label's effects, in squared points.
        design: what each worker does. With more than two systems the level is Bonferroni's over all pairs.

    Raises:
        ValueError: an argument out of range, or more than ten million units needed; says which.
    """
    level = _level(goal, design)
    units = _units(goal, components, design, level)
    sizes = sorted({max(2, round(units * step)) for step in _STEPS} | {units})
    alone = None
    if design.correlation and design.judged_only:
        people = replace(design, correlation=0.0, judged_only=0.0)
        alone = _effort(_units(goal, components, people, level), goal, components, people)
    return StudyPlan(
        _effort(units, goal, components, design),
        [_effort(size, goal, components, design) for size in sizes],
        alone,
    )


def _level(goal: Goal, design: Design) -> float:
    if not 0 < goal.level < 1:
        raise ValueError(f"level={goal.level:g} must lie between 0 and 1, such as 0.95.")
    return 1 - (1 - goal.level) / math.comb(design.systems, 2)


def _units(goal: Goal, components: Components, design: Design, level: float) -> int:
    return units_needed(goal.difference, components, design, power=goal.power, level=level)


def _effort(units: int, goal: Goal, components: Components, design: Design) -> Effort:
    """Effort of a study of this size; whole workers, so the last may have less to do."""
    level = _level(goal, design)
    smallest = smallest_difference(units, components, design, most=goal.most, power=goal.power, level=level)
    labels = units * design.per_context * design.groups
    hours = labels * goal.minutes / 60
    return Effort(
        units,
        labels,
        design.workers(units),
        hours,
        hours * goal.pay,
        power_at(units, goal.difference, components, design, level=level),
        None if isinstance(smallest, Undefined) else smallest,
    )
