"""Effects of raters on scores: influence of each rater, and chatters compared with independent readers."""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from evaluation.rater_agreement.kappa import Kappa, cohen_kappa, kappa_interval
from evaluation.statistics.bootstrap import LEVEL, RESAMPLES
from evaluation.statistics.differences import Difference, difference
from evaluation.statistics.inference import Sample, samples
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import BoolArray, FloatArray, IntArray, Labels, coded
from evaluation.statistics.ssa import Unit, item_values, score_of_sums


@dataclass(frozen=True, slots=True)
class Influence:
    """Influence of one rater on the score of one bot.

    Attributes:
        rater: the rater.
        bot: the bot.
        labels: number of labels that the rater gave to the bot.
        without: SSA of the bot without these labels, in [0, 1]; `Undefined` if no labels remain.
        shift: SSA with all labels minus SSA without this rater's: positive if the rater raises the score.
    """

    rater: Hashable
    bot: Hashable
    labels: int
    without: float | Undefined
    shift: float | Undefined


def influence(labels: Labels, unit: Unit = Unit.LABEL, *, largest: int | None = None) -> list[Influence]:
    """Compute how far each rater moves the SSA of each bot (leave one rater out).

    Exact for every unit, without recomputing the study once per rater: removing a rater changes only the
    items that they labelled.

    Args:
        labels: labels of any number of bots.
        unit: what counts once, see `ssa.Unit`.
        largest: maximum number of entries with a number; None for all.

    Returns:
        One entry per rater and bot with labels in common, largest shift in either direction first; then all
        entries without a number.
    """
    (bots, bot), (raters, rater) = labels.bots, labels.raters
    pairs, pair = coded(rater * max(len(bots), 1) + bot)
    rater_of, bot_of = np.divmod(pairs, max(len(bots), 1))
    counts = np.bincount(pair, minlength=len(pairs))
    gone = np.column_stack([np.bincount(pair, column, len(pairs)) for column in _lost(labels, unit).T])
    everything = _bot_sums(labels, unit)[bot_of]
    with_all, without = score_of_sums(everything)[:, 2], score_of_sums(everything - gone)[:, 2]
    order = np.argsort(-np.abs(with_all - without), kind="stable")  # puts NaN last
    defined = int(np.count_nonzero(~np.isnan(without)))
    selected = np.concatenate([order[:defined][:largest], order[defined:]])
    named = zip(raters[rater_of[selected]].tolist(), bots[bot_of[selected]].tolist(), strict=True)
    numbers = zip(
        counts[selected].tolist(), without[selected].tolist(), with_all[selected].tolist(), strict=True
    )
    return [_influence(*names, *values) for names, values in zip(named, numbers, strict=True)]


def without_raters(labels: Labels, raters: set[Hashable]) -> Labels:
    """Drop the labels of these raters, for a score shown in addition to the score of all labels."""
    names, codes = labels.raters
    keep = np.fromiter((name not in raters for name in names.tolist()), np.bool_, len(names))
    return labels.where(keep[codes])


@dataclass(frozen=True, slots=True)
class Parties:
    """Labels of chatters compared with labels of independent readers on the same turns of one bot.

    Attributes:
        turns: number of turns with labels of both.
        first_party: sensibleness, specificity, SSA by the chatters, in [0, 1].
        third_party: these scores by the readers, as mean over turns of each turn's mean label.
        difference: first-party SSA minus third-party SSA, paired over conversations; generalises to other
            conversations and other people.
        kappa_sensible: Cohen's kappa of the chatter against the readers' strict majority, for sensible.
        kappa_specific: this kappa for specific.
        kappa_intervals: intervals of both kappas, resampling whole conversations.
    """

    turns: int
    first_party: tuple[float, float, float]
    third_party: tuple[float, float, float]
    difference: Difference
    kappa_sensible: Kappa | Undefined
    kappa_specific: Kappa | Undefined
    kappa_intervals: tuple[Interval | Undefined, Interval | Undefined]


