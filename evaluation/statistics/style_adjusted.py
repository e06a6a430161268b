"""Bradley-Terry strengths adjusted for the style of what was compared: its length, and its Markdown.

Source: Li, Angelopoulos & Chiang 2024, "Does style matter? Disentangling style and substance in Chatbot
Arena", lmsys.org/blog/2024-08-28-style-control. Two things differ from it: ties are Davidson's (1970) instead
of half a win, and differences are divided by their spread around 0 instead of around their mean, so that the
result does not depend on which side of a pair is named first.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import BoolArray, FloatArray, IntArray
from evaluation.statistics.pairwise import (
    Duels,
    Strengths,
    clustered_interval,
    strengths_from,
    why_no_estimate,
)

FEWEST_FOR_EACH = 10
"""Fewest judgments that name a winner for each parameter (Peduzzi et al. 1996, J. Clin. Epidemiol. 49)."""
_NEWTON_STEPS = 60
_LARGEST = 15.0
_SMALLEST_RESIDUAL = 1e-6


@dataclass(frozen=True, slots=True)
class StyleEffect:
    """Influence of one element of style on judgments.

    Attributes:
        element: its name.
        typical: root mean square of (a - b) / (a + b + 1), in (0, 1): the usual difference of two sides.
        coefficient: change of the log-odds of being preferred, if a side has this much more than the other.
        interval: of the coefficient.
    """

    element: str
    typical: float
    coefficient: float
    interval: Interval | Undefined

    @property
    def typical_ratio(self) -> float:
        """Ratio above 1 of the larger to the smaller side at the usual difference, for large counts."""
        return (1 + self.typical) / (1 - self.typical)

    @property
    def share(self) -> float:
        """Share, in (0, 1), of choices for the side that has more, between systems of equal strength."""
        return _share(self.coefficient)

    @property
    def share_interval(self) -> Interval | Undefined:
        """Interval of `share`."""
        if isinstance(self.interval, Undefined):
            return self.interval
        return replace(self.interval, low=_share(self.interval.low), high=_share(self.interval.high))


@dataclass(frozen=True, slots=True)
class StyleAdjusted:
    """Strengths of systems if all wrote in the same style, and the effect of style.

    Attributes:
        strengths: adjusted Bradley-Terry strengths.
        effects: one for each element in which sides differ.
        equal: elements in which the two sides of no judgment differ; they have no effect to estimate.
    """

    strengths: Strengths
    effects: list[StyleEffect]
    equal: list[str]


def style_adjusted(
    duels: Duels,
    first: IntArray | FloatArray,
    second: IntArray | FloatArray,
    elements: Sequence[str],
    *,
    level: float = LEVEL,
) -> StyleAdjusted | Undefined:
    """Estimate strengths and effects of style together, by maximum likelihood.

    A side of strength s is preferred to one of strength t with odds exp(s - t + β·z), where z has for each
    element the difference (a - b) / (a + b + 1) in units of its root mean square over all judgments. Ties
    have Davidson's odds: they do not depend on which side has more style. Assumes that style changes
    judgments in the same way for all systems and raters. Intervals are those of `bradley_terry`.

    Args:
        duels: (n) the judgments.
        first: (n, k) amount of each element on the first side, not negative.
        second: (n, k) of the second side.
        elements: (k,) names of the elements.
        level: nominal coverage.

    Returns:
        Strengths and effects. `Undefined` if the strengths have no finite estimate without style, if there
        are too few judgments, or if style cannot be told apart from the systems.

    Raises:
        ValueError: the shapes do not fit, or an amount is negative or not finite.
    """
    _check(duels, first, second, elements)
    if reason := why_no_estimate(duels):
        return reason
    differs, typical, z = _differences(first, second)
    if not differs.any():
        return Undefined(
            "In every judgment both sides have the same style, so there is nothing to adjust for."
        )
    if reason := _why_unidentified(duels, z):
        return reason
    design = np.hstack([_bots(duels), z])
    found = _newton(design, len(duels.bots), duels.outcome)
    if found is None:
        return Undefined("Style and systems predict the judgments without error, so no effect is finite.")
    estimate, tie, influence = found
    strengths = strengths_from(duels, estimate, influence, tie, level)
    names = [name for name, is_used in zip(elements, differs, strict=True) if is_used]
    b = len(duels.bots)
    effects = [
        StyleEffect(name, usual, float(value), clustered_interval(duels, float(value), of_element, level)[0])
        for name, usual, value, of_element in zip(
            names, typical.tolist(), estimate[b : b + len(names)], influence[b:], strict=False
        )
    ]
    return StyleAdjusted(strengths, effects, [name for name in elements if name not in names])


def _share(log_odds: float) -> float:
    return float(1 / (1 + np.exp(-log_odds)))


def _check(
    duels: Duels, first: IntArray | FloatArray, second: IntArray | FloatArray, elements: Sequence[str]
) -> None:
    shape = (len(duels), len(elements))
    for side, amounts in (("first", first), ("second", second)):
        if amounts.shape != shape:
            raise ValueError(f"{side} has the shape {amounts.shape}; {shape} is needed.")
        if not (np.isfinite(amounts) & (amounts >= 0)).all():
            raise ValueError(f"{side} has a negative amount of style, or one that is not finite.")


def _differences(
    first: IntArray | FloatArray, second: IntArray | FloatArray
) -> tuple[BoolArray, FloatArray, FloatArray]:
    """Which elements differ in some judgment, their usual difference, and the (n, k) scaled differences."""
    relative = (first - second) / (first + second + 1)
    typical = np.sqrt((relative**2).mean(axis=0))
    differs: BoolArray = typical > 0
    return differs, typical[differs], relative[:, differs] / typical[differs]


def _bots(duels: Duels) -> FloatArray:
    """(n, b) 1 for the first bot of each judgment, and -1 for the second."""
    rows, columns = np.arange(len(duels)), np.zeros((len(duels), len(duels.bots)))
    columns[rows, duels.first], columns[rows, duels.second] = 1, -1
    return columns


def _why_unidentified(duels: Duels, z: FloatArray) -> Undefined | None:
    """Reason why style has no estimate beside the strengths; None if it has one."""
    parameters, decided = len(duels.bots) - 1 + z.shape[1], int((duels.outcome < 2).sum())
    if decided < FEWEST_FOR_EACH * parameters:
        return Undefined(
            f"Strengths adjusted for style need {FEWEST_FOR_EACH * parameters:,} judgments that name a "
            f"winner, and there are {decided:,}."
        )
    bots = _bots(duels)
    residual = z - bots @ np.linalg.lstsq(bots, z, rcond=None)[0]
    if np.linalg.svd(residual, compute_uv=False)[-1] > _SMALLEST_RESIDUAL * np.sqrt(len(z)):
        return None
    return Undefined(
        "Style follows from the systems alone, or one of its elements from the others, so their effects "
        "cannot be told apart."
    )


def _newton(
    design: FloatArray, b: int, outcome: IntArray
) -> tuple[FloatArray, float | Undefined, FloatArray] | None:
    """Maximum of the concave likelihood: (w,) parameters, tie tendency, (w, n) influence; None without one.

    With d = s - t + β·z, the outcomes have log-odds d / 2, -d / 2 and, for a tie, its tendency.
    """
    has_ties = bool((outcome == 2).any())
    w = design.shape[1]
    theta = np.zeros(w + has_ties)
    # Strengths are defined up to a constant; this term pins their sum at 0 without moving the optimum.
    pin = np.zeros((len(theta), len(theta)))
    pin[:b, :b] = 1
    observed = (outcome[:, None] == np.arange(3)).astype(np.float64)
    for _ in range(_NEWTON_STEPS):
        slopes, information = _slopes(design, theta, observed)
        step = np.linalg.solve(information + pin, slopes.sum(axis=0) - pin @ theta)
        theta = np.clip(theta + np.clip(step, -2, 2), -_LARGEST, _LARGEST)
        if np.abs(step).max() < 1e-9:
            break
    if np.abs(theta).max() >= _LARGEST:
        return None
    slopes, information = _slopes(design, theta, observed)
    tie = float(theta[-1]) if has_ties else Undefined("No judgment is a tie.")
    influence = np.linalg.solve(information + pin, slopes.T).astype(np.float64)
    return theta[:w], tie, influence


def _slopes(design: FloatArray, theta: FloatArray, observed: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(n, w) slope of each judgment's log-likelihood, and the (w, w) information of all."""
    w = design.shape[1]
    lead = design @ theta[:w]
    logits = np.stack(
        [lead / 2, -lead / 2, np.full_like(lead, theta[w] if len(theta) > w else -np.inf)], axis=1
    )
    odds = np.exp(logits - logits.max(axis=1, keepdims=True))
    first, second, tie = (odds / odds.sum(axis=1, keepdims=True)).T
    ahead = first - second
    slopes = design * ((observed[:, 0] - observed[:, 1] - ahead) / 2)[:, None]
    information = design.T @ (((first + second - ahead**2) / 4)[:, None] * design)
    if len(theta) == w:
        return slopes, information
    mixed = design.T @ (-ahead * tie / 2)
    whole = np.block([[information, mixed[:, None]], [mixed[None, :], np.array([[(tie * (1 - tie)).sum()]])]])
    return np.hstack([slopes, (observed[:, 2] - tie)[:, None]]), whole
