"""Pairwise choices between bots: wins, losses, ties, and one strength per bot.

Sources: Bradley & Terry 1952, Biometrika 39; Davidson 1970, On Extending the Bradley-Terry Model to
Accommodate Ties, JASA 65 (329); Ford 1957, American Mathematical Monthly 64 (when an estimate exists).
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Literal, TypeAlias

import numpy as np
import scipy

from evaluation.statistics.bootstrap import LEVEL
from evaluation.statistics.inference import NOUNS, Nouns, Sample, generalises, mean, t
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import AnyArray, FloatArray, IntArray, LabelsError, coded
from evaluation.statistics.variance import Numbers, Over, spread, summed

Outcome: TypeAlias = Literal["first", "second", "tie"]
OUTCOMES: tuple[Outcome, ...] = ("first", "second", "tie")
_NEWTON_STEPS = 60
_LARGEST = 15.0  # log-odds that no study can estimate: the estimate runs to infinity


@dataclass(frozen=True, eq=False)
class Duels:
    """One row per judgment of two bots. Build it with `from_rows`.

    Attributes:
        bots: (b,) names in order.
        first: (n,) code of one bot.
        second: (n,) code of the other.
        outcome: (n,) 0 if the first is better, 1 if the second is, 2 for a tie.
        cluster: (n,) code of the item or its context, within which judgments may depend on each other.
        rater: (n,) code of the rater, which crosses the clusters; None: unknown, or the same as the cluster.
    """

    bots: AnyArray
    first: IntArray
    second: IntArray
    outcome: IntArray
    cluster: IntArray
    rater: IntArray | None = None

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[Hashable, Hashable, str, Hashable]]) -> "Duels":
        """Build duels from rows (first bot, second bot, "first" | "second" | "tie", cluster).

        Raises:
            LabelsError: an unknown outcome or a bot against itself; names the row.
        """
        table = list(rows)
        for index, (one, other, outcome, _) in enumerate(table):
            if outcome not in OUTCOMES:
                raise LabelsError(f"'{outcome}' is none of {', '.join(OUTCOMES)}.", "outcome", index)
            if one == other:
                raise LabelsError(f"'{one}' is compared with itself.", "second", index)
        bots, codes = coded(_column([row[0] for row in table] + [row[1] for row in table]))
        result = [OUTCOMES.index(row[2]) for row in table]
        _, cluster = coded(_column([row[3] for row in table]))
        first, second = codes[: len(table)], codes[len(table) :]
        return cls(bots, first, second, np.array(result, dtype=np.int64), cluster)

    def __len__(self) -> int:
        return len(self.outcome)

    @cached_property
    def pairs(self) -> list[tuple[int, int]]:
        """Codes (i, j), i < j, of the bots that met."""
        low, high = np.minimum(self.first, self.second), np.maximum(self.first, self.second)
        return sorted(set(zip(low.tolist(), high.tolist(), strict=True)))

    @cached_property
    def pair(self) -> IntArray:
        """(n,) index in `pairs` of the two bots that met."""
        low, high = np.minimum(self.first, self.second), np.maximum(self.first, self.second)
        number = {pair: index for index, pair in enumerate(self.pairs)}
        return np.fromiter(
            (number[p] for p in zip(low.tolist(), high.tolist(), strict=True)), np.int64, len(self)
        )

    @cached_property
    def result(self) -> IntArray:
        """(n,) outcome for the bot with the smaller code: 0 win, 1 loss, 2 tie."""
        swapped = (self.first > self.second) & (self.outcome < 2)
        return np.where(swapped, 1 - self.outcome, self.outcome)

    @cached_property
    def counts(self) -> FloatArray:
        """(p, 3) for each pair: wins of the bot with the smaller code, its losses, ties."""
        width = 3 * len(self.pairs)
        counted = np.bincount(3 * self.pair + self.result, minlength=width)
        return counted.reshape(-1, 3).astype(np.float64)

    @cached_property
    def estimated(self) -> "tuple[FloatArray, FloatArray] | Undefined":
        """(w,) most likely parameters and (w, n) influence of each judgment on them, or why there are none.

        First come the strengths of `bots`, and then the tie tendency, if there are ties.
        """
        reason = why_no_estimate(self)
        if reason:
            return reason
        design = log_odds_of_pairs(self.pairs, len(self.bots), with_ties=bool((self.outcome == 2).any()))
        estimate, information = fitted(self.counts[:, : design.shape[1]], design)
        if np.isnan(estimate).any():
            return Undefined(
                "There are too few judgments for each side, so a strength has no finite estimate."
            )
        return estimate, _influence(self, design, estimate, information)


@dataclass(frozen=True, slots=True)
class Record:
    """Results of one bot against another.

    Attributes:
        bot: name of the bot.
        opponent: name of the other.
        wins: number of judgments for the bot.
        losses: number of judgments for the opponent.
        ties: number of judgments for neither.
        win_share: wins / all, in [0, 1].
        loss_share: losses / all.
        tie_share: ties / all.
    """

    bot: Hashable
    opponent: Hashable
    wins: int
    losses: int
    ties: int
    win_share: Interval | Undefined
    loss_share: Interval | Undefined
    tie_share: Interval | Undefined


def records(duels: Duels, *, level: float = LEVEL) -> list[Record]:
    """Count wins, losses and ties of every two bots that met.

    Args:
        duels: judgments of pairs.
        level: coverage in (0, 1).

    Returns:
        A record per pair in the order of `duels.pairs`, with intervals of the shares over clusters and raters
        (`inference.mean`), or the reason why there is none.
    """
    of_bots = []
    for index, (i, j) in enumerate(duels.pairs):
        met = duels.pair == index
        shares, cluster = (duels.result[met, None] == np.arange(3)).astype(np.float64), duels.cluster[met]
        rater = None if duels.rater is None else duels.rater[met]
        wins, losses, ties = shares.sum(axis=0).astype(int).tolist()
        intervals = [_share(Sample(column, cluster, rater), level) for column in shares.T]
        of_bots.append(Record(duels.bots[i], duels.bots[j], wins, losses, ties, *intervals))
    return of_bots


def _share(sample: Sample, level: float) -> Interval | Undefined:
    estimate = mean(sample, level=level, nouns=Nouns(cluster="cluster of judgments", rater="rater"))
    return estimate if isinstance(estimate, Undefined) else estimate.interval


@dataclass(frozen=True, slots=True)
class Strengths:
    """Bradley-Terry strengths with ties after Davidson.

    A bot of strength s beats one of strength t with odds exp(s - t); ties have the odds
    exp(tie_tendency + (s + t) / 2) on the same scale.

    Attributes:
        strength: log-strength by bot; they sum to 0.
        intervals: by bot, the interval of its strength.
        tie_tendency: log of Davidson's tie parameter; `Undefined` if no judgment is a tie.
        over: what the intervals generalise to; None if there are none.
        numbers: numbers of clusters, raters, and pairs of both.
        level: nominal coverage of the intervals.
    """

    strength: dict[Hashable, float]
    intervals: dict[Hashable, Interval | Undefined]
    tie_tendency: float | Undefined
    over: Over | None
    numbers: Numbers
    level: float

    def beats(self, bot: Hashable, opponent: Hashable) -> float:
        """Probability in (0, 1) that `bot` is preferred to `opponent`, given that it is no tie.

        Raises:
            KeyError: one of them has no strength.
        """
        return float(1 / (1 + np.exp(self.strength[opponent] - self.strength[bot])))

    def describe_interval(self, nouns: Nouns = NOUNS) -> str:
        """State what the intervals generalise to."""
        return generalises(self.over, self.numbers, self.level, nouns)


def bradley_terry(duels: Duels, *, level: float = LEVEL) -> Strengths | Undefined:
    """Maximum-likelihood strengths of all bots, with Student's t intervals over what the judgments cross.

    Assumes one scale on which all bots stand; the error is that of the likelihood's linearisation at its
    maximum (White 1982, Econometrica 50(1)), with the variance over clusters, raters, or both
    (`evaluation.statistics.variance`). Resampling does not help here: resamples in which a bot always wins
    have no finite estimate.

    Args:
        duels: the judgments.
        level: nominal coverage.

    Returns:
        The strengths. `Undefined` if no judgment names a winner, or if a group of bots won, or lost, every
        time against the rest: their strength would be infinite.
    """
    found = duels.estimated
    if isinstance(found, Undefined):
        return found
    estimate, influence = found
    has_ties = len(estimate) > len(duels.bots)
    tie_tendency = float(estimate[-1]) if has_ties else Undefined("No judgment is a tie.")
    return strengths_from(duels, estimate, influence, tie_tendency, level)


def strength_differences(
    duels: Duels, *, level: float = LEVEL
) -> list[tuple[Hashable, Hashable, Interval | Undefined]]:
    """Intervals of the strength of each bot less that of each later one; empty without strengths.

    Args:
        duels: the judgments.
        level: nominal coverage of each interval.
    """
    found = duels.estimated
    if isinstance(found, Undefined):
        return []
    estimate, influence = found
    intervals = []
    for i, j in combinations(range(len(duels.bots)), 2):
        value, of_both = float(estimate[i] - estimate[j]), influence[i] - influence[j]
        interval, _over, _numbers = clustered_interval(duels, value, of_both, level)
        intervals.append((duels.bots[i], duels.bots[j], interval))
    return intervals


def strengths_from(
    duels: Duels, estimate: FloatArray, influence: FloatArray, tie_tendency: float | Undefined, level: float
) -> Strengths:
    """Strengths with the intervals that follow from influence values.

    Args:
        duels: the judgments.
        estimate: (w,) parameters; the first are the strengths of `duels.bots`.
        influence: (w, n) influence of each judgment on each parameter.
        tie_tendency: as in `Strengths`.
        level: nominal coverage.
    """
    names = duels.bots.tolist()
    found = [
        clustered_interval(duels, value, of_bot, level)
        for value, of_bot in zip(estimate[: len(names)].tolist(), influence, strict=False)
    ]
    _, over, numbers = found[0]
    return Strengths(
        strength=dict(zip(names, estimate[: len(names)].tolist(), strict=True)),
        intervals=dict(zip(names, [interval for interval, *_ in found], strict=True)),
        tie_tendency=tie_tendency,
        over=over,
        numbers=numbers,
        level=level,
    )


def clustered_interval(
    duels: Duels, value: float, influence: FloatArray, level: float
) -> tuple[Interval | Undefined, Over | None, Numbers]:
    """Student's t interval of a parameter over what the judgments cross, and what it generalises to."""
    sums = summed(influence, duels.cluster, duels.rater)
    variance = spread(sums)
    if variance is None:
        reason = "All judgments depend on each other (one rater or item); an interval needs 2."
        return Undefined(reason), None, sums.numbers
    half = t(variance.freedom, level) * float(np.sqrt(variance.variance))
    return Interval(value - half, value + half, level, "t"), variance.over, sums.numbers


