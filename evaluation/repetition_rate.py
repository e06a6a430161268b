"""How often a bot repeats an earlier turn of the conversation, by the rule of `repetition`."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from evaluation.bootstrap import LEVEL, RESAMPLES, Ratio, cluster_interval
from evaluation.interval import Interval, Undefined
from evaluation.repetition import repeated_turns


@dataclass(frozen=True, slots=True)
class Repetition:
    """Cross-turn repetition of one bot.

    Attributes:
        share: share of its turns that repeat an earlier turn of the conversation, in [0, 1].
        interval: of the share, over conversations.
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
    """Cross-turn repetition per bot.

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
    """Number of repeated bot turns and of bot turns."""
    flags = repeated_turns([text for _, text in conversation])
    by_bot = [is_bot for is_bot, _ in conversation]
    return sum(f and b for f, b in zip(flags, by_bot, strict=True)), sum(by_bot)
