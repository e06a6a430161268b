"""Figures of conversations: means of metrics with intervals and warnings, and their course turn by turn.

Ghandeharioun et al. 2019, arXiv:1906.09308, figure 3, shows votes, words, sentiment and coherence by turn of
the 100 best and the 100 worst conversations. Repetition follows the rule of `texts.repetition`.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy
from numpy.random import Generator

from evaluation.conversation.exchanges import Conversation, Exchanges, of_bots, with_bot
from evaluation.conversation.metrics import METRICS, MOST_LAUGHTER, MOST_WORDS, Measures
from evaluation.statistics.bootstrap import LEVEL, RESAMPLES, Ratio, cluster_interval
from evaluation.statistics.inference import Sample, mean
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import BoolArray, FloatArray, IntArray
from evaluation.texts.repetition import repeated_turns


@dataclass(frozen=True, slots=True)
class Repetition:
    """Cross-turn repetition of one bot.

    Attributes:
        share: share of its turns that repeat an earlier turn of the conversation, in [0, 1].
        interval: interval of the share, over conversations.
        dialogues_affected: share of conversations with at least one such turn, in [0, 1].
        turns: number of bot turns.
        dialogues: number of conversations.
    """

    share: float
    interval: Interval | Undefined
    dialogues_affected: float
    turns: int
    dialogues: int


def repetition(
    dialogues: Mapping[Hashable, Sequence[Sequence[tuple[bool, str]]]],
    rng: Generator,
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
) -> dict[Hashable, Repetition | Undefined]:
    """Compute cross-turn repetition per bot.

    Args:
        dialogues: by bot, its conversations; each is a sequence of (spoken by the bot?, text), oldest first.
        rng: seeded generator.
        resamples: number of resamples of conversations.
        level: nominal coverage.

    Returns:
        By bot; `Undefined` for a bot that never spoke.
    """
    answer: dict[Hashable, Repetition | Undefined] = {}
    for bot, conversations in dialogues.items():
        rows = np.array([_counts(conversation) for conversation in conversations], dtype=np.float64)
        if not rows.size or not rows[:, 1].any():
            answer[bot] = Undefined(f"{bot} has no turns.")
            continue
        repeated, turns = rows.sum(axis=0).tolist()
        interval = cluster_interval(rows, Ratio((1.0, 0.0), 1), rng, resamples=resamples, level=level)
        affected = float((rows[:, 0] > 0).mean())
        answer[bot] = Repetition(repeated / turns, interval, affected, int(turns), len(rows))
    return answer


def _counts(conversation: Sequence[tuple[bool, str]]) -> tuple[int, int]:
    """Number of repeated bot turns, and of all bot turns."""
    flags = repeated_turns([text for _, text in conversation])
    by_bot = [is_bot for is_bot, _ in conversation]
    return sum(f and b for f, b in zip(flags, by_bot, strict=True)), sum(by_bot)


CURVE_LEVEL = 0.9
"""Coverage of the bands, as in the paper."""
FEWEST = 3
"""Fewest conversations for a band."""


@dataclass(frozen=True, slots=True)
class Point:
    """A figure at one exchange of its conversation.

    Attributes:
        position: number of the exchange, from 1.
        mean: mean over conversations with a value.
        low, high: Student's t interval over conversations; None for too few or equal values.
        values: number of conversations with a value.
        going_on: number of conversations with this exchange.
    """

    position: int
    mean: float
    low: float | None
    high: float | None
    values: int
    going_on: int


def trajectory(
    position: IntArray, values: FloatArray, chosen: BoolArray | None = None, level: float = CURVE_LEVEL
) -> list[Point]:
    """Compute the mean of a figure by exchange, for all exchanges with a value.

    Args:
        position: (n,) number of the exchange in its conversation, from 0; a row per conversation and
            exchange.
        values: (n,) the figure; NaN if there is none.
        chosen: (n,) true if the row's conversation counts; None: all count.
        level: nominal coverage of each point's band.
    """
    selected = np.ones(len(position), dtype=bool) if chosen is None else np.asarray(chosen, dtype=bool)
    position, values = position[selected], values[selected]
    defined = ~np.isnan(values)
    longest = int(position.max()) + 1 if len(position) else 0
    going_on = np.bincount(position, minlength=longest)
    n = np.bincount(position[defined], minlength=longest)
    sums = np.bincount(position[defined], values[defined], longest)
    mean = np.divide(sums, n, out=np.zeros(longest), where=n > 0)
    squares = np.bincount(position[defined], (values[defined] - mean[position[defined]]) ** 2, longest)
    points = []
    for at in np.flatnonzero(n).tolist():
        count, middle, half = int(n[at]), float(mean[at]), None
        if count >= FEWEST and squares[at] > 0:
            half = float(
                scipy.special.stdtrit(count - 1, (1 + level) / 2) * np.sqrt(squares[at] / (count - 1) / count)
            )
        low, high = (None, None) if half is None else (middle - half, middle + half)
        points.append(Point(at + 1, middle, low, high, count, int(going_on[at])))
    return points


def best_and_worst(score: FloatArray, most: int = 100) -> tuple[IntArray, IntArray]:
    """Select the conversations with the highest and with the lowest (c,) score, without overlap.

    Each side has at most half of the conversations with a score (not NaN); among equal scores, the first.
    """
    there = np.flatnonzero(~np.isnan(score))
    order = there[np.argsort(-score[there], kind="stable")]
    size = min(most, len(order) // 2)
    return np.sort(order[:size]), np.sort(order[len(order) - size :])


BY_TURN = ("words", "sentiment", "sentiment_coherence", "sentiment_closeness", "average_coherence")
"""Metrics that are shown turn by turn, if their encoders are installed."""
BOUNDS = {
    "sentiment": (-1.0, 1.0),
    "transition": (-2.0, 2.0),
    "laughter": (0.0, float(MOST_LAUGHTER)),
    "sentiment_coherence": (0.0, 1.0),
    "sentiment_closeness": (0.0, 1.0),
    "semantic_similarity": (-1.0, 1.0),
    "average_coherence": (-1.0, 1.0),
    "extrema_coherence": (-1.0, 1.0),
    "greedy_coherence": (-1.0, 1.0),
    "question": (0.0, 1.0),
    "words": (0.0, float(MOST_WORDS)),
}
"""Ends of the metrics' scales, which bound all intervals; the slope `min_max` has none."""
IN_CIRCLES = 0.5
"""Share of repeated turns from which a conversation goes in circles."""


