"""Scores of bots together with their intervals: over conversations, over raters, or over both."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.random import Generator
from scipy import sparse
from scipy.special import ndtri, stdtrit

from evaluation.bootstrap import (
    LEVEL,
    RESAMPLES,
    SENSIBLENESS,
    SPECIFICITY,
    SSA,
    Ratio,
    cluster_interval,
    cluster_intervals,
    percentile,
)
from evaluation.interval import Interval, Method, Undefined
from evaluation.labels import FloatArray, IntArray, Labels
from evaluation.resampling import blocks, draw_counts
from evaluation.ssa import Score, Unit, dialogue_sums, ssa

SCORES = (SENSIBLENESS, SPECIFICITY, SSA)
Over: TypeAlias = Literal["conversations", "raters", "both"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """Scores of one bot with an interval for each; all in [0, 1]."""

    score: Score
    sensibleness: Interval | Undefined
    specificity: Interval | Undefined
    ssa: Interval | Undefined


def estimates(
    labels: Labels,
    rng: Generator,
    *,
    unit: Unit = Unit.LABEL,
    over: Over = "conversations",
    method: Method = "percentile",
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> dict[Hashable, Estimate]:
    """Scores of every bot with bootstrap intervals.

    Args:
        labels: labels of any number of bots.
        rng: seeded generator; the same seed and labels give the same intervals.
        unit: what counts once, see `ssa.Unit`.
        over: what the intervals generalise to. "conversations": other conversations with the same raters;
            "raters": other raters of the same conversations; "both": other conversations and raters
            (`two_way_interval`). The last two need `Unit.LABEL`.
        method: of the bootstrap over conversations or over raters, see `bootstrap.cluster_interval`.
        resamples: number of resamples.
        level: nominal coverage.

    Returns:
        Estimate by bot, in the order of their names.

    Raises:
        ValueError: `over` raters or both with a unit other than the label.
    """
    if over != "conversations" and unit is not Unit.LABEL:
        raise ValueError(f"Intervals over {over} resample single labels; use Unit.LABEL instead of {unit!r}.")
    sums, bots = dialogue_sums(labels, unit)
    answer: dict[Hashable, Estimate] = {}
    for code, (bot, score) in enumerate(ssa(labels, unit).items()):
        if over == "both":
            of_bot = labels.where(labels.bots[1] == code)
            intervals = [two_way_interval(of_bot, s, rng, resamples=resamples, level=level) for s in SCORES]
        else:
            of_rater = over == "raters"
            rows = rater_sums(labels.where(labels.bots[1] == code)) if of_rater else sums[bots == code]
            cluster = "rater" if of_rater else "conversation"
            intervals = cluster_intervals(
                rows, SCORES, rng, resamples=resamples, level=level, method=method, cluster=cluster
            )
        answer[bot] = Estimate(score, *intervals)
    return answer


def rater_sums(labels: Labels) -> FloatArray:
    """(raters, 3) sum of sensible, sum of specific and number of the labels that each rater gave."""
    names, codes = labels.raters
    return np.column_stack([np.bincount(codes, column, len(names)) for column in _label_columns(labels)])


def two_way_interval(
    labels: Labels, ratio: Ratio, rng: Generator, *, resamples: int = RESAMPLES, level: float = LEVEL
) -> Interval | Undefined:
    """Interval of a score that generalises to other conversations and other raters at once.

    Where conversations and raters are crossed, the shape comes from the pigeonhole bootstrap (Owen 2007) and
    the width from the two-way clustered variance V_conversations + V_raters - V_both (Cameron, Gelbach &
    Miller 2011, Journal of Business & Economic Statistics 29(2)), with Student's t for the smaller number of
    clusters: the bootstrap alone counts the noise of single labels three times. Where one is nested in the
    other, the coarser one contains all dependence and is resampled alone: raters if each conversation has one
    rater, conversations if each rater has one conversation.

    Args:
        labels: labels of one bot.
        ratio: one of `SENSIBLENESS`, `SPECIFICITY`, `SSA`.
        rng: seeded generator.
        resamples: number of resamples.
        level: nominal coverage.

    Returns:
        The interval; `Undefined` for fewer than two conversations or raters.
    """
    dialogues, raters = len(labels.dialogues[0]), len(labels.raters[0])
    if min(dialogues, raters) < 2:
        return Undefined(f"Conversations: {dialogues}, raters: {raters}; a two-way interval needs 2 of each.")
    pairs = len(np.unique(_pairs(labels)))
    if pairs == dialogues:
        return cluster_interval(rater_sums(labels), ratio, rng, resamples=resamples, level=level)
    if pairs == raters:
        return cluster_interval(dialogue_sums(labels)[0], ratio, rng, resamples=resamples, level=level)
    draws = pigeonhole_draws(labels, ratio, rng, resamples)
    raw = percentile(draws, level)
    if isinstance(raw, Undefined):
        return raw
    estimate = float(ratio(rater_sums(labels).sum(axis=0)[None])[0])
    t = float(stdtrit(min(dialogues, raters) - 1, (1 + level) / 2)) / float(ndtri((1 + level) / 2))
    scale = t * np.sqrt(two_way_variance(labels, ratio) / np.nanvar(draws))
    low, high = (float(estimate + scale * (end - estimate)) for end in (raw.low, raw.high))
    return Interval(low, high, level, "pigeonhole", raw.resamples)


def pigeonhole_draws(labels: Labels, ratio: Ratio, rng: Generator, resamples: int) -> FloatArray:
    """(r,) scores when conversations and raters are drawn with replacement, independently of each other.

    A label weighs how often its conversation was drawn times how often its rater was. Owen 2007: the
    variance of these draws is at least that of the score, and too large by up to twice the label noise.
    """
    once = [np.ones(len(names), np.int64) for names in (labels.dialogues[0], labels.raters[0])]
    tables = _crossed_tables(labels)
    sums = np.empty((resamples, 3))
    for start, stop in blocks(resamples, sum(map(len, once))):
        of_dialogue, of_rater = (draw_counts(one, stop - start, rng) for one in once)
        for q, table in enumerate(tables):
            sums[start:stop, q] = ((table.T @ of_dialogue.T).T * of_rater).sum(axis=1)
    return ratio(sums)


def two_way_variance(labels: Labels, ratio: Ratio) -> float:
    """Variance of a score of one bot with dependence within conversations and within raters.

    Never below either one-way variance, which the difference can fall short of in small samples.
    """
    columns = np.column_stack(_label_columns(labels))
    value = ratio(columns.sum(axis=0)[None])[0]
    residual = (columns @ np.asarray(ratio.weights) - value) / len(labels)
    by_dialogue = _clustered_variance(residual, labels.dialogues[1])
    by_rater = _clustered_variance(residual, labels.raters[1])
    by_pair = _clustered_variance(residual, np.unique(_pairs(labels), return_inverse=True)[1])
    return max(by_dialogue + by_rater - by_pair, by_dialogue, by_rater)


def _clustered_variance(residual: FloatArray, cluster: IntArray) -> float:
    sums = np.bincount(cluster, residual)
    return float((sums**2).sum() * len(sums) / (len(sums) - 1))


def _pairs(labels: Labels) -> IntArray:
    """(n,) one code for each conversation and rater."""
    return labels.dialogues[1] * len(labels.raters[0]) + labels.raters[1]


def _label_columns(labels: Labels) -> tuple[FloatArray, FloatArray, FloatArray]:
    ones = np.ones(len(labels))
    return labels.sensible.astype(np.float64), labels.specific.astype(np.float64), ones


def _crossed_tables(labels: Labels) -> list[sparse.csr_array]:
    """Three sparse tables (dialogues, raters): sums of sensible and specific, and numbers of labels."""
    shape = (len(labels.dialogues[0]), len(labels.raters[0]))
    where = (labels.dialogues[1], labels.raters[1])
    return [sparse.csr_array((column, where), shape=shape) for column in _label_columns(labels)]
