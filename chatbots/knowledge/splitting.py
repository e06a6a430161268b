"""Divide conversations into training, and into validation and test with frequent and rare entities.

The paper says only that the frequent sets have entities often seen in training and the rare sets entities
seldom or never seen. Here a conversation's score is the number of conversations that contain its rarest
entity. Of each configuration, the tenth with the lowest scores is rare and the tenth with the highest is
frequent; each is halved at random, and the rest is for training.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from chatbots.knowledge.conversations import Conversation
from chatbots.training.settings import check_range

PARTS = ("train", "valid_freq", "valid_rare", "test_freq", "test_rare")
SHARE = 0.1


@dataclass(frozen=True, slots=True)
class Familiarity:
    """Statistics of how often training contains the entities of a part.

    Attributes:
        conversations: number of conversations with entities in the part.
        rarest_median: median number of training conversations with a conversation's rarest entity.
        rarest_quartiles: 25th and 75th percentile of that number.
        mean: mean number over all three entities.
        unseen: share of conversations with an entity that training never has.
    """

    conversations: int
    rarest_median: float
    rarest_quartiles: tuple[float, float]
    mean: float
    unseen: float


def split(
    conversations: Sequence[Conversation], *, share: float = SHARE, seed: int = 0
) -> dict[str, list[Conversation]]:
    """Deal conversations into `PARTS`; the same seed and conversations give the same parts.

    Args:
        conversations: each with entities.
        share: share of rare conversations, and of frequent ones.
        seed: seed of ties and of the halves.

    Raises:
        ValueError: a conversation has no entities, or a number is out of its range.
    """
    check_range("share", share, least=0, most=0.5)
    if bare := [each.key for each in conversations if not each.reading.entities]:
        raise ValueError(
            f"Conversation {bare[0]} has no entities, and {len(bare) - 1} others. Give their reading sets."
        )
    frequency = frequencies(conversations)
    random = np.random.default_rng(seed)
    by_part: dict[str, list[Conversation]] = {part: [] for part in PARTS}
    for configuration in sorted({each.configuration for each in conversations}):
        of_it = [each for each in conversations if each.configuration == configuration]
        shuffled = [of_it[place] for place in random.permutation(len(of_it))]
        ranked = sorted(shuffled, key=lambda each: min(frequency[one] for one in each.reading.entities))
        size = min(round(share * len(ranked)), len(ranked) // 2)
        pools = {"rare": ranked[:size], "freq": ranked[len(ranked) - size :]}
        by_part["train"] += ranked[size : len(ranked) - size]
        for name, pool in pools.items():
            dealt = [pool[place] for place in random.permutation(size)]
            by_part[f"valid_{name}"] += dealt[: size // 2]
            by_part[f"test_{name}"] += dealt[size // 2 :]
    order = {id(each): place for place, each in enumerate(conversations)}
    return {part: sorted(of, key=lambda each: order[id(each)]) for part, of in by_part.items()}


def frequencies(conversations: Sequence[Conversation]) -> Counter[str]:
    """Count the conversations that contain each entity."""
    return Counter(entity for each in conversations for entity in set(each.reading.entities))


def familiarity(part: Sequence[Conversation], training: Counter[str]) -> Familiarity | None:
    """Measure how often training has the entities of a part; None if the part has no entities.

    Args:
        part: some conversations.
        training: `frequencies` of the training conversations.
    """
    counts = [
        [training[entity] for entity in each.reading.entities] for each in part if each.reading.entities
    ]
    if not counts:
        return None
    rarest = np.array([min(each) for each in counts])
    low, middle, high = np.quantile(rarest, [0.25, 0.5, 0.75]).tolist()
    everything: Any = np.concatenate([np.array(each) for each in counts])
    return Familiarity(
        len(counts), middle, (low, high), float(everything.mean()), float((rarest == 0).mean())
    )