@dataclass(frozen=True, eq=False)
class OfSpeakers:
    """Metrics of conversations, with a row for each conversation and each speaker with a reply in it.

    Attributes:
        conversation: (g,) number of the conversation.
        speaker: (g,) number of the speaker.
        values: (g, m) the metrics; NaN if there is none.
    """

    conversation: IntArray
    speaker: IntArray
    values: FloatArray


def of_speakers(exchanges: Exchanges, measures: Measures) -> OfSpeakers:
    """Average metrics over a speaker's exchanges in each conversation; `min_max` is of the conversation."""
    speakers = max(1, len(exchanges.speakers))
    pair = exchanges.conversation * speakers + exchanges.replier
    pairs, group = np.unique(pair, return_inverse=True)
    values = np.full((len(pairs), len(measures.metrics)), np.nan)
    for column, metric in enumerate(measures.metrics):
        of = measures.by_exchange.get(metric.key)
        if of is None:
            values[:, column] = measures.by_conversation[metric.key][pairs // speakers]
            continue
        defined = ~np.isnan(of)
        sums = np.bincount(group[defined], of[defined], len(pairs))
        with np.errstate(invalid="ignore"):
            values[:, column] = sums / np.bincount(group[defined], minlength=len(pairs))
    return OfSpeakers(pairs // speakers, pairs % speakers, values)


def metric_cell(key: str, values: FloatArray, conversation: IntArray, level: float) -> dict[str, Any]:
    """Compute the mean of a metric over conversations, with its interval, as stored and shown.

    Args:
        key: key of the metric; decides the ends of its scale.
        values: (n,) value of each conversation or speaker; NaN if there is none.
        conversation: (n,) code of the conversation; the interval is over conversations.
        level: nominal coverage, in (0, 1).

    Returns:
        `value` (None without one), `low` and `high` or `undefined` with the reason, and `conversations`, the
        number of values. In the unit of the metric.
    """
    defined = ~np.isnan(values)
    counted = {"conversations": int(defined.sum())}
    if not defined.any():
        return {"value": None, "undefined": "No conversation has such a value.", **counted}
    low, high = BOUNDS.get(key, (None, None))
    # Rounding can move a cosine off its scale.
    sample = Sample(np.clip(values[defined], low, high), conversation[defined])
    estimate = mean(sample, low=low, high=high, level=level)
    assert not isinstance(estimate, Undefined)
    if isinstance(estimate.interval, Undefined):
        few = "One conversation has a value; an interval needs two."
        alike = "All conversations have the same value, so nothing tells how far they scatter."
        return {"value": estimate.value, "undefined": alike if defined.sum() > 1 else few, **counted}
    return {"value": estimate.value, "low": estimate.interval.low, "high": estimate.interval.high, **counted}


def metric_descriptions(encoders: Mapping[str, str]) -> list[dict[str, Any]]:
    """Describe the metrics with these encoders, as stored in a report."""
    return [
        {"key": each.key, "title": each.title, "about": each.about, "encoder": encoders[each.key] or None}
        for each in METRICS
        if each.key in encoders
    ]


def warnings(name: str, conversations: Sequence[Conversation]) -> list[str]:
    """Warnings about a bot's conversations, in sentences."""
    silent = sum(sum(bool(text.strip()) for _, text in talk) < 2 for talk in conversations)
    circling = sum(_in_circles([text for _, text in talk]) for talk in conversations)
    sentences = []
    if silent:
        sentences.append(
            f"{name}: {silent} of {len(conversations)} conversations fall silent before a second turn."
        )
    if circling:
        sentences.append(
            f"{name}: {circling} of {len(conversations)} conversations go in circles: at least half of their "
            "turns repeat an earlier one, so their metrics are those of a few sentences."
        )
    return sentences


def _in_circles(turns: Sequence[str]) -> bool:
    return bool(turns) and sum(repeated_turns(turns)) >= IN_CIRCLES * len(turns)


def exchanges_of(bot: str, conversations: Sequence[Conversation], *, self_play: bool) -> Exchanges:
    """Make exchanges by `of_bots` for self-play, otherwise by `with_bot`."""
    return of_bots(conversations) if self_play else with_bot(conversations, bot)


def interval_json(interval: Interval | Undefined) -> Mapping[str, Any]:
    """Convert an interval to JSON."""
    if isinstance(interval, Undefined):
        return {"cannot_be_told": interval.reason}
    return {"low": interval.low, "high": interval.high, "level": interval.level, "method": interval.method}
