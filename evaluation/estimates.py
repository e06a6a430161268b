"""The three scores of bots as samples for `inference`, and with bootstrap intervals to check with."""

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
from numpy.random import Generator

from evaluation.bootstrap import (
    LEVEL,
    RESAMPLES,
    SENSIBLENESS,
    SPECIFICITY,
    SSA,
    cluster_intervals,
)
from evaluation.inference import Sample, samples
from evaluation.interval import Interval, Method, Undefined
from evaluation.labels import FloatArray, Labels
from evaluation.ssa import Score, Unit, dialogue_sums, item_values, ssa

SCORES = (SENSIBLENESS, SPECIFICITY, SSA)
Over: TypeAlias = Literal["conversations", "raters"]


def score_samples(labels: Labels, unit: Unit = Unit.LABEL) -> dict[str, dict[Hashable, Sample]]:
    """Samples for `inference.mean` and `differences`, by score (as `ssa.Score` names them) and bot.

    Args:
        labels: labels of any number of bots.
        unit: what counts once. A majority is nobody's label, so its intervals are for the same raters.
    """
    dialogue, item = labels.items
    votes = item_values(labels, unit if unit is Unit.MAJORITY else Unit.LABEL)
    columns = {"sensibleness": votes[:, 0], "specificity": votes[:, 1], "ssa": votes.mean(axis=1)}
    bot, context = labels.bots[1], labels.contexts[1]
    rater = weight = None
    if unit is Unit.MAJORITY:
        of_item = np.zeros(len(dialogue), np.int64)
        of_item[item] = np.arange(len(item))
        bot, context = bot[of_item], context[of_item]
    else:
        rater = labels.raters[1]
    if unit is Unit.ITEM_MEAN:
        weight = 1 / np.bincount(item)[item]
    names = labels.bots[0].tolist()
    found = {key: samples(bot, values, context, rater, weight) for key, values in columns.items()}
    return {key: {names[code]: one for code, one in of.items()} for key, of in found.items()}


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
        over: what is resampled. "conversations": generalises to other conversations with the same raters;
            "raters": to other raters of the same conversations; needs `Unit.LABEL`.
        method: of the bootstrap over conversations or over raters, see `bootstrap.cluster_interval`.
        resamples: number of resamples.
        level: nominal coverage.

    Returns:
        Estimate by bot, in the order of their names.

    Raises:
        ValueError: `over` raters with a unit other than the label.
    """
    if over != "conversations" and unit is not Unit.LABEL:
        raise ValueError(f"Intervals over {over} resample single labels; use Unit.LABEL instead of {unit!r}.")
    sums, bots = dialogue_sums(labels, unit)
    answer: dict[Hashable, Estimate] = {}
    for code, (bot, score) in enumerate(ssa(labels, unit).items()):
        of_rater = over == "raters"
        rows = rater_sums(labels.where(labels.bots[1] == code)) if of_rater else sums[bots == code]
        cluster = "rater" if of_rater else "conversation"
        intervals = cluster_intervals(
            rows, SCORES, rng, resamples=resamples, level=level, method=method, cluster=cluster
        )
        answer[bot] = Estimate(score, *intervals)
    return answer


def rater_sums(labels: Labels) -> FloatArray:
    """Sums of each rater's labels.

    Returns:
        (raters, 3) sum of sensible, sum of specific, number of labels; in the order of `labels.raters`.
    """
    names, codes = labels.raters
    columns = (labels.sensible, labels.specific, np.ones(len(labels)))
    return np.column_stack([np.bincount(codes, column, len(names)) for column in columns])
