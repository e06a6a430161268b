"""Differences between bots: interval, permutation test, correction over all pairs, and a sentence.

Sources: Efron & Tibshirani 1993, chapters 15 (permutation) and 16; Phipson & Smyth 2010, Statistical
Applications in Genetics and Molecular Biology 9(1) (p-values of random permutations are never zero);
Holm 1979, Scandinavian Journal of Statistics 6(2).
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.random import Generator

from evaluation.bootstrap import (
    LEVEL,
    RESAMPLES,
    SSA,
    Ratio,
    blocks,
    cluster_interval,
    distinct_rows,
    percentile,
    resampled_sums,
)
from evaluation.interval import Interval, Undefined
from evaluation.labels import FloatArray, Labels
from evaluation.ssa import Unit, dialogue_sums


@dataclass(frozen=True, slots=True)
class Comparison:
    """How far one bot is ahead of another.

    Attributes:
        first: name of one bot.
        second: name of the other.
        difference: score of the first minus score of the second, in [-1, 1].
        interval: of the difference, for this pair alone.
        p: two-sided p-value of the permutation test of "both bots are alike".
        p_holm: the same after Holm's correction over all pairs compared together.
        paired: whether both were compared on the same contexts.
        clusters: conversations of the first and of the second; for paired bots, the common contexts twice.
    """

    first: Hashable
    second: Hashable
    difference: float
    interval: Interval | Undefined
    p: float | Undefined
    p_holm: float | Undefined
    paired: bool
    clusters: tuple[int, int]

    def in_words(self) -> str:
        """One sentence: who is ahead by how many points, or that the two cannot be told apart."""
        if isinstance(self.interval, Undefined):
            return f"Whether {self.first} or {self.second} is ahead cannot be told: {self.interval.reason}"
        ahead, behind, sign = (
            (self.first, self.second, 1) if self.difference >= 0 else (self.second, self.first, -1)
        )
        low, high = sorted((sign * self.interval.low * 100, sign * self.interval.high * 100))
        interval = f"{self.interval.level:.0%} interval {_points(low)} to {_points(high)}".replace("%", " %")
        points = f"{_points(abs(self.difference) * 100)} points"
        if low <= 0 <= high:
            return f"{ahead} and {behind} cannot be told apart: {points} apart, {interval}."
        sentence = f"{ahead} is ahead of {behind} by {points}, {interval}"
        if isinstance(self.p_holm, float) and self.p_holm > 1 - self.interval.level:
            sentence += (
                f"; among all pairs compared this may be chance (Holm-corrected p = {self.p_holm:.2g})"
            )
        return sentence + "."


def compare_all(
    labels: Labels,
    rng: Generator,
    *,
    ratio: Ratio = SSA,
    unit: Unit = Unit.LABEL,
    paired: bool = False,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> list[Comparison]:
    """Compare every two bots, with Holm's correction over all these pairs.

    Args:
        labels: labels of all bots to compare.
        rng: seeded generator.
        ratio: which score: `SENSIBLENESS`, `SPECIFICITY` or `SSA` of `bootstrap`.
        unit: what counts once, see `ssa.Unit`.
        paired: true if all bots answered the same contexts (static evaluation): then only the contexts that
            both have count, and pairs stay together. False: conversations of the two are independent.
        resamples: number of resamples, and of permutations.
        level: nominal coverage of each interval.

    Returns:
        One comparison per pair, in the order of the names; none for fewer than two bots.
    """
    sums, bots = dialogue_sums(labels, unit)
    context = _context_of_clusters(labels)
    names = labels.bots[0].tolist()
    found = []
    for a, b in combinations(range(len(names)), 2):
        first, second = sums[bots == a], sums[bots == b]
        if paired:
            _, in_a, in_b = np.intersect1d(context[bots == a], context[bots == b], return_indices=True)
            first, second = first[in_a], second[in_b]
        compared = compare(first, second, rng, ratio=ratio, paired=paired, resamples=resamples, level=level)
        found.append(replace(compared, first=names[a], second=names[b]))
    return with_holm(found)


def compare(
    first: FloatArray,
    second: FloatArray,
    rng: Generator,
    *,
    ratio: Ratio = SSA,
    paired: bool = False,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> Comparison:
    """Compare two bots by their sums per conversation.

    Args:
        first: (k, m) rows of `ssa.dialogue_sums` of the first bot.
        second: (l, m) rows of the second; if paired, l = k and row i is about the same context.
        rng: seeded generator.
        ratio: which score.
        paired: whether rows belong together.
        resamples: number of resamples, and of permutations.
        level: nominal coverage.

    Returns:
        The comparison, with "first" and "second" for names and `p_holm` equal to `p`.
    """
    clusters = (len(first), len(second))
    if min(clusters) < 2:
        few = Undefined(f"{clusters[0]} and {clusters[1]} conversations; a comparison needs 2 of each bot.")
        gap = _difference(ratio, first.sum(axis=0)[None], second.sum(axis=0)[None])[0]
        return Comparison("first", "second", float(gap), few, few, few, paired, clusters)
    if paired:
        difference, interval = _paired_interval(first, second, ratio, rng, resamples, level)
        p = paired_permutation(first, second, ratio, rng, resamples)
    else:
        difference, interval = _unpaired_interval(first, second, ratio, rng, resamples, level)
        p = permutation(first, second, ratio, rng, resamples)
    return Comparison("first", "second", difference, interval, p, p, paired, clusters)


def permutation(
    first: FloatArray, second: FloatArray, ratio: Ratio, rng: Generator, permutations: int = RESAMPLES
) -> float:
    """Two-sided p-value: conversations (k, m) and (l, m) are dealt to the two bots at random.

    Assumes under the null hypothesis that conversations are exchangeable between the bots; a label-level
    test would ignore that turns of a conversation belong together.
    """
    both = np.vstack([first, second])
    rows, counts = distinct_rows(both)
    method: Literal["marginals", "count"] = "marginals" if len(rows) < len(both) else "count"
    total = both.sum(axis=0)
    dealt = np.empty((permutations, both.shape[1]))
    for start, stop in blocks(permutations, len(rows)):
        taken = rng.multivariate_hypergeometric(counts, len(first), size=stop - start, method=method)
        dealt[start:stop] = taken @ rows
    observed = _difference(ratio, first.sum(axis=0)[None], second.sum(axis=0)[None])[0]
    return _p_value(_difference(ratio, dealt, total - dealt), float(observed))


def paired_permutation(
    first: FloatArray, second: FloatArray, ratio: Ratio, rng: Generator, permutations: int = RESAMPLES
) -> float:
    """Two-sided p-value: in each context, a row of both (k, m), the bots are swapped with probability 1/2."""
    rows, counts = distinct_rows(first - second)
    sum_first, sum_second = first.sum(axis=0), second.sum(axis=0)
    gain = np.empty((permutations, first.shape[1]))
    for start, stop in blocks(permutations, len(rows)):
        gain[start:stop] = rng.binomial(counts, 0.5, size=(stop - start, len(rows))) @ rows
    observed = _difference(ratio, sum_first[None], sum_second[None])[0]
    return _p_value(_difference(ratio, sum_first - gain, sum_second + gain), float(observed))


def holm(p_values: Sequence[float]) -> list[float]:
    """Holm's step-down correction: p-values that hold the error rate over all tests together."""
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(steps, 1.0)
    adjusted: list[float] = corrected.tolist()
    return adjusted


