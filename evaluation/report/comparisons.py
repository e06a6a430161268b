"""Differences between the bots of a study, in words. Pure."""

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.random import Generator

from evaluation.bootstrap import Ratio
from evaluation.comparison import Comparison, compare_all, compare_each
from evaluation.interval import Undefined
from evaluation.labels import FloatArray
from evaluation.questions import Level, QuestionSet
from evaluation.report.judged import Judged


def comparisons(
    questions: QuestionSet, judged: Judged, rng: Generator, *, paired: bool = False
) -> list[dict[str, Any]]:
    """Every two bots compared by SSA, or by the share of yes to the first binary question.

    The widest difference comes first. `paired`: SSA is compared on the contexts that both have answered.
    None for fewer than two bots, or where no question is binary.
    """
    if not len(judged):
        return []
    if questions.key == "ssa":
        found = compare_all(judged.labels, rng, paired=paired)
    else:
        binary = [question.key for question in questions.questions if question.level is Level.BINARY]
        found = _of_question(judged, binary[0], rng) if binary else []
    return sorted(map(_stored, found), key=lambda each: -abs(each["difference"] or 0))


def _of_question(judged: Judged, key: str, rng: Generator) -> list[Comparison]:
    answered = judged.where(~np.isnan(judged.answers[key]))
    sums: dict[Hashable, FloatArray] = {bot: _sums(answered.of_bot(bot), key) for bot in answered.bots}
    return compare_each(sums, rng, ratio=Ratio((1.0, 0.0), 1))


def _sums(judged: Judged, key: str) -> FloatArray:
    """(k, 2) per conversation how often the answer was yes, and the number of answers."""
    _, conversation = np.unique(judged.dialogue, return_inverse=True)
    return np.column_stack([np.bincount(conversation, judged.answers[key]), np.bincount(conversation)])


def _stored(found: Comparison) -> dict[str, Any]:
    stored: dict[str, Any] = {
        "first": found.first,
        "second": found.second,
        "words": found.in_words(),
        "difference": None if isinstance(found.difference, Undefined) else 100 * found.difference,
        "p_holm": None if isinstance(found.p_holm, Undefined) else found.p_holm,
    }
    if not isinstance(found.interval, Undefined):
        stored |= {"low": 100 * found.interval.low, "high": 100 * found.interval.high}
    return stored
