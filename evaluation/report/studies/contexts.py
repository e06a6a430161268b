"""Scores of responses by kind of context, the hardest contexts, files of one context's responses. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np

from evaluation.files.writing import csv_text, escaped, number, table
from evaluation.questions import Question, QuestionSet, Scalar, coded_answers, is_same, score_values
from evaluation.report.figures import coded_questions
from evaluation.report.intervals import Terms, cells
from evaluation.report.label_columns import Judged
from evaluation.statistics.inference import samples
from evaluation.statistics.labels import AnyArray, BoolArray

MOST_HARDEST = 20
# With fewer judgments the score of a context is mostly chance.
LEAST_JUDGMENTS = 3


@dataclass(frozen=True, slots=True)
class ContextFacts:
    """Facts about a context in a report, other than judgments.

    Attributes:
        name: key in the set of contexts.
        category: category in the set; "" without one.
        turns: number of turns.
        consistency: true if a right response must agree with an earlier turn.
        last: the last turn, which responses answer.
    """

    name: str
    category: str
    turns: int
    consistency: bool
    last: str


def breakdown(
    questions: QuestionSet, judged: Judged, contexts: Mapping[int, ContextFacts], terms: Terms
) -> dict[str, Any]:
    """Compute scores by category, length and consistency of the contexts, and the hardest contexts.

    Args:
        questions: the question set.
        judged: the judgments that count; `dialogue` is the context.
        contexts: contexts by number; judgments without a context, such as turns of conversations, are left
            out.
        terms: level of the intervals, and nouns.

    Returns:
        `by`: for each of `category`, `turns` and `consistency` with two levels or more, its `rows`, one for
        each level and system, with the numbers of contexts and judgments of its cells. `hardest`: at most 20
        contexts with three judgments or more, the lowest mean of the headline first, and `of`, the number of
        contexts with so many. Empty without judgments of contexts, or without scores.
    """
    in_contexts = np.isin(judged.dialogue, list(contexts))
    if not questions.scores or not in_contexts.any():
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
    """Rows by level and system; empty if all contexts have one level."""
    levels = sorted({level for level in column.tolist() if level is not None})
    if len(levels) < 2:
        return []
    return [row for level in levels for row in _of_level(questions, judged, column == level, level, terms)]


def _of_level(
    questions: QuestionSet, judged: Judged, there: BoolArray, level: object, terms: Terms
) -> list[dict[str, Any]]:
    bot, context, rater = judged.bot_code[there], judged.dialogue[there], judged.rater_code[there]
    weight = None if judged.weight is None else judged.weight[there]
    columns = []
    for score in questions.scores:
        values = score_values(questions, score, judged.answers)[there]
        of_codes = samples(bot, values, context, rater, weight)
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
    """Contexts with the lowest mean over all judgments of all systems."""
    score = questions.score(questions.headline)
    values = score_values(questions, score, judged.answers)
    answered = ~np.isnan(values) & np.isin(judged.dialogue, list(contexts))
    numbers, group, counts = np.unique(judged.dialogue[answered], return_inverse=True, return_counts=True)
    weight = np.ones(len(group)) if judged.weight is None else judged.weight[answered]
    sums = np.bincount(group, weight * values[answered], len(numbers))
    means = sums / np.bincount(group, weight, len(numbers))
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


Redactor = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class JudgedResponse:
    """A response of a system with its raters' answers to one ask.

    Attributes:
        response: number of the response.
        key: key of the item.
        system: the system.
        repetition: number of the run, from 1.
        text: text of the response.
        answers: answers of each rater whose judgments count.
        scores: by key of a score, its mean over the raters, as shown; None without an answer.
    """

    response: int
    key: UUID
    system: str
    repetition: int
    text: str
    answers: list[Mapping[str, Any]]
    scores: Mapping[str, float | None]


def scores_of(questions: QuestionSet, answers: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """Compute the mean of each score, by key, over the raters who gave these answers."""
    codes = {
        each.key: coded_answers(each, [given.get(each.key) for given in answers])
        for each in coded_questions(questions)
    }
    scores: dict[str, float | None] = {}
    for score in questions.scores:
        values = score_values(questions, score, codes)
        defined = values[~np.isnan(values)]
        scores[score.key] = score.factor * float(defined.mean()) if len(defined) else None
    return scores


AnsweredAsks = Sequence[tuple[QuestionSet, Sequence[JudgedResponse]]]
"""By ask, its question set and the responses with their answers."""


def as_csv(asks: AnsweredAsks, key: str, turns: Sequence[str], redacted: Redactor) -> str:
    """Write a CSV row for each ask and response: its scores, and the number of raters by answer.

    Args:
        asks: the responses by ask.
        key: key of the context.
        turns: turns of the context.
        redacted: function that redacts a text.
    """
    before = "\n".join(map(redacted, turns))
    rows = [_row(questions, each, redacted) for questions, response in asks for each in response]
    columns = dict.fromkeys(name for questions, _said in asks for name in _columns(questions))
    named = ("system", "repetition", "response", "question_set", "raters", *columns)
    return csv_text(
        [("context", "said_before", *named), *((key, before, *map(row.get, named)) for row in rows)]
    )


def _columns(questions: QuestionSet) -> list[str]:
    """Names of the columns of a question set, in addition to the common ones."""
    return [*(score.key for score in questions.scores), *_answers(questions)]


def _answers(questions: QuestionSet) -> dict[str, tuple[Question, Scalar]]:
    """By name of its column, each answer that can be counted."""
    return {
        f"{question.key}={_as_text(choice.value)}": (question, choice.value)
        for question in coded_questions(questions)
        for choice in question.choices
    }


def _row(questions: QuestionSet, response: JudgedResponse, redacted: Redactor) -> dict[str, Any]:
    return {
        "system": response.system,
        "repetition": response.repetition,
        "response": redacted(response.text),
        "question_set": questions.key,
        "raters": len(response.answers),
        **response.scores,
        **{
            name: _count_answers(response, question, value)
            for name, (question, value) in _answers(questions).items()
        },
    }


def as_latex(asks: AnsweredAsks, key: str, turns: Sequence[str], redacted: Redactor) -> str:
    """Write a LaTeX table for each ask: the context above its scored responses; arguments as `as_csv`."""
    return "\n".join(_table(questions, responses, key, turns, redacted) for questions, responses in asks)


def _table(
    questions: QuestionSet,
    responses: Sequence[JudgedResponse],
    key: str,
    turns: Sequence[str],
    redacted: Redactor,
) -> str:
    width = 3 + len(questions.scores)
    above = [
        rf"\multicolumn{{{width}}}{{p{{0.9\textwidth}}}}{{{speaker}: {escaped(redacted(turn))}}}"
        for speaker, turn in zip(_speakers(len(turns)), turns, strict=True)
    ]
    head = ["System", "Response", *(escaped(score.title) for score in questions.scores), "Raters"]
    rows = [
        [
            escaped(each.system),
            escaped(redacted(each.text)),
            *(number(each.scores[score.key]) for score in questions.scores),
            str(len(each.answers)),
        ]
        for each in responses
    ]
    notes = escaped(f"Context {key}, “{questions.title}”; means over the raters, shares in percent.")
    return table(rf"lp{{0.4\textwidth}}{'r' * (width - 2)}", head, rows, notes, above=above)


FileMaker = Callable[[AnsweredAsks, str, Sequence[str], Redactor], str]
FILES: Mapping[str, tuple[FileMaker, str]] = {
    "csv": (as_csv, "text/csv"),
    "tex": (as_latex, "application/x-tex"),
}
"""By file extension, the function that makes the file, and its media type."""


def _speakers(turns: int) -> list[str]:
    """Speakers of the turns of a context; the last turn, which systems answer, is the partner's (A)."""
    return ["A" if (turns - n) % 2 else "B" for n in range(turns)]


def _count_answers(response: JudgedResponse, question: Question, value: Scalar) -> int:
    answers = [labels[question.key] for labels in response.answers if question.key in labels]
    lists = [each if isinstance(each, list) else [each] for each in answers]
    return sum(any(is_same(value, one) for one in each) for each in lists)


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
