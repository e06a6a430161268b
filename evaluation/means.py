"""Mean answer per bot to any one question: shares of a binary answer, means of a rating.

Sensibleness and specificity have `ssa`; this is for other question sets, such as human-likeness. A mean of
ordinal ratings takes their distances for equal, which is the reader's to accept.
"""

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import ArrayLike

from evaluation.bootstrap import LEVEL, RESAMPLES, Ratio, cluster_interval
from evaluation.interval import Interval, Method, Undefined
from evaluation.labels import LabelsError, coded


@dataclass(frozen=True, slots=True)
class Mean:
    """Mean answer of one bot.

    Attributes:
        value: mean over all answers, in the unit of the answers; a share in [0, 1] if they are 0 and 1.
        interval: over conversations or contexts.
        labels: number of answers.
        dialogues: number of conversations or contexts.
    """

    value: float
    interval: Interval | Undefined
    labels: int
    dialogues: int


def means(
    bot: ArrayLike,
    dialogue: ArrayLike,
    answer: ArrayLike,
    rng: Generator,
    *,
    resamples: int = RESAMPLES,
    level: float = LEVEL,
    method: Method = "percentile",
) -> dict[Hashable, Mean]:
    """Mean answer of every bot, every answer counting once.

    For the share of one choice of a nominal question give `answer == choice`.

    Args:
        bot: (n,) name of the bot.
        dialogue: (n,) conversation or context, resampled as a whole.
        answer: (n,) numbers or booleans.
        rng: seeded generator.
        resamples: number of resamples.
        level: nominal coverage.
        method: see `bootstrap.cluster_interval`.

    Returns:
        Mean by bot, in the order of their names; a bot without answers is absent.

    Raises:
        LabelsError: columns of different length, or an answer that is no finite number; names the row.
    """
    values = np.asarray(answer, dtype=np.float64)
    (names, bots), (contexts, context) = coded(bot), coded(dialogue)
    if not len(bots) == len(context) == len(values):
        raise LabelsError(f"The columns have {len(bots)}, {len(context)} and {len(values)} rows.", "answer")
    wrong = np.flatnonzero(~np.isfinite(values))
    if wrong.size:
        raise LabelsError(f"{values[wrong[0]]} is not a finite number.", "answer", int(wrong[0]))
    clusters, cluster = coded(bots * max(len(contexts), 1) + context)
    rows = np.column_stack([np.bincount(cluster, w, len(clusters)) for w in (values, np.ones(len(values)))])
    of_bot = clusters // max(len(contexts), 1)
    found: dict[Hashable, Mean] = {}
    for code, name in enumerate(names.tolist()):
        own = rows[of_bot == code]
        total, count = own.sum(axis=0).tolist()
        interval = cluster_interval(
            own, Ratio((1.0, 0.0), 1), rng, resamples=resamples, level=level, method=method
        )
        found[name] = Mean(total / count, interval, int(count), len(own))
    return found
