"""Sensibleness and Specificity Average (SSA).

Source of the whole module: Adiwardana et al. 2020, Towards a Human-like Open-Domain Chatbot,
arXiv:2001.09977, section 2. Shares lie in [0, 1]; multiply by 100 for the percentages of the paper.

Gives the three scores as samples for `inference`, and with bootstrap intervals as a cross-check.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal, TypeAlias

import numpy as np
from numpy.random import Generator

from evaluation.statistics.bootstrap import (
    LEVEL,
    RESAMPLES,
    SENSIBLENESS,
    SPECIFICITY,
    SSA,
    cluster_intervals,
)
from evaluation.statistics.inference import Sample, samples
from evaluation.statistics.interval import Interval, Method, Undefined
from evaluation.statistics.labels import FloatArray, IntArray, Labels


class Unit(StrEnum):
    """Unit that counts once in a score; it matters if items have several raters."""

    LABEL = "label"
    """Every label counts once: an item with more raters weighs more."""
    ITEM_MEAN = "item mean"
    """Every item counts once, with the mean of its labels."""
    MAJORITY = "majority"
    """Every item counts once: true if strictly more than half of its raters say so; a tie is false."""


@dataclass(frozen=True, slots=True)
class Score:
    """Scores of one bot (or of one rater, or of one turn position), with the numbers behind them.

    Attributes:
        sensibleness: share of labels or items that are sensible, in [0, 1].
        specificity: share that are specific (and so sensible), in [0, 1], at most `sensibleness`.
        ssa: the simple average of the two.
        labels: number of labels.
        turns: number of items (distinct bot turns or static responses).
        dialogues: number of conversations or static contexts.
        raters: number of distinct raters.
    """

    sensibleness: float
    specificity: float
    ssa: float
    labels: int
    turns: int
    dialogues: int
    raters: int


def ssa(labels: Labels, unit: Unit = Unit.LABEL) -> dict[Hashable, Score]:
    """SSA per bot.

    Args:
        labels: labels of any number of bots. Unlabelled turns are absent, not false.
        unit: the unit that counts once; with one rater per item all three agree.

    Returns:
        Score by bot, in the order of their names; a bot without labels is absent.
    """
    names, codes = labels.bots
    return _scores(labels, codes, names.tolist(), unit)


def ssa_by_rater(labels: Labels) -> dict[Hashable, Score]:
    """SSA over the labels of each rater, for all bots together: shows strict and generous raters.

    Returns:
        By rater, shares in [0, 1].
    """
    names, codes = labels.raters
    return _scores(labels, codes, names.tolist(), Unit.LABEL)


def ssa_by_turn(labels: Labels, unit: Unit = Unit.LABEL) -> dict[Hashable, dict[int, Score]]:
    """SSA per bot at each turn position.

    Args:
        labels: labels of any number of bots.
        unit: as in `ssa`.

    Returns:
        By bot, then by position in rising order, shares in [0, 1].
    """
    return {bot: _by_position(labels.of_bot(bot), unit) for bot in labels.bots[0].tolist()}


def _by_position(labels: Labels, unit: Unit) -> dict[int, Score]:
    positions, codes = np.unique(labels.turn, return_inverse=True)
    scores = _scores(labels, codes.astype(np.int64), positions.tolist(), unit)
    return {int(position): scores[position] for position in positions.tolist()}


@dataclass(frozen=True, slots=True)
class Spread:
    """Mean and standard deviation (n - 1 in the denominator) of a score over repeated runs."""

    mean: float
    deviation: float | Undefined
    runs: int


@dataclass(frozen=True, slots=True)
class RunScore:
    """Spread of the three scores of one bot over repeated runs, as in the paper's "79 ± 1"."""

    sensibleness: Spread
    specificity: Spread
    ssa: Spread


def ssa_over_runs(runs: Sequence[Labels], unit: Unit = Unit.LABEL) -> dict[Hashable, RunScore]:
    """Mean and standard deviation of the scores over repeated runs with fresh samples.

    Args:
        runs: the labels of each run. A bot counts the runs in which it has labels.
        unit: as in `ssa`.

    Returns:
        Spread by bot; the deviation of a single run is `Undefined`.
    """
    by_run = [ssa(run, unit) for run in runs]
    bots = sorted({bot for scores in by_run for bot in scores}, key=str)
    return {bot: _run_score([scores[bot] for scores in by_run if bot in scores]) for bot in bots}


def spread(values: Sequence[float]) -> Spread:
    """Mean and standard deviation of at least one value.

    Raises:
        ValueError: no values.
    """
    if not values:
        raise ValueError("No runs were given, so there is neither a mean nor a deviation.")
    if len(values) == 1:
        deviation: float | Undefined = Undefined("One run only; a deviation needs at least two.")
    else:
        deviation = float(np.std(values, ddof=1))
    return Spread(float(np.mean(values)), deviation, len(values))


