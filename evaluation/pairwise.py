"""Pairwise choices between bots: wins, losses, ties, and one strength per bot.

Sources: Bradley & Terry 1952, Biometrika 39; Davidson 1970, On Extending the Bradley-Terry Model to
Accommodate Ties, JASA 65 (329); Ford 1957, American Mathematical Monthly 64 (when an estimate exists).
"""

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np
from numpy.random import Generator
from scipy.sparse.csgraph import connected_components

from evaluation.bootstrap import LEVEL, RESAMPLES, Ratio, cluster_interval, percentile
from evaluation.interval import Interval, Undefined
from evaluation.labels import AnyArray, FloatArray, IntArray, LabelsError, coded
from evaluation.resampling import blocks, resampled_sums

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
        cluster: (n,) code of what judgments of which may depend on each other: the rater, or the item.
    """

    bots: AnyArray
    first: IntArray
    second: IntArray
    outcome: IntArray
    cluster: IntArray

    @classmethod
    def from_rows(cls, rows: Iterable[tuple[Hashable, Hashable, str, Hashable]]) -> "Duels":
        """Duels from rows (first bot, second bot, "first" | "second" | "tie", cluster).

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
    def rows(self) -> FloatArray:
        """(k, 3p) per cluster, for each of the p pairs: wins of i, wins of j, ties."""
        low, high = np.minimum(self.first, self.second), np.maximum(self.first, self.second)
        swapped = (self.first > self.second) & (self.outcome < 2)
        result = np.where(swapped, 1 - self.outcome, self.outcome)
        number = {pair: index for index, pair in enumerate(self.pairs)}
        pair = np.fromiter(
            (number[p] for p in zip(low.tolist(), high.tolist(), strict=True)), np.int64, len(self)
        )
        width = 3 * len(self.pairs)
        clusters = int(self.cluster.max(initial=-1)) + 1
        flat = np.bincount(self.cluster * width + 3 * pair + result, minlength=clusters * width)
        return flat.reshape(clusters, width).astype(np.float64)


