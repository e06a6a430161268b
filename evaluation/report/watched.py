"""A difference that may be looked at after every conversation. Pure."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from evaluation.interval import Undefined
from evaluation.labels import FloatArray
from evaluation.questions import QuestionSet, bounds, score_values
from evaluation.report.intervals import Terms
from evaluation.report.judged import Judged
from evaluation.sequential import always_valid_difference

# Each conversation takes a step over a grid; a study of more of them is not stopped by looking at it.
MOST_CONVERSATIONS = 2_000


def always_valid(
    questions: QuestionSet, judged: Judged, answer: Mapping[str, Any] | None, terms: Terms
) -> dict[str, Any] | None:
    """The lead by the main score with an interval that holds however often one looks at it.

    Conversations count once each, in the order in which they were begun, paired between the two bots.

    Args:
        questions: what was asked.
        judged: the labels of conversations.
        answer: who leads and who is next.
        terms: level of the interval.

    Returns:
        `low` and `high` as shown, and the `pairs` they rest on; None with fewer than two bots, or too many
        conversations.
    """
    score = questions.main_score
    if score is None or answer is None or "next" not in answer:
        return None
    values = score_values(questions, score, judged.answers)
    low, high = bounds(questions, score)
    of_bots = [_means(judged, values, answer[which]) for which in ("leader", "next")]
    if max(map(len, of_bots)) > MOST_CONVERSATIONS:
        return None
    width = high - low
    first, second = (np.clip((means - low) / width, 0, 1) for means in of_bots)
    found = always_valid_difference(first, second, terms.level).now()
    if isinstance(found, Undefined):
        return None
    ends = found.scaled(score.factor * width)
    return {"low": ends.low, "high": ends.high, "pairs": min(len(first), len(second))}


def _means(judged: Judged, values: FloatArray, bot: str) -> FloatArray:
    """The mean of each conversation of a bot, in the order in which they were begun."""
    mine = (judged.bot == bot) & ~np.isnan(values)
    _, place = np.unique(judged.dialogue[mine], return_inverse=True)
    means: FloatArray = np.bincount(place, values[mine]) / np.bincount(place)
    return means
