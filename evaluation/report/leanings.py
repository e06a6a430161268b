"""What raters of pairs may go by instead of what is said: which side came first, which is longer. Pure."""

from typing import Any

import numpy as np

from evaluation.inference import Sample, mean
from evaluation.interval import Undefined
from evaluation.labels import BoolArray, IntArray, coded
from evaluation.report.intervals import Terms
from evaluation.report.judged import Judged


def leanings(
    judged: Judged, outcome: IntArray, swapped: BoolArray, words: IntArray | None, terms: Terms
) -> list[dict[str, Any]]:
    """How often the side shown first was preferred, and the longer one, where a judgment names a side.

    Raters who go by neither prefer each in 50 % of such judgments.

    Args:
        judged: the judgments.
        outcome: (n,) 0 if the system named first is preferred, 1 if the second is, 2 for a tie.
        swapped: (n,) whether the rater saw the second system first.
        words: (n, 2) of each system's side; None: nobody counted them.
        terms: level and words of the interval, which is over contexts or conversations and raters.

    Returns:
        For `shown_first` and `longer`: `value` in percent with `low` and `high`, or `undefined` with the
        reason; `labels`, the judgments that count; `is_beyond_chance`, whether 50 % is outside the interval.
    """
    named = outcome < 2
    found = {"shown_first": (named, outcome == swapped)}
    if words is not None:
        first, second = words.T
        found["longer"] = (named & (first != second), outcome == (second > first))
    codes, raters = coded(judged.dialogue)[1], judged.rater_code
    return [
        {"to": what} | _share(Sample(took[kept].astype(np.float64), codes[kept], raters[kept]), terms)
        for what, (kept, took) in found.items()
    ]


def _share(sample: Sample, terms: Terms) -> dict[str, Any]:
    found = mean(sample, level=terms.level, nouns=terms.nouns)
    shown: dict[str, Any] = {"labels": len(sample), "is_beyond_chance": False}
    if isinstance(found, Undefined):
        return shown | {"value": None, "undefined": found.reason}
    shown["value"] = 100 * found.value
    if isinstance(found.interval, Undefined):
        return shown | {"undefined": found.interval.reason}
    ends = found.interval.scaled(100)
    beyond = not ends.low <= 50 <= ends.high
    return shown | {"low": ends.low, "high": ends.high, "is_beyond_chance": beyond}
