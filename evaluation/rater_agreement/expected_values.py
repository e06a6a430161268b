"""Expected scores and agreement if the probability of every single vote is known.

They are the truth of simulated studies, which a report's intervals should contain. A unit (a response, a
turn) is given as the probabilities that its raters say yes; given these, votes are independent. Properties of
the unit are part of the probabilities: a unit that makes sense has a high one for every attentive rater.
"""

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np

from evaluation.rater_agreement.coefficients import Metric
from evaluation.statistics.interval import Undefined
from evaluation.statistics.labels import FloatArray

Chances: TypeAlias = Sequence[float]
"""For each rater of a unit, the probability that they answer yes."""


def expected_share(units: Sequence[Chances]) -> float | Undefined:
    """Expected share of yes among all votes: the mean of all chances, or of other expectations.

    Args:
        units: for each unit, the probability of each of its raters.

    Returns:
        A share in [0, 1]; `Undefined` if nobody voted.
    """
    votes = sum(map(len, units))
    return sum(map(sum, units)) / votes if votes else Undefined("Nobody voted.")


def expected_majority(units: Sequence[Chances]) -> float | Undefined:
    """Expected share of units for which strictly more than half of the raters say yes.

    The number of yes votes of a unit is a sum of independent, differently distributed zeros and ones; its
    distribution is computed rater by rater (Poisson binomial; Wang 1993, Statistica Sinica 3(2)).

    Args:
        units: for each unit, the probability of each of its raters; units without raters do not count.

    Returns:
        A share in [0, 1]; `Undefined` if nobody voted.
    """
    voted = [unit for unit in units if unit]
    return sum(map(_majority, voted)) / len(voted) if voted else Undefined("Nobody voted.")


def _majority(unit: Chances) -> float:
    yes = [1.0]  # probability by number of yes votes
    for chance in unit:
        grows = [0.0, *(chance * each for each in yes)]
        yes = [more + (1 - chance) * same for more, same in zip(grows, [*yes, 0.0], strict=True)]
    return sum(yes[len(unit) // 2 + 1 :])


def expected_alpha(units: Sequence[Chances]) -> float | Undefined:
    """Expected nominal alpha of yes-or-no votes; otherwise like `expected_alpha_of_answers`."""
    return expected_alpha_of_answers([[(chance, 1 - chance) for chance in unit] for unit in units])


Distribution: TypeAlias = Sequence[float]
"""Probability of each answer of one rater of a unit; the probabilities sum to 1."""


def expected_alpha_of_answers(
    units: Sequence[Sequence[Distribution]],
    metric: Metric = Metric.NOMINAL,
    values: Sequence[float] | None = None,
) -> float | Undefined:
    """Krippendorff's alpha from the expected disagreements of answers; at most 1.

    With answers v, unit u having m(u) of the n answers and d the distance of two answers, alpha is
    1 - D_o / D_e with

        D_o = 1 / n · Σ_u Σ_{i≠j in u} d(v_i, v_j) / (m(u) - 1),
        D_e = 1 / (n (n - 1)) · Σ_{i≠j} d(v_i, v_j)         (Krippendorff 2011).

    The mean distance of independent answers with the distributions p_i and p_j is p_i' d p_j. Summed over all
    ordered pairs i ≠ j of a group, with S = Σ p_i, that is S' d S - Σ p_i' d p_i. So both expectations are
    closed sums, and the returned value is 1 - E D_o / E D_e. For yes or no, equal raters with the probability
    p_u at unit u, and many units, it is Var(p_u) / (p̄ (1 - p̄)), p̄ = E p_u: the intraclass correlation of
    the votes. The expectation of alpha itself, a ratio, differs from this by a term of order 1 / n; so does
    the ordinal distance, which uses the expected numbers of the answers.

    Args:
        units: for each unit, the distribution of each of its raters; units with one rater do not count.
        metric: distance of two answers, other than ratio.
        values: for an interval distance, the answers as numbers, in the order of the distributions.

    Returns:
        Alpha, or `Undefined`: no unit has two raters, or all answers are certain to be the same.
    """
    counted = [np.asarray(unit, dtype=np.float64) for unit in units if len(unit) > 1]
    if not counted:
        return Undefined("No unit was rated by two raters, so there is nothing to agree on.")
    every = np.concatenate(counted)
    n = len(every)
    distances = _distances(metric, every.sum(axis=0), values)
    observed = sum(_differing(unit, distances) / (len(unit) - 1) for unit in counted) / n
    expected = _differing(every, distances) / (n * (n - 1))
    if expected <= 0:
        return Undefined(f"All {n} ratings are the same, so agreement cannot be told from chance.")
    return 1 - observed / expected


def _differing(answers: FloatArray, distances: FloatArray) -> float:
    """Expected distance summed over ordered pairs of different rows of (m, c) answer distributions."""
    total = answers.sum(axis=0)
    return float(total @ distances @ total - np.einsum("ic,cd,id->", answers, distances, answers))


def _distances(metric: Metric, numbers: FloatArray, values: Sequence[float] | None) -> FloatArray:
    """(c, c) distances of answers with the frequencies `numbers` (c,)."""
    if metric is Metric.NOMINAL:
        return np.asarray(1 - np.eye(len(numbers)), dtype=np.float64)
    position = (
        np.cumsum(numbers) - numbers / 2 if metric is Metric.ORDINAL else np.asarray(values, np.float64)
    )
    return np.asarray((position[:, None] - position[None, :]) ** 2, dtype=np.float64)
