"""Differences between bots by resampling: interval, permutation test, Holm's correction, and a sentence.

`paired` is the paired t test over raters who gave one score to each of two things; it needs no equal
variances and is exact for normal differences. Sources: Efron & Tibshirani 1993, chapter 16; Holm 1979,
Scandinavian Journal of Statistics 6(2); Student 1908, Biometrika 6(1).
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from evaluation.files.writing import percent
from evaluation.statistics.bootstrap import LEVEL, RESAMPLES, SSA, Ratio, percentile
from evaluation.statistics.inference import t, two_sided_p
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import FloatArray, IntArray, Labels
from evaluation.statistics.permutation import (
    Pair,
    common,
    pack,
    paired_permutation,
    permutation,
    score,
    value_and_size,
    weighted,
)
from evaluation.statistics.resampling import blocks, draw_counts, resampled_sums
from evaluation.statistics.ssa import Unit, dialogue_sums

PERMUTATIONS_PER_PAIR = 40
"""Permutations per pair. Holm multiplies the smallest p-value by the number of pairs; with 40 for each pair
the corrected value can still be as small as 1 / 40."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """Difference between two bots by resampling.

    Attributes:
        first: name of one bot.
        second: name of the other.
        difference: score of the first minus score of the second, in [-1, 1]; `Undefined` if they are paired
            and have no context in common.
        interval: interval of the difference, for this pair alone.
        p: two-sided p-value of the permutation test of "both bots are alike".
        p_holm: p-value after Holm's correction over all pairs compared together.
        paired: whether both were compared on the same contexts.
        clusters: conversations of the first and of the second; for paired bots, the common contexts twice.
    """

    first: Hashable
    second: Hashable
    difference: float | Undefined
    interval: Interval | Undefined
    p: float | Undefined
    p_holm: float | Undefined
    paired: bool
    clusters: tuple[int, int]

    def sentence(self) -> str:
        """State which bot leads by how many points, or that there is no clear difference; p decides."""
        if isinstance(self.interval, Undefined):
            return f"Whether {self.first} or {self.second} is ahead cannot be told: {self.interval.reason}"
        if isinstance(self.difference, Undefined):
            return f"Whether {self.first} or {self.second} is ahead cannot be told: {self.difference.reason}"
        leads = self.difference >= 0
        ahead, second = (self.first, self.second) if leads else (self.second, self.first)
        ends = (self.interval.low, self.interval.high) if leads else (-self.interval.high, -self.interval.low)
        low, high = (_points(end) for end in ends)
        interval = f"{percent(self.interval.level)} interval {low} to {high}"
        points = f"{_points(abs(self.difference))} points"
        if isinstance(self.p, float) and self.p >= 1 - self.interval.level:
            return f"{ahead} and {second} cannot be told apart: {points} apart, {interval}."
        sentence = f"{ahead} is ahead of {second} by {points}, {interval}"
        if isinstance(self.p_holm, float) and self.p_holm >= 1 - self.interval.level:
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
        paired: true if all bots answered the same contexts (static evaluation): only contexts that both have
            count, and pairs stay together. False: conversations of the two are independent.
        resamples: number of resamples and of permutations; with many pairs `PERMUTATIONS_PER_PAIR` each.
        level: nominal coverage of each interval.

    Returns:
        One comparison per pair, in the order of the names; none for fewer than two bots.
    """
    names = labels.bots[0].tolist()
    sums, bots = dialogue_sums(labels, unit)
    if not paired:
        of_bot = {name: sums[bots == code] for code, name in enumerate(names)}
        return compare_each(of_bot, rng, ratio=ratio, resamples=resamples, level=level)
    table = _by_context(labels, value_and_size(sums, ratio), bots)
    pairs = list(combinations(range(len(names)), 2))
    return _named(names, pairs, _paired(table, pairs, rng, resamples, level))


