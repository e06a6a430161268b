"""Scores of responses by kind of context, and the contexts that systems find hardest. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from evaluation.inference import samples
from evaluation.labels import AnyArray, BoolArray
from evaluation.questions import QuestionSet, score_values
from evaluation.report.intervals import Terms, cells
from evaluation.report.judged import Judged

MOST_HARDEST = 20
# A context whose score rests on fewer judgments says more about them than about itself.
LEAST_JUDGMENTS = 3


@dataclass(frozen=True, slots=True)
class ContextFacts:
    """What a report says of a context, beyond its judgments.

    Attributes:
        name: its key in the set.
        category: as its set names it; "" without one.
        turns: how many it has.
        consistency: whether a right response must agree with something said before.
        last: its last turn, which is answered.
    """

    name: str
    category: str
    turns: int
    consistency: bool
    last: str


def breakdown(
    questions: QuestionSet, judged: Judged, contexts: Mapping[int, ContextFacts], terms: Terms
) -> dict[str, Any]:
    """Scores by category, length and consistency of the contexts, and the hardest contexts.

    Args:
        questions: what was asked.
        judged: the judgments that count; `dialogue` is the context.
        contexts: by that number; judgments of what is in none, such as turns of conversations, are left out.
        terms: level of the intervals, and words.

    Returns:
        `by`: of each of `category`, `turns` and `consistency` with two levels or more, its `rows`, one for
        each level and system, with the contexts and judgments that its cells rest on. `hardest`: at most 20
        contexts with three judgments or more, the lowest mean of the headline first, and `of`, how many
        contexts have so many. Empty where no judgment is of a context, or nothing is scored.
    """
    known = np.isin(judged.dialogue, list(contexts))
    if not questions.scores or not known.any():
        return {}
    facts = [contexts.get(number) for number in judged.dialogue.tolist()]
    levels: dict[str, AnyArray] = {
        name: np.array([getattr(each, name, None) for each in facts], dtype=object)
        for name in ("category", "turns", "consistency")
    }
    levels["category"][levels["category"] == ""] = None
    by = [
        {"by": name, "rows": rows}
        for name, column in levels.items()
        if (rows := _rows(questions, judged, column, terms))
    ]
    return {"by": by, **_hardest(questions, judged, contexts)}


def _rows(questions: QuestionSet, judged: Judged, column: AnyArray, terms: Terms) -> list[dict[str, Any]]:
    """Level by level, each system; none where all contexts are of one level."""
    found = sorted({level for level in column.tolist() if level is not None})
    if len(found) < 2:
        return []
    return [row for level in found for row in _of_level(questions, judged, column == level, level, terms)]


def _of_level(
    questions: QuestionSet, judged: Judged, there: BoolArray, level: object, terms: Terms
) -> list[dict[str, Any]]:
    bot, context, rater = judged.bot_code[there], judged.dialogue[there], judged.rater_code[there]
    columns = []
    for score in questions.scores:
        values = score_values(questions, score, judged.answers)[there]
        of_codes = samples(bot, values, context, rater)
        named = {judged.bots[int(code)]: sample for code, sample in of_codes.items()}  # type: ignore[call-overload]
        columns.append(cells(questions, score, named, terms))
    return [
        {
            "level": level,
            "bot": judged.bots[code],
            "contexts": len(np.unique(context[bot == code])),
            "labels": int((bot == code).sum()),
            "cells": [of_bots.get(judged.bots[code], {"value": None}) for of_bots in columns],
        }
        for code in np.unique(bot).tolist()
    ]


def _hardest(questions: QuestionSet, judged: Judged, contexts: Mapping[int, ContextFacts]) -> dict[str, Any]:
    """The contexts with the lowest mean over all judgments of all systems, each judgment counted once."""
    score = questions.score(questions.headline)
    values = score_values(questions, score, judged.answers)
    answered = ~np.isnan(values) & np.isin(judged.dialogue, list(contexts))
    numbers, group, counts = np.unique(judged.dialogue[answered], return_inverse=True, return_counts=True)
    means = np.bincount(group, values[answered], len(numbers)) / np.maximum(counts, 1)
    enough = counts >= LEAST_JUDGMENTS
    ranked = sorted(
        (round(float(mean), 12), contexts[number].name, number, int(labels))
        for number, mean, labels in zip(
            numbers[enough].tolist(), means[enough].tolist(), counts[enough].tolist(), strict=True
        )
    )
    rows = [
        {
            "name": name,
            "category": contexts[number].category,
            "last": contexts[number].last,
            "labels": labels,
            "value": score.factor * mean,
        }
        for mean, name, number, labels in ranked[:MOST_HARDEST]
    ]
    return {"score": score.title, "hardest": rows, "of": len(ranked)}