def expected_strengths(expected: Mapping[tuple[str, str], Sequence[float]]) -> dict[str, float]:
    """Strengths that follow from expected counts: the truth that a simulated study should recover.

    Args:
        expected: by pair of bots, expected wins of the first, losses of the first, and ties; all positive.

    Returns:
        Log-strength by bot; they sum to 0. NaN for all if there is no finite estimate.
    """
    bots = sorted({bot for pair in expected for bot in pair})
    pairs = [(bots.index(one), bots.index(other)) for one, other in expected]
    design = log_odds_of_pairs(pairs, len(bots), with_ties=True)
    estimate, _ = fitted(np.array(list(expected.values()), dtype=np.float64), design)
    return dict(zip(bots, estimate[: len(bots)].tolist(), strict=True))


def _column(values: list[Hashable]) -> AnyArray:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def why_no_estimate(duels: Duels) -> Undefined | None:
    """The reason why no estimate exists; None if there is one.

    It exists if every bot reaches every other through pairs with "did not lose every time" (Ford 1957).
    """
    if not (duels.outcome < 2).any():
        return Undefined(f"None of the {len(duels)} judgments names a winner.")
    b = len(duels.bots)
    tie = duels.outcome == 2
    first_ahead, second_ahead = (duels.outcome == 0) | tie, (duels.outcome == 1) | tie
    reaches = np.zeros((b, b), dtype=bool)
    reaches[duels.first[first_ahead], duels.second[first_ahead]] = True
    reaches[duels.second[second_ahead], duels.first[second_ahead]] = True
    groups, member = scipy.sparse.csgraph.connected_components(reaches, directed=True, connection="strong")
    if groups == 1:
        return None
    names = ", ".join(map(str, duels.bots[member == member[0]].tolist()))
    return Undefined(
        f"Between {names} and the other bots all judgments go one way, or there are none, so the distance "
        f"between them has no finite estimate."
    )