def compare_each(
    sums: Mapping[Hashable, FloatArray],
    rng: Generator,
    *,
    ratio: Ratio,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> list[Comparison]:
    """Compare every two bots, unpaired, by their sums per conversation; otherwise like `compare_all`.

    Args:
        sums: by bot, (k, m), one row per conversation.
        rng: seeded generator.
        ratio: which score the rows give.
        resamples: number of resamples, and of permutations.
        level: nominal coverage of each interval.

    Returns:
        One comparison per pair, in the order of the bots; none for fewer than two.
    """
    pairs = list(combinations(range(len(sums)), 2))
    columns = [value_and_size(rows, ratio) for rows in sums.values()]
    return _named(list(sums), pairs, _unpaired(columns, pairs, rng, resamples, level))


def _named(
    names: Sequence[Hashable], pairs: Sequence[Pair], tested: Sequence[Comparison]
) -> list[Comparison]:
    """Give the comparisons their bots' names and Holm's correction over all of them."""
    both = zip(pairs, tested, strict=True)
    return with_holm([replace(comparison, first=names[a], second=names[b]) for (a, b), comparison in both])


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
        paired: whether rows of the two bots belong together.
        resamples: number of resamples, and of permutations.
        level: nominal coverage.

    Returns:
        The comparison, with "first" and "second" for names and `p_holm` equal to `p`.
    """
    columns = [value_and_size(rows, ratio) for rows in (first, second)]
    if paired:
        return _paired(np.stack(columns, axis=1), [(0, 1)], rng, resamples, level)[0]
    return _unpaired(columns, [(0, 1)], rng, resamples, level)[0]


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values by Holm's step-down method, which controls the error rate over all tests together.

    Args:
        p_values: one per test, in [0, 1], in any order.

    Returns:
        Corrected p-values in the same order: at least the uncorrected one, at most 1.

    Source: Holm 1979, Scandinavian Journal of Statistics 6(2).
    """
    p = np.asarray(p_values, dtype=np.float64)
    order = np.argsort(p, kind="stable")
    steps = np.maximum.accumulate(p[order] * np.arange(len(p), 0, -1))
    corrected = np.empty(len(p))
    corrected[order] = np.minimum(steps, 1.0)
    adjusted: list[float] = corrected.tolist()
    return adjusted


def with_holm(comparisons: Sequence[Comparison]) -> list[Comparison]:
    """Set `p_holm` of the comparisons, corrected over all that have a p-value."""
    p_values = [c.p for c in comparisons if not isinstance(c.p, Undefined)]
    corrected = iter(holm(p_values))
    return [c if isinstance(c.p, Undefined) else replace(c, p_holm=next(corrected)) for c in comparisons]


def _unpaired(
    rows: Sequence[FloatArray], pairs: Sequence[Pair], rng: Generator, resamples: int, level: float
) -> list[Comparison]:
    """Compare bots by (k, 2) value and size of their conversations, with one resampling per bot."""
    enough = [pair for pair in pairs if min(len(rows[pair[0]]), len(rows[pair[1]])) >= 2]
    draws = [score(pack(resampled_sums(r, resamples, rng))) if len(r) >= 2 else None for r in rows]
    dealings = max(resamples, PERMUTATIONS_PER_PAIR * len(pairs))
    tested = permutation(rows, enough, rng, dealings).tolist() if enough else []
    p_values = dict(zip(enough, tested, strict=True))
    comparisons = []
    for a, b in pairs:
        gap = float(score(pack(rows[a]).sum()) - score(pack(rows[b]).sum()))
        of_a, of_b = draws[a], draws[b]
        interval = None if of_a is None or of_b is None else percentile(of_a - of_b, level)
        clusters = (len(rows[a]), len(rows[b]))
        comparisons.append(_comparison(gap, interval, p_values.get((a, b)), False, clusters))
    return comparisons


def _paired(
    table: FloatArray, pairs: Sequence[Pair], rng: Generator, resamples: int, level: float
) -> list[Comparison]:
    """Compare bots on the contexts that both have, with one resampling; table as in `paired_permutation`."""
    if not pairs:
        return []
    first, second = common(table, pairs)
    gaps = score(first.sum(axis=0)) - score(second.sum(axis=0))
    once = np.ones(len(table), np.int64)
    draws = np.empty((resamples, len(pairs)))
    for start, stop in blocks(resamples, len(table)):
        weights = draw_counts(once, stop - start, rng).astype(np.float64)
        draws[start:stop] = score(weighted(weights, first)) - score(weighted(weights, second))
    p_values = paired_permutation(table, pairs, rng, max(resamples, PERMUTATIONS_PER_PAIR * len(pairs)))
    contexts = np.count_nonzero(first.imag, axis=0).tolist()
    return [
        _comparison(
            float(gaps[i]),
            percentile(draws[:, i], level) if contexts[i] >= 2 else None,
            float(p_values[i]) if contexts[i] >= 2 else None,
            True,
            (contexts[i], contexts[i]),
        )
        for i in range(len(pairs))
    ]


def _comparison(
    gap: float, interval: Interval | Undefined | None, p: float | None, paired: bool, clusters: Pair
) -> Comparison:
    few = Undefined(f"{clusters[0]} and {clusters[1]} conversations; a comparison needs 2 of each bot.")
    known = few if p is None else p
    difference = few if math.isnan(gap) else gap
    return Comparison("first", "second", difference, interval or few, known, known, paired, clusters)


def _by_context(labels: Labels, columns: FloatArray, bots: IntArray) -> FloatArray:
    """(contexts, bots, 2) value and size of each cluster (bot, dialogue); 0 for a missing cluster."""
    context = np.zeros(len(bots), np.int64)
    context[labels.dialogues[1]] = labels.contexts[1]
    table = np.zeros((len(labels.contexts[0]), len(labels.bots[0]), 2))
    table[context, bots] = columns
    return table


def _points(share: float) -> str:
    return f"{round(100 * share, 1) + 0.0:.1f}"


@dataclass(frozen=True, slots=True)
class Paired:
    """Mean difference within raters, with its paired t test.

    Attributes:
        difference: mean of first minus second.
        interval: Student's t interval of the difference.
        p: two-sided p-value of "the mean is 0".
        raters: number of raters with both scores.
    """

    difference: float
    interval: Interval
    p: float
    raters: int


def paired(first: ArrayLike, second: ArrayLike, *, level: float) -> Paired | Undefined:
    """Paired t test of two scores of the same raters.

    Args:
        first: (n,) a score of each rater; NaN: none.
        second: (n,) the other score of the same raters.
        level: level of the interval.

    Returns:
        The difference; `Undefined` if fewer than two raters gave both scores, or all differ by the same.
    """
    gaps = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    defined = gaps[~np.isnan(gaps)]
    n = len(defined)
    if n < 2:
        return Undefined(f"Raters who judged both: {n}; a paired difference needs 2.")
    difference, error = float(defined.mean()), float(defined.std(ddof=1)) / n**0.5
    if error <= 1e-12 * max(1.0, abs(difference)):
        return Undefined(f"All {n} raters differ by the same, so nothing can be told from chance.")
    half = t(n - 1, level) * error
    interval = Interval(difference - half, difference + half, level, "t")
    return Paired(difference, interval, two_sided_p(difference, error, n - 1), n)