def compare_parties(
    labels: Labels,
    first_party: BoolArray,
    rng: Generator,
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> dict[Hashable, Parties | Undefined]:
    """Compare first-party with third-party labels of the same turns, per bot.

    Args:
        labels: labels of both parties.
        first_party: (n,) true where the rater is the person who chatted.
        rng: seeded generator.
        resamples: number of resamples of conversations.
        level: nominal coverage.

    Returns:
        By bot; `Undefined` for a bot of which no turn was judged by both parties.

    Raises:
        ValueError: `first_party` is not one value per label.
    """
    if first_party.shape != (len(labels),):
        raise ValueError(f"first_party has shape {first_party.shape}, but there are {len(labels)} labels.")
    clusters, item = labels.items
    judged = [np.bincount(item[party], minlength=len(clusters)) > 0 for party in (first_party, ~first_party)]
    common = (judged[0] & judged[1])[item]
    answer: dict[Hashable, Parties | Undefined] = {}
    for code, bot in enumerate(labels.bots[0].tolist()):
        of_bot = common & (labels.bots[1] == code)
        if not of_bot.any():
            answer[bot] = Undefined(f"No turn of {bot} was labelled both by its chatter and by a reader.")
            continue
        answer[bot] = _parties(labels.where(of_bot), first_party[of_bot], rng, resamples, level)
    return answer


def _parties(labels: Labels, is_first: BoolArray, rng: Generator, resamples: int, level: float) -> Parties:
    """Compare both parties; with the same turns, their items and conversations have the same order."""
    first, third = labels.where(is_first), labels.where(~is_first)
    sums = [_item_mean_sums(party) for party in (first, third)]
    scores = [score_of_sums(s.sum(axis=0)) for s in sums]
    votes = [item_values(party, Unit.MAJORITY).astype(np.int64) for party in (first, third)]
    _, conversation = np.unique(first.items[0], return_inverse=True)
    sensible, specific = (_two_by_two(conversation, votes[0][:, n], votes[1][:, n]) for n in (0, 1))
    return Parties(
        turns=len(votes[0]),
        first_party=_triple(scores[0]),
        third_party=_triple(scores[1]),
        difference=difference(*_samples(labels, is_first), level=level),
        kappa_sensible=cohen_kappa(sensible.sum(axis=0)),
        kappa_specific=cohen_kappa(specific.sum(axis=0)),
        kappa_intervals=(
            kappa_interval(sensible, rng, resamples=resamples, level=level),
            kappa_interval(specific, rng, resamples=resamples, level=level),
        ),
    )


def _samples(labels: Labels, is_first: BoolArray) -> tuple[Sample, Sample]:
    """Samples of one bot's SSA by either party; every turn counts once in each."""
    turn = 2 * labels.items[1] + is_first
    values = (labels.sensible.astype(np.float64) + labels.specific) / 2
    by_party = samples(is_first, values, labels.dialogue, labels.rater, 1 / np.bincount(turn)[turn])
    return by_party[True], by_party[False]


def _item_mean_sums(labels: Labels) -> FloatArray:
    cluster, _ = labels.items
    values = item_values(labels, Unit.ITEM_MEAN)
    columns = (values[:, 0], values[:, 1], np.ones(len(values)))
    return np.column_stack([np.bincount(cluster, column) for column in columns])


def _two_by_two(conversation: IntArray, first: IntArray, second: IntArray) -> FloatArray:
    """(k, 2, 2) one table per conversation: turns by the yes or no of either party."""
    cell = conversation * 4 + first * 2 + second
    count = int(conversation.max()) + 1
    return np.bincount(cell, minlength=4 * count).reshape(count, 2, 2).astype(np.float64)


def _triple(scores: FloatArray) -> tuple[float, float, float]:
    sensibleness, specificity, ssa = scores.tolist()
    return sensibleness, specificity, ssa


def _bot_sums(labels: Labels, unit: Unit) -> FloatArray:
    """(b, 3) sums of the counting units of each bot."""
    values = item_values(labels, unit)
    bot = labels.bots[1] if unit is Unit.LABEL else labels.dialogues[0][labels.items[0]]
    columns = (values[:, 0], values[:, 1], np.ones(len(values)))
    return np.column_stack([np.bincount(bot, column, len(labels.bots[0])) for column in columns])


def _lost(labels: Labels, unit: Unit) -> FloatArray:
    """(n, 3) loss of the sums (sensible, specific, units) if a label is removed with its rater."""
    votes = np.column_stack([labels.sensible, labels.specific]).astype(np.float64)
    if unit is Unit.LABEL:
        return np.column_stack([votes, np.ones(len(votes))])
    clusters, item = labels.items
    count = np.bincount(item, minlength=len(clusters))[item]
    total = np.column_stack([np.bincount(item, votes[:, q], len(clusters)) for q in (0, 1)])[item]
    remaining = (total - votes) / np.maximum(count - 1, 1)[:, None]
    if unit is Unit.MAJORITY:
        remaining = (remaining > 0.5).astype(np.float64)
    return np.column_stack([item_values(labels, unit)[item] - remaining, count == 1])


def _influence(rater: Hashable, bot: Hashable, labels: int, without: float, with_all: float) -> Influence:
    if np.isnan(without):
        alone = Undefined(f"{rater} gave all labels of {bot}.")
        return Influence(rater, bot, labels, alone, alone)
    return Influence(rater, bot, labels, float(without), float(with_all - without))