def log_odds_of_pairs(pairs: Sequence[tuple[int, int]], b: int, *, with_ties: bool) -> FloatArray:
    """(p, o, w) log-odds of each outcome of each pair, as linear forms of the parameters.

    With ties there are o = 3 outcomes and w = b + 1 parameters (strengths, tie tendency); where no judgment
    is a tie, 2 outcomes and the strengths.
    """
    design = np.zeros((len(pairs), 3, b + 1))
    for index, (i, j) in enumerate(pairs):
        design[index, 0, i] = design[index, 1, j] = 1
        design[index, 2, [i, j]] = 0.5
        design[index, 2, b] = 1
    return design if with_ties else design[:, :2, :b]


def fitted(counts: FloatArray, design: FloatArray) -> tuple[FloatArray, FloatArray]:
    """(w,) maximum of the concave likelihood of counts (p, o), NaN without one; and (w, w) information."""
    width = design.shape[2]
    flat = design.reshape(-1, width)
    # Strengths are defined up to a constant; this term pins their sum at 0 without moving the optimum.
    is_strength = (design[:, 0] > 0).any(axis=0) | (design[:, 1] > 0).any(axis=0)
    pin = np.outer(is_strength, is_strength) + 1e-10 * np.eye(width)
    met = counts.sum(axis=1, keepdims=True)
    beta = np.zeros(width)
    for _ in range(_NEWTON_STEPS):
        expected = met * chances_of_outcomes(beta, design)
        gradient = (counts - expected).reshape(-1) @ flat - pin @ beta
        mean_design = np.einsum("po,pow->pw", expected, design)
        second_moment = flat.T @ (expected.reshape(-1, 1) * flat)
        information = second_moment - mean_design.T @ (mean_design / np.maximum(met, 1e-300)) + pin
        step = np.linalg.solve(information, gradient)
        beta = np.clip(beta + np.clip(step, -2, 2), -_LARGEST, _LARGEST)
        if np.abs(step).max() < 1e-9:
            break
    return (np.full(width, np.nan) if np.abs(beta).max() >= _LARGEST else beta), information


def chances_of_outcomes(beta: FloatArray, design: FloatArray) -> FloatArray:
    """(p, o) probability of each outcome of each pair."""
    odds = np.exp(design @ beta)
    chances: FloatArray = odds / odds.sum(axis=1, keepdims=True)
    return chances


def _influence(duels: Duels, design: FloatArray, estimate: FloatArray, information: FloatArray) -> FloatArray:
    """(w, n) influence of each judgment on each parameter: slope of the likelihood over its information."""
    outcomes = design.shape[1]
    observed = (duels.result[:, None] == np.arange(outcomes)).astype(np.float64)  # (n, o)
    surplus = observed - chances_of_outcomes(estimate, design)[duels.pair]
    slopes = np.einsum("no,now->nw", surplus, design[duels.pair])
    moves: FloatArray = np.linalg.solve(information, slopes.T)
    return moves
