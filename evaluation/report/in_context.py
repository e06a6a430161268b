"""What systems said in one context, with their raters' answers; and that as files. Pure."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np

from evaluation.latex import escaped, number, table
from evaluation.questions import Question, QuestionSet, Scalar, coded_answers, is_same, score_values
from evaluation.report.figures import coded_questions
from evaluation.spreadsheets import csv_text

Redactor = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Said:
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


Asked = Sequence[tuple[QuestionSet, Sequence[Said]]]
"""By ask, its questions and the responses with the answers to them."""


def as_csv(asks: Asked, key: str, turns: Sequence[str], redacted: Redactor) -> str:
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


def _row(questions: QuestionSet, said: Said, redacted: Redactor) -> dict[str, Any]:
    return {
        "system": said.system,
        "repetition": said.repetition,
        "response": redacted(said.text),
        "question_set": questions.key,
        "raters": len(said.answers),
        **said.scores,
        **{name: _given(said, question, value) for name, (question, value) in _answers(questions).items()},
    }


def as_latex(asks: Asked, key: str, turns: Sequence[str], redacted: Redactor) -> str:
    """For each ask the context above its responses with their scores; the arguments are those of `as_csv`."""
    return "\n".join(_table(questions, said, key, turns, redacted) for questions, said in asks)


def _table(
    questions: QuestionSet, said: Sequence[Said], key: str, turns: Sequence[str], redacted: Redactor
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


Made = Callable[[Asked, str, Sequence[str], Redactor], str]
FILES: Mapping[str, tuple[Made, str]] = {"csv": (as_csv, "text/csv"), "tex": (as_latex, "application/x-tex")}
"""By the ending of a file, how it is made, and its type."""


def _speakers(turns: int) -> list[str]:
    """The last turn of a context is always the partner's, whom the system answers."""
    return ["A" if (turns - n) % 2 else "B" for n in range(turns)]


def _given(said: Said, question: Question, value: Scalar) -> int:
    answers = [given[question.key] for given in said.answers if question.key in given]
    chosen = [each if isinstance(each, list) else [each] for each in answers]
    return sum(any(is_same(value, one) for one in each) for each in chosen)


def _as_text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
