"""Metrics of bots' conversations as figures: means with intervals, and warnings."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.conversation.exchanges import Conversation, Exchanges, of_bots, with_bot
from evaluation.conversation.metrics import METRICS, MOST_LAUGHTER, MOST_WORDS, Measures
from evaluation.statistics.inference import Sample, mean
from evaluation.statistics.interval import Interval, Undefined
from evaluation.statistics.labels import FloatArray, IntArray
from evaluation.texts.repetition import repeated_turns

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