@dataclass(frozen=True, slots=True)
class Record:
    """One bot against another.

    Attributes:
        bot: name of the bot.
        opponent: name of the other.
        wins: judgments for the bot.
        losses: judgments for the opponent.
        ties: judgments for neither.
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


def records(
    duels: Duels, rng: Generator, *, resamples: int = RESAMPLES, level: float = LEVEL
) -> list[Record]:
    """Wins, losses and ties of every two bots that met, with bootstrap intervals over clusters."""
    found = []
    for index, (i, j) in enumerate(duels.pairs):
        rows = duels.rows[:, 3 * index : 3 * index + 3]
        rows = rows[rows.any(axis=1)]
        rows = np.column_stack([rows, rows.sum(axis=1)])
        wins, losses, ties = rows[:, :3].sum(axis=0).astype(int).tolist()
        shares = [
            cluster_interval(
                rows,
                Ratio(tuple(np.eye(4)[q]), 3),
                rng,
                resamples=resamples,
                level=level,
                cluster="rater or item",
            )
            for q in range(3)
        ]
        found.append(Record(duels.bots[i], duels.bots[j], wins, losses, ties, *shares))
    return found


@dataclass(frozen=True, slots=True)
class Strengths:
    """Bradley-Terry strengths with ties after Davidson.

    A bot of strength s beats one of strength t with odds exp(s - t); ties have the odds
    exp(tie_tendency + (s + t) / 2) on the same scale.

    Attributes:
        strength: log-strength by bot; they sum to 0.
        intervals: of each.
        tie_tendency: log of Davidson's tie parameter; `Undefined` if no judgment is a tie.
    """

    strength: dict[Hashable, float]
    intervals: dict[Hashable, Interval | Undefined]
    tie_tendency: float | Undefined

    def beats(self, bot: Hashable, opponent: Hashable) -> float:
        """Probability in (0, 1) that `bot` is preferred to `opponent`, given that it is no tie."""
        return float(1 / (1 + np.exp(self.strength[opponent] - self.strength[bot])))


def bradley_terry(
    duels: Duels, rng: Generator, *, resamples: int = 2_000, level: float = LEVEL
) -> Strengths | Undefined:
    """Maximum-likelihood strengths of all bots, with bootstrap intervals over clusters.

    Assumes one scale on which all bots stand, and clusters that are independent.

    Args:
        duels: the judgments.
        rng: seeded generator.
        resamples: number of resamples, each fitted anew.
        level: nominal coverage.

    Returns:
        The strengths; `Undefined` if no judgment names a winner, or if some bots never won or tied against
        the rest, or never lost or tied: their strength would be infinite.
    """
    reason = _no_estimate(duels)
    if reason:
        return reason
    design = _design(duels)
    estimate = _fit(duels.rows.sum(axis=0)[None], design)[0]
    if np.isnan(estimate).any():
        return Undefined("There are too few judgments for each side, so a strength has no finite estimate.")
    names = duels.bots.tolist()
    tie_tendency = (
        float(estimate[-1]) if design.shape[1] == len(OUTCOMES) else Undefined("No judgment is a tie.")
    )
    strength = dict(zip(names, estimate[: len(names)].tolist(), strict=True))
    if len(duels.rows) < 2:
        alone = Undefined("All judgments depend on each other (one rater or item); an interval needs 2.")
        return Strengths(strength, dict.fromkeys(names, alone), tie_tendency)
    draws = _fit(resampled_sums(duels.rows, resamples, rng), design)
    intervals = {name: percentile(draws[:, b], level) for b, name in enumerate(names)}
    return Strengths(strength, intervals, tie_tendency)


def _column(values: list[Hashable]) -> AnyArray:
    column = np.empty(len(values), dtype=object)
    column[:] = values
    return column


def _no_estimate(duels: Duels) -> Undefined | None:
    """The estimate exists if every bot reaches every other along "did not lose every time" (Ford 1957)."""
    if not (duels.outcome < 2).any():
        return Undefined(f"None of the {len(duels)} judgments names a winner.")
    b = len(duels.bots)
    tie = duels.outcome == 2
    first_ahead, second_ahead = (duels.outcome == 0) | tie, (duels.outcome == 1) | tie
    reaches = np.zeros((b, b), dtype=bool)
    reaches[duels.first[first_ahead], duels.second[first_ahead]] = True
    reaches[duels.second[second_ahead], duels.first[second_ahead]] = True
    groups, member = connected_components(reaches, directed=True, connection="strong")
    if groups == 1:
        return None
    apart = ", ".join(map(str, duels.bots[member == member[0]].tolist()))
    return Undefined(
        f"Between {apart} and the other bots all judgments go one way, or there are none, so the distance "
        f"between them has no finite estimate."
    )


def _design(duels: Duels) -> FloatArray:
    """(p, o, w) log-odds of each outcome of each pair, as linear forms of the parameters.

    With ties there are o = 3 outcomes and w = b + 1 parameters (strengths, tie tendency); where no judgment
    is a tie, 2 outcomes and the strengths.
    """
    b = len(duels.bots)
    design = np.zeros((len(duels.pairs), 3, b + 1))
    for index, (i, j) in enumerate(duels.pairs):
        design[index, 0, i] = design[index, 1, j] = 1
        design[index, 2, [i, j]] = 0.5
        design[index, 2, b] = 1
    return design if (duels.outcome == 2).any() else design[:, :2, :b]


def _fit(counts: FloatArray, design: FloatArray) -> FloatArray:
    """(r, w) estimates for r data sets of counts (r, 3p); NaN where no finite estimate exists."""
    pairs, outcomes, width = design.shape
    table = counts.reshape(len(counts), pairs, 3)[:, :, :outcomes]
    found = [_newton(table[start:stop], design) for start, stop in blocks(len(table), pairs * width)]
    return np.concatenate(found)


def _newton(counts: FloatArray, design: FloatArray) -> FloatArray:
    """(r, w) Newton's method on the concave likelihood of counts (r, p, o), all data sets at once."""
    width = design.shape[2]
    flat = design.reshape(-1, width)
    squares = (flat[:, :, None] * flat[:, None, :]).reshape(len(flat), -1)
    # Strengths are defined up to a constant; this term pins their sum at 0 without moving the optimum.
    is_strength = (design[:, 0] > 0).any(axis=0) | (design[:, 1] > 0).any(axis=0)
    pin = np.outer(is_strength, is_strength) + 1e-10 * np.eye(width)
    met = counts.sum(axis=2, keepdims=True)
    beta = np.zeros((len(counts), width))
    for _ in range(_NEWTON_STEPS):
        odds = np.exp(np.einsum("rw,pow->rpo", beta, design))
        expected = met * odds / odds.sum(axis=2, keepdims=True)
        gradient = (counts - expected).reshape(len(beta), -1) @ flat - beta @ pin
        root = np.einsum("rpo,pow->rpw", expected, design) / np.sqrt(np.maximum(met, 1e-300))
        second_moment = (expected.reshape(len(beta), -1) @ squares).reshape(-1, width, width)
        information = second_moment - root.transpose(0, 2, 1) @ root + pin
        step = np.linalg.solve(information, gradient[:, :, None])[:, :, 0]
        beta = np.clip(beta + np.clip(step, -2, 2), -_LARGEST, _LARGEST)
        if np.abs(step).max() < 1e-9:
            break
    beta[np.abs(beta).max(axis=1) >= _LARGEST] = np.nan
    return beta
