"""Course of conversations: share of repeated turns, and figures turn by turn with the number still going on.

Ghandeharioun et al. 2019, arXiv:1906.09308, figure 3, shows votes, words, sentiment and coherence by turn of
the 100 best and the 100 worst conversations. Repetition follows the rule of `texts.repetition`.
"""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy
from numpy.random import Generator

from evaluation.statistics.bootstrap import LEVEL, RESAMPLES, Ratio, cluster_interval
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