def with_holm(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """The same comparisons with `p_holm` over all of them that have a p-value."""
    known = [c.p for c in comparisons if not isinstance(c.p, Undefined)]
    corrected = iter(holm(known))
    return [c if isinstance(c.p, Undefined) else replace(c, p_holm=next(corrected)) for c in comparisons]


def _context_of_clusters(labels: Labels) -> FloatArray:
    """(k,) code of the dialogue value of each cluster (bot, dialogue)."""
    context = np.zeros(len(labels.dialogues[0]))
    context[labels.dialogues[1]] = labels.contexts[1]
    return context


def _difference(ratio: Ratio, first: FloatArray, second: FloatArray) -> FloatArray:
    return ratio(first) - ratio(second)


def _paired_interval(
    first: FloatArray, second: FloatArray, ratio: Ratio, rng: Generator, resamples: int, level: float
) -> tuple[float, Interval | Undefined]:
    m = first.shape[1]
    rows = np.hstack([first, second])

    def difference(sums: FloatArray) -> FloatArray:
        return _difference(ratio, sums[:, :m], sums[:, m:])

    interval = cluster_interval(rows, difference, rng, resamples=resamples, level=level, cluster="context")
    return float(difference(rows.sum(axis=0)[None])[0]), interval


def _unpaired_interval(
    first: FloatArray, second: FloatArray, ratio: Ratio, rng: Generator, resamples: int, level: float
) -> tuple[float, Interval | Undefined]:
    draws = [resampled_sums(rows, resamples, rng) for rows in (first, second)]
    estimate = _difference(ratio, first.sum(axis=0)[None], second.sum(axis=0)[None])[0]
    return float(estimate), percentile(_difference(ratio, *draws), level)


def _p_value(permuted: FloatArray, observed: float) -> float:
    # Sums in another order differ in the last bits; equal differences must count as equal.
    extreme = np.abs(permuted) >= abs(observed) - 1e-12
    return float((1 + extreme.sum()) / (1 + len(permuted)))


def _points(value: float) -> str:
    return f"{round(value, 1) + 0.0:.1f}"
