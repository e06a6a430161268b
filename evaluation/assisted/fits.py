"""An assisted estimate of means for one λ, with its variance."""

import math
from dataclasses import dataclass, replace

import numpy as np

from evaluation.assisted.influence import independent, spread_by_sources, spread_of, variance_over_items
from evaluation.assisted.intervals import IntervalRule
from evaluation.assisted.parts import Parts
from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.inference import t, z
from evaluation.statistics.labels import FloatArray
from evaluation.statistics.variance import Numbers, Spread


@dataclass(frozen=True, slots=True)
class Fit:
    """An estimate with its variance, for one λ.

    Attributes:
        value: the estimate, in the unit of the labels.
        spread: its variance, with degrees of freedom and population.
        half: half the length of Student's t interval.
        over_items: variance over conversations or contexts.
    """

    value: float
    spread: Spread
    half: float
    over_items: float


def fit_of(
    parts: Parts, numbers: Numbers, level: float, power: FloatArray, of_rows: FloatArray,
    rule: IntervalRule, most: float = math.inf,
) -> Fit | None:  # fmt: skip
    """Compute the estimate with this λ.

    Args:
        parts: the weighted means of the estimate.
        numbers: numbers of clusters, raters and pairs among people's labels.
        level: coverage of `half`, in (0, 1).
        power: (g,) λ of each part of people.
        of_rows: (m, g) λ for the residual of each row.
        rule: how variances are combined.
        most: with `WALD`, largest degrees of freedom.

    Returns:
        The estimate; None if it has no spread.
    """
    influence = parts.influence(power, of_rows)
    found = _spread(parts, influence, numbers, rule)
    if found is None or found.freedom <= 0:
        return None
    if rule is IntervalRule.WALD:
        found = replace(found, freedom=min(found.freedom, most))
    found = replace(found, variance=found.variance + _hidden(parts, influence, numbers, found, rule))
    half = t(found.freedom, level) * math.sqrt(found.variance)
    return Fit(parts.value(power), found, half, variance_over_items(parts.rows, influence, numbers))


def _spread(parts: Parts, influence: FloatArray, numbers: Numbers, rule: IntervalRule) -> Spread | None:
    if rule is IntervalRule.WALD:
        return spread_of(parts.rows, influence, numbers)
    return spread_by_sources(parts.rows, influence, numbers, parts.rows.part < len(parts.coefficient))


def _hidden(
    parts: Parts, influence: FloatArray, numbers: Numbers, whole: Spread, rule: IntervalRule
) -> float:
    """Variance that the sums of a system's labels hide, since a few clusters can agree by luck.

    It raises the variance of each system to what gives half the interval length of independent labels, as in
    `variance_of_score`.
    """
    hidden = 0.0
    systems = np.unique(parts.system)
    for system in systems:
        of_system = np.where(parts.system == system, influence, 0.0)
        found = whole if len(systems) == 1 else _spread(parts, of_system, numbers, rule)
        if found is None or found.freedom <= 0:
            continue
        ratio = z(LEVEL) / t(found.freedom, LEVEL) / 2
        hidden += max(0.0, independent(parts.rows, of_system) * ratio**2 - found.variance)
    return hidden