def _run_score(scores: Sequence[Score]) -> RunScore:
    return RunScore(
        sensibleness=spread([s.sensibleness for s in scores]),
        specificity=spread([s.specificity for s in scores]),
        ssa=spread([s.ssa for s in scores]),
    )


def item_values(labels: Labels, unit: Unit) -> FloatArray:
    """Contribution of each counting unit.

    Returns:
        (u, 2) sensible and specific, in [0, 1]: u labels for `Unit.LABEL`, else u items in the order of
        `labels.items`.
    """
    votes = np.column_stack([labels.sensible, labels.specific]).astype(np.float64)
    if unit is Unit.LABEL:
        return votes
    clusters, items = labels.items
    sums = np.column_stack([np.bincount(items, votes[:, q], len(clusters)) for q in (0, 1)])
    means = sums / np.bincount(items, minlength=len(clusters))[:, None]
    return means if unit is Unit.ITEM_MEAN else (means > 0.5).astype(np.float64)


def dialogue_sums(labels: Labels, unit: Unit = Unit.LABEL) -> tuple[FloatArray, IntArray]:
    """Sums per conversation, from which resamples of conversations give scores.

    Returns:
        (k, 3) sum of sensible, sum of specific, number of counting units, of each cluster (bot, dialogue);
        and (k,) the bot code of each cluster. Turn the sums over clusters into scores with `score_of_sums`.
    """
    bots, of_label = labels.dialogues
    cluster = of_label if unit is Unit.LABEL else labels.items[0]
    return _group_sums(item_values(labels, unit), cluster, len(bots)), bots


def score_of_sums(sums: FloatArray) -> FloatArray:
    """Scores from sums over clusters.

    Args:
        sums: (…, 3) as in `dialogue_sums`.

    Returns:
        (…, 3) sensibleness, specificity, SSA in [0, 1]; NaN where there are no units.
    """
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = sums[..., :2] / sums[..., 2:]
    return np.concatenate([shares, shares.mean(axis=-1, keepdims=True)], axis=-1)


def _group_sums(values: FloatArray, group: IntArray, groups: int) -> FloatArray:
    counts = np.bincount(group, minlength=groups).astype(np.float64)
    return np.column_stack([*(np.bincount(group, values[:, q], groups) for q in (0, 1)), counts])


def _scores(labels: Labels, group: IntArray, names: Sequence[Hashable], unit: Unit) -> dict[Hashable, Score]:
    """Scores of the labels in each group; unless the unit is a label, each item lies in one group."""
    clusters, item = labels.items
    group_of_item = np.zeros(len(clusters), np.int64)
    group_of_item[item] = group
    of_unit = group if unit is Unit.LABEL else group_of_item
    scores = score_of_sums(_group_sums(item_values(labels, unit), of_unit, len(names)))
    counts = zip(
        np.bincount(group, minlength=len(names)).tolist(),
        _distinct(group, item, len(names)),
        _distinct(group, labels.dialogues[1], len(names)),
        _distinct(group, labels.raters[1], len(names)),
        strict=True,
    )
    rows = zip(names, scores.tolist(), counts, strict=True)
    return {name: Score(sensible, specific, both, *c) for name, (sensible, specific, both), c in rows}


def _distinct(group: IntArray, value: IntArray, groups: int) -> list[int]:
    """Number of distinct values in each group."""
    if not value.size:
        return [0] * groups
    width = int(value.max()) + 1
    code = np.sort(group * width + value)
    is_new = np.concatenate([[True], code[1:] != code[:-1]])
    counts: list[int] = np.bincount(code[is_new] // width, minlength=groups).tolist()
    return counts


SCORES = (SENSIBLENESS, SPECIFICITY, SSA)
Over: TypeAlias = Literal["conversations", "raters"]


def score_samples(labels: Labels, unit: Unit = Unit.LABEL) -> dict[str, dict[Hashable, Sample]]:
    """Samples for `inference.mean` and `differences`, by score (named as in `Score`) and bot.

    Args:
        labels: labels of any number of bots.
        unit: as in `ssa`. A majority has no single rater, so its intervals are for the same raters.
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
    by_score = {key: samples(bot, values, context, rater, weight) for key, values in columns.items()}
    return {key: {names[code]: one for code, one in of.items()} for key, of in by_score.items()}


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
        unit: the unit that counts once.
        over: what to resample. "conversations": generalises to other conversations with the same raters;
            "raters": to other raters of the same conversations; needs `Unit.LABEL`.
        method: method of the bootstrap over conversations or over raters, see `bootstrap.cluster_interval`.
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
