"""What scores and agreement must come out as, where the chance of every single vote is known.

For studies whose votes were planted: the truth that a report's intervals are to hold. A unit (a response, a
turn) is given as the chances of its raters to say yes, and votes are taken as independent given these. What
raters of a unit have in common lies in the chances: a unit that makes sense has a high one for every rater
who pays attention.
"""

from collections.abc import Sequence
from typing import TypeAlias

from evaluation.interval import Undefined

Chances: TypeAlias = Sequence[float]
"""For each rater of a unit, the chance in [0, 1] that they answer yes."""


def expected_share(units: Sequence[Chances]) -> float | Undefined:
    """Expected share of yes among all votes, in [0, 1]: the mean of all chances."""
    votes = sum(map(len, units))
    return sum(map(sum, units)) / votes if votes else Undefined("Nobody voted.")


def expected_majority(units: Sequence[Chances]) -> float | Undefined:
    """Expected share of units of which strictly more than half of the raters say yes, in [0, 1].

    The number of yes votes of a unit is a sum of independent, differently distributed zeros and ones; its
    distribution is built up rater by rater (Poisson binomial; Wang 1993, Statistica Sinica 3(2)).
    """
    voted = [unit for unit in units if unit]
    return sum(map(_majority, voted)) / len(voted) if voted else Undefined("Nobody voted.")


def _majority(unit: Chances) -> float:
    yes = [1.0]  # by number of yes votes, its probability
    for chance in unit:
        grows = [0.0, *(chance * each for each in yes)]
        yes = [more + (1 - chance) * same for more, same in zip(grows, [*yes, 0.0], strict=True)]
    return sum(yes[len(unit) // 2 + 1 :])


def expected_alpha(units: Sequence[Chances]) -> float | Undefined:
    """Krippendorff's nominal alpha of yes-or-no votes from the expected disagreements, at most 1.

    With votes v, unit u having m(u) of the n votes, alpha is 1 - D_o / D_e with

        D_o = 1 / n · Σ_u Σ_{i≠j in u} [v_i ≠ v_j] / (m(u) - 1),
        D_e = 1 / (n (n - 1)) · Σ_{i≠j} [v_i ≠ v_j]         (Krippendorff 2011).

    Independent votes with chances p_i and p_j differ with probability p_i (1 - p_j) + p_j (1 - p_i). Summed
    over all ordered pairs i ≠ j of a group of m votes, with S = Σ p and Q = Σ p (1 - p), that is
    2 (S (m - S) - Q). So both expectations are closed sums,

        E D_o = 2 / n · Σ_u (S_u (m(u) - S_u) - Q_u) / (m(u) - 1),
        E D_e = 2 / (n (n - 1)) · (S (n - S) - Q),

    and the value returned is 1 - E D_o / E D_e. If all raters are alike, with the chance p_u at unit u, and
    units are many, it is Var(p_u) / (p̄ (1 - p̄)), p̄ = E p_u: the intraclass correlation of the votes. The
    expectation of alpha itself, a ratio, differs from this by a term of order 1 / n.

    Args:
        units: as of this module; units with one rater do not count, as in alpha.

    Returns:
        Alpha, or `Undefined`: no unit has two raters, or all votes that count are certain to be the same.
    """
    counted = [unit for unit in units if len(unit) > 1]
    if not counted:
        return Undefined("No unit was rated by two raters, so there is nothing to agree on.")
    votes = [chance for unit in counted for chance in unit]
    n = len(votes)
    observed = sum(_differing(unit) / (len(unit) - 1) for unit in counted) / n
    expected = _differing(votes) / (n * (n - 1))
    if expected == 0:
        return Undefined(f"All {n} ratings are the same, so agreement cannot be told from chance.")
    return 1 - observed / expected


def _differing(chances: Chances) -> float:
    """Expected number of ordered pairs of votes that differ, a vote not paired with itself."""
    yes = sum(chances)
    return 2 * (yes * (len(chances) - yes) - sum(chance * (1 - chance) for chance in chances))
