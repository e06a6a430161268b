"""Scores of responses by kind of context, and the contexts that systems find hardest. Pure.

What systems said in one context, with their raters' answers; and that as files. Pure.
"""

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


Redactor = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class JudgedResponse:
    """What a system said, and what its raters answered to the questions of one ask.

    Attributes:
        response: its number.
        key: of the item.
        system: whose response it is.
        repetition: from 1.
        text: of the response.
        answers: of each rater whose judgments count.
        scores: by key of a score, its mean over the raters, as it is shown; None without an answer.
    """

    response: int
    key: UUID
    system: str
    repetition: int
    text: str
    answers: list[Mapping[str, Any]]
    scores: Mapping[str, float | None]


def scores_of(questions: QuestionSet, answers: Sequence[Mapping[str, Any]]) -> dict[str, float | None]:
    """By key, the mean of each score over the raters who gave these answers."""
    codes = {
        each.key: coded_answers(each, [given.get(each.key) for given in answers])
        for each in coded_questions(questions)
    }
    scores: dict[str, float | None] = {}
    for score in questions.scores:
        values = score_values(questions, score, codes)
        known = values[~np.isnan(values)]
        scores[score.key] = score.factor * float(known.mean()) if len(known) else None
    return scores


AnsweredAsks = Sequence[tuple[QuestionSet, Sequence[JudgedResponse]]]
"""By ask, its questions and the responses with the answers to them."""


def as_csv(asks: AnsweredAsks, key: str, turns: Sequence[str], redacted: Redactor) -> str:
    """A row for each ask and response: its scores, and how many raters gave which answer.

    Args:
        asks: the responses, with what was asked about them.
        key: of the context.
        turns: of the context.
        redacted: how texts may be passed on.
    """
    before = "\n".join(map(redacted, turns))
    rows = [_row(questions, each, redacted) for questions, said in asks for each in said]
    own = dict.fromkeys(name for questions, _said in asks for name in _columns(questions))
    named = ("system", "repetition", "response", "question_set", "raters", *own)
    return csv_text(
        [("context", "said_before", *named), *((key, before, *map(row.get, named)) for row in rows)]
    )


def _columns(questions: QuestionSet) -> list[str]:
    """Names of the columns that these questions have beside those of all."""
    return [*(score.key for score in questions.scores), *_answers(questions)]


def _answers(questions: QuestionSet) -> dict[str, tuple[Question, Scalar]]:
    """By the name of its column, each answer that can be counted."""
    return {
        f"{question.key}={_as_text(choice.value)}": (question, choice.value)
        for question in coded_questions(questions)
        for choice in question.choices
    }


def _row(questions: QuestionSet, said: JudgedResponse, redacted: Redactor) -> dict[str, Any]:
    return {
        "system": said.system,
        "repetition": said.repetition,
        "response": redacted(said.text),
        "question_set": questions.key,
        "raters": len(said.answers),
        **said.scores,
        **{
            name: _count_answers(said, question, value)
            for name, (question, value) in _answers(questions).items()
        },
    }


def as_latex(asks: AnsweredAsks, key: str, turns: Sequence[str], redacted: Redactor) -> str:
    """For each ask the context above its responses with their scores; the arguments are those of `as_csv`."""
    return "\n".join(_table(questions, said, key, turns, redacted) for questions, said in asks)


def _table(
    questions: QuestionSet, said: Sequence[JudgedResponse], key: str, turns: Sequence[str], redacted: Redactor
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
        for each in said
    ]
    notes = escaped(f"Context {key}, “{questions.title}”; means over the raters, shares in percent.")
    return table(rf"lp{{0.4\textwidth}}{'r' * (width - 2)}", head, rows, notes, above=above)


FileMaker = Callable[[AnsweredAsks, str, Sequence[str], Redactor], str]
FILES: Mapping[str, tuple[FileMaker, str]] = {
    "csv": (as_csv, "text/csv"),
    "tex": (as_latex, "application/x-tex"),
}
"""By the ending of a file, how it is made, and its type."""


def _speakers(turns: int) -> list[str]:
    """The last turn of a context is always the partner's, whom the system answers."""
    return ["A" if (turns - n) % 2 else "B" for n in range(turns)]


def _count_answers(said: JudgedResponse, question: Question, value: Scalar) -> int:
    answers = [given[question.key] for given in said.answers if question.key in given]
    chosen = [each if isinstance(each, list) else [each] for each in answers]
    return sum(any(is_same(value, one) for one in each) for each in chosen)


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
