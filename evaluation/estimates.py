"""Scores of bots together with their intervals: over conversations, over raters, or over both."""

from collections.abc import Hashable, Iterator
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.random import Generator
from scipy import sparse

from evaluation.bootstrap import (
    LEVEL,
    RESAMPLES,
    SENSIBLENESS,
    SPECIFICITY,
    SSA,
    Ratio,
    blocks,
    cluster_interval,
    draw_counts,
    percentile,
)
from evaluation.interval import Interval, Method, Undefined
from evaluation.labels import FloatArray, IntArray, Labels
from evaluation.ssa import Score, Unit, dialogue_sums, ssa

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
    settings = _Settings(resamples, level, method)
    answer: dict[Hashable, Estimate] = {}
    for code, (bot, score) in enumerate(ssa(labels, unit).items()):
        of_bot = labels.where(labels.bots[1] == code)
        answer[bot] = Estimate(score, *_intervals(of_bot, rng, unit, over, settings))
    return answer


def rater_sums(labels: Labels) -> FloatArray:
    """(raters, 3) sum of sensible, sum of specific and number of the labels that each rater gave."""
    names, codes = labels.raters
    return np.column_stack([np.bincount(codes, column, len(names)) for column in _label_columns(labels)])


def two_way_interval(
    labels: Labels, ratio: Ratio, rng: Generator, *, resamples: int = RESAMPLES, level: float = LEVEL
) -> Interval | Undefined:
    """Interval of a score that generalises to other conversations and other raters at once.

    Where conversations and raters are crossed this is the pigeonhole bootstrap (Owen 2007): conversations
    and raters are resampled independently, and a label weighs the product of both. It is slightly
    conservative. Where one is nested in the other, the coarser one contains all dependence and is resampled
    alone: raters if each conversation has one rater, conversations if each rater has one conversation.

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
    conversation, rater = labels.dialogues[1], labels.raters[1]
    pairs = len(np.unique(conversation * raters + rater))
    if pairs == dialogues:
        return cluster_interval(rater_sums(labels), ratio, rng, resamples=resamples, level=level)
    if pairs == raters:
        return cluster_interval(dialogue_sums(labels)[0], ratio, rng, resamples=resamples, level=level)
    tables = _crossed_tables(conversation, rater, labels)
    sums = np.empty((resamples, 3))
    once = [np.ones(count, np.int64) for count in (dialogues, raters)]
    for start, stop in blocks(resamples, dialogues + raters):
        of_dialogue, of_rater = (draw_counts(one, stop - start, rng) for one in once)
        for q, table in enumerate(tables):
            sums[start:stop, q] = ((table.T @ of_dialogue.T).T * of_rater).sum(axis=1)
    interval = percentile(ratio(sums), level)
    if isinstance(interval, Undefined):
        return interval
    return Interval(interval.low, interval.high, level, "pigeonhole", interval.resamples)


class _Settings(NamedTuple):
    """How to resample: number of resamples, nominal coverage, method."""

    resamples: int
    level: float
    method: Method


def _intervals(
    labels: Labels, rng: Generator, unit: Unit, over: Over, settings: _Settings
) -> Iterator[Interval | Undefined]:
    """Intervals of the three scores of one bot."""
    resamples, level, method = settings
    rows = rater_sums(labels) if over == "raters" else dialogue_sums(labels, unit)[0]
    cluster = "rater" if over == "raters" else "conversation"
    for ratio in (SENSIBLENESS, SPECIFICITY, SSA):
        if over == "both":
            yield two_way_interval(labels, ratio, rng, resamples=resamples, level=level)
        else:
            yield cluster_interval(
                rows, ratio, rng, resamples=resamples, level=level, method=method, cluster=cluster
            )


def _label_columns(labels: Labels) -> tuple[FloatArray, FloatArray, FloatArray]:
    ones = np.ones(len(labels))
    return labels.sensible.astype(np.float64), labels.specific.astype(np.float64), ones


def _crossed_tables(conversation: IntArray, rater: IntArray, labels: Labels) -> list[sparse.csr_array]:
    """Three sparse tables (dialogues, raters): sums of sensible and specific, and numbers of labels."""
    shape = (len(labels.dialogues[0]), len(labels.raters[0]))
    return [
        sparse.csr_array((column, (conversation, rater)), shape=shape) for column in _label_columns(labels)
    ]
