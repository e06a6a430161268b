"""What single workers do to the scores of a study. Pure."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from evaluation.interval import Undefined
from evaluation.questions import QuestionSet
from evaluation.raters import Influence, influence
from evaluation.report.judged import Judged

# A reader looks for the workers who matter most; the rest move the score by less than the last of these.
SHOWN = 10


def rater_figures(questions: QuestionSet, judged: Judged) -> dict[str, Any]:
    """How the labels are spread over workers, and whose absence would move a bot's SSA most."""
    counts = list(judged.labels_of_raters.values())
    known: dict[str, Any] = {"workers": len(counts), "labels": len(judged), "influence": [], "alone": []}
    if not counts:
        return known
    known |= {"median_labels": float(np.median(counts)), "most_labels": max(counts)}
    if questions.key == "ssa":
        found = influence(judged.labels, largest=SHOWN)
        known |= {"influence": _largest(found), "alone": _alone(found)}
    return known


def _largest(found: Sequence[Influence]) -> list[dict[str, Any]]:
    return [
        {
            "worker": each.rater,
            "bot": each.bot,
            "labels": each.labels,
            "without": 100 * each.without,
            "shift": 100 * each.shift,
        }
        for each in found
        if not isinstance(each.shift, Undefined) and not isinstance(each.without, Undefined)
    ]


def _alone(found: Sequence[Influence]) -> list[str]:
    """Why some influences cannot be told: all labels of a bot are one worker's."""
    return [each.shift.reason for each in found if isinstance(each.shift, Undefined)]
