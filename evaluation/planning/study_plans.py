"""Plan of a study: items, workers, hours and money for the smallest difference that it detects."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from evaluation.planning.power import (
    Components,
    Design,
    power_at,
    smallest_difference,
    units_needed,
)
from evaluation.statistics.interval import Undefined

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
